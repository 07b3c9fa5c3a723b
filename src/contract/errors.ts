import { printProblems, type RequestProblem } from './request-problems.js';
import { tableErrors } from './table-errors.js';
import { databaseTerms, type Wording } from './terms.js';

/**
 * Every error a client can get: type → HTTP status and public text. A test compares it with the table in docs/errors.md. Messages never
 * name internals; the private cause is in `Failure.cause` and appears only in the log.
 */
export const errorCatalog = {
  attribute_already_exists: { status: 409, message: 'The collection already has an attribute or index with this key.' },
  attribute_default_unsupported: { status: 400, message: 'A required attribute or an array cannot have a default.' },
  attribute_invalid_resize: { status: 400, message: 'A document has a longer value than the new size allows.' },
  attribute_limit_exceeded: { status: 400, message: 'The collection has reached its maximum number of attributes.' },
  attribute_not_found: { status: 404, message: 'There is no such attribute.' },
  attribute_type_invalid: { status: 400, message: 'The attribute has another type.' },
  attribute_unknown: { status: 400, message: 'The collection has no such attribute.' },
  attribute_value_invalid: { status: 400, message: 'A value does not fit the attribute.' },
  collection_already_exists: { status: 409, message: 'A collection with this id already exists.' },
  collection_limit_exceeded: { status: 400, message: 'The project has reached its maximum number of collections.' },
  collection_not_found: { status: 404, message: 'There is no such collection.' },
  database_already_exists: { status: 409, message: 'A database with this id already exists.' },
  database_limit_exceeded: { status: 400, message: 'The project has reached its maximum number of databases.' },
  database_not_found: { status: 404, message: 'There is no such database.' },
  document_already_exists: { status: 409, message: 'A document with this id already exists.' },
  document_delete_restricted: {
    status: 403,
    message: 'The document cannot be deleted, as other documents are related to it.',
  },
  document_invalid_structure: { status: 400, message: 'The document does not fit the attributes of the collection.' },
  document_missing_data: { status: 400, message: 'The document has no data.' },
  document_missing_payload: { status: 400, message: 'There is nothing to change. Send data, permissions or both.' },
  document_not_found: { status: 404, message: 'There is no such document.' },
  document_unique_constraint_violation: {
    status: 409,
    message: 'Another document already has these values in a unique index.',
  },
  event_not_found: { status: 404, message: 'There is no such event. Events are kept for 30 days.' },
  general_answer_too_large: {
    status: 400,
    message: 'The response would be too large. Request fewer entries with `limit`, or fewer attributes with `select`.',
  },
  general_argument_invalid: { status: 400, message: 'A parameter of the request is not valid.' },
  general_bad_request: { status: 400, message: 'The request cannot be carried out.' },
  general_body_too_large: { status: 413, message: 'The body of the request is larger than this route accepts.' },
  general_cursor_not_found: { status: 400, message: 'The list has no entry with the id of the cursor.' },
  general_feature_unsupported: { status: 400, message: 'The service does not have this feature.' },
  general_headers_too_large: {
    status: 431,
    message: 'The headers of the request are too many or too large.',
  },
  general_host_unknown: {
    status: 421,
    message: 'This installation only answers requests for localhost. Set SVC_BASE_URL to the address that clients use.',
  },
  general_idempotency_mismatch: {
    status: 422,
    message: 'Another request has used this Idempotency-Key. Use a new key for each request.',
  },
  general_media_type_unsupported: {
    status: 415,
    message:
      'This route accepts only JSON in UTF-8. Send the header Content-Type: application/json, and no Content-Encoding.',
  },
  general_method_unsupported: { status: 405, message: 'This route does not support the method.' },
  general_phone_disabled: { status: 503, message: 'This installation cannot send SMS.' },
  general_precondition_failed: {
    status: 412,
    message: 'The resource has changed: it has another ETag than If-Match names.',
  },
  general_query_invalid: { status: 400, message: 'A query is not valid.' },
  general_query_limit_exceeded: { status: 400, message: 'The list has too many queries or values.' },
  general_query_timeout: { status: 503, message: 'The query took too long and was cancelled.' },
  general_rate_limit_exceeded: { status: 429, message: 'Too many requests. Please retry shortly.' },
  general_request_timeout: { status: 408, message: 'The request did not arrive completely in time.' },
  general_resource_locked: {
    status: 409,
    message: 'A request with the same Idempotency-Key is still being carried out. Please retry.',
  },
  general_route_not_found: { status: 404, message: 'There is no such route.' },
  general_unauthorized_scope: { status: 401, message: 'The caller is not authorised for this operation.' },
  general_unavailable: { status: 503, message: 'The service is temporarily unable to answer. Please retry.' },
  general_unknown: { status: 500, message: 'Internal error' },
  general_unknown_origin: {
    status: 403,
    message:
      'This origin is not a platform of the project. Register the hostname of the page, or the app, as a platform.',
  },
  general_upgrade_required: {
    status: 426,
    message: 'This route is for WebSocket connections. Send the headers of a WebSocket handshake.',
  },
  graphql_limit_exceeded: { status: 400, message: 'The GraphQL request is larger than the limits allow.' },
  graphql_method_unsupported: { status: 405, message: 'A mutation must be sent by POST.' },
  graphql_no_query: { status: 400, message: 'The request has no GraphQL query.' },
  graphql_too_many_queries: { status: 400, message: 'A batch has at most 10 operations.' },
  index_already_exists: { status: 409, message: 'The collection already has an index with this key.' },
  index_invalid: { status: 400, message: 'The index is not valid.' },
  index_limit_exceeded: { status: 400, message: 'The collection has reached its maximum number of indexes.' },
  index_not_found: { status: 404, message: 'There is no such index.' },
  key_limit_exceeded: { status: 400, message: 'The project has reached its maximum number of server keys.' },
  key_not_found: { status: 404, message: 'There is no such server key.' },
  membership_already_confirmed: { status: 409, message: 'This user is already a member of the team.' },
  membership_deletion_prohibited: { status: 400, message: 'The last owner cannot leave the team.' },
  membership_downgrade_prohibited: { status: 400, message: 'The last owner cannot give up the role.' },
  membership_not_found: { status: 404, message: 'There is no such membership.' },
  password_policy_violation: { status: 400, message: 'The password does not satisfy the password policy.' },
  platform_already_exists: { status: 409, message: 'The project already has this platform, or one with this id.' },
  platform_limit_exceeded: { status: 400, message: 'The project has reached its maximum number of platforms.' },
  platform_not_found: { status: 404, message: 'There is no such platform.' },
  project_already_exists: { status: 409, message: 'A project with this id already exists.' },
  project_id_taken: { status: 409, message: 'A deleted project had this id, and ids are never given again.' },
  project_key_expired: { status: 401, message: 'The server key has expired.' },
  project_logo_not_found: { status: 404, message: 'The project has no logo.' },
  project_not_found: { status: 404, message: 'There is no such project. Check the project header.' },
  project_provider_disabled: { status: 412, message: 'The project does not offer this login provider.' },
  provider_already_exists: { status: 409, message: 'The project already has a login provider with this key.' },
  provider_limit_exceeded: { status: 400, message: 'The project has reached its maximum number of login providers.' },
  provider_not_found: { status: 404, message: 'There is no such login provider.' },
  relationship_value_invalid: { status: 400, message: 'The value of the relationship is not valid.' },
  signing_key_not_found: { status: 404, message: 'There is no such signing key.' },
  storage_bucket_already_exists: { status: 409, message: 'A bucket with this id already exists.' },
  storage_bucket_limit_exceeded: { status: 400, message: 'The project has reached its maximum number of buckets.' },
  storage_bucket_not_found: { status: 404, message: 'There is no such bucket.' },
  storage_bucket_transformations_disabled: {
    status: 403,
    message: 'The bucket does not show its images in other forms.',
  },
  storage_file_already_exists: { status: 409, message: 'A file with this id already exists.' },
  storage_file_empty: { status: 400, message: 'The request has no file, or an empty one.' },
  storage_file_not_found: { status: 404, message: 'There is no such file.' },
  storage_file_type_unsupported: { status: 400, message: 'The bucket does not take files with this extension.' },
  storage_image_resolution_exceeded: {
    status: 400,
    message: 'The image has more pixels or bytes, or a longer side, than can be shown in another form.',
  },
  storage_invalid_appwrite_id: { status: 400, message: 'The id of the upload in the header is not valid.' },
  storage_invalid_content_range: {
    status: 400,
    message:
      'The Content-Range header is not valid: chunks have 5 MiB, but for the last, and begin where the one before ends.',
  },
  storage_invalid_file_size: { status: 400, message: 'The file is larger than the bucket takes.' },
  storage_invalid_range: { status: 416, message: 'The file does not have the requested range.' },
  storage_quota_exceeded: { status: 400, message: 'The files of the project have reached their maximum size.' },
  team_already_exists: { status: 409, message: 'A team with this id already exists.' },
  team_invalid_secret: { status: 401, message: 'The secret of the invitation is not valid.' },
  team_invite_mismatch: { status: 401, message: 'The invitation is for another user.' },
  team_invite_not_found: { status: 404, message: 'There is no such membership or invitation.' },
  team_limit_exceeded: {
    status: 400,
    message: 'The user has reached the maximum number of teams, or of roles in teams.',
  },
  team_membership_mismatch: { status: 404, message: 'The membership belongs to another team.' },
  team_not_found: { status: 404, message: 'There is no such team.' },
  token_expired: { status: 401, message: 'The file token has expired.' },
  token_limit_exceeded: { status: 400, message: 'The file has reached its maximum number of tokens.' },
  token_not_found: { status: 404, message: 'There is no such file token.' },
  transaction_conflict: {
    status: 409,
    message: 'A document of the transaction was changed elsewhere. Nothing of the transaction was carried out.',
  },
  transaction_expired: { status: 410, message: 'The transaction has expired.' },
  transaction_invalid: { status: 400, message: 'An operation of the transaction is not valid.' },
  transaction_limit_exceeded: { status: 400, message: 'The transaction is larger than transactions may be.' },
  transaction_not_found: { status: 404, message: 'There is no such transaction.' },
  transaction_not_ready: { status: 400, message: 'The transaction is not open any more.' },
  user_already_exists: { status: 409, message: 'A user with this id or email address already exists.' },
  user_api_key_and_session_set: {
    status: 403,
    message: 'A server key cannot be combined with a session or a JWT. Send exactly one credential.',
  },
  user_auth_method_unsupported: { status: 501, message: 'The project does not offer this way to log in.' },
  user_authenticator_already_verified: {
    status: 409,
    message: 'The account already has an authenticator. Remove it first.',
  },
  user_authenticator_not_found: { status: 404, message: 'The account has no such authenticator.' },
  user_blocked: { status: 403, message: 'This user is blocked.' },
  user_challenge_required: {
    status: 401,
    message: 'This operation requires a login or a challenge within the last 20 minutes.',
  },
  user_email_already_exists: { status: 409, message: 'Another user has this email address.' },
  user_email_already_verified: { status: 409, message: 'The email address is already verified.' },
  user_email_not_found: { status: 400, message: 'The user has no email address.' },
  user_identity_limit_exceeded: { status: 400, message: 'The user has reached the maximum number of identities.' },
  user_identity_not_found: { status: 404, message: 'There is no such identity.' },
  user_email_not_verified: { status: 400, message: 'The email address of the account is not verified.' },
  user_invalid_credentials: { status: 401, message: 'The credentials are not valid.' },
  user_invalid_token: { status: 401, message: 'The secret is wrong, already used, or expired.' },
  user_jwt_and_cookie_set: {
    status: 403,
    message: 'A JWT cannot be combined with a session. Send exactly one credential.',
  },
  user_jwt_creation_denied: { status: 403, message: 'A JWT cannot make another JWT. Use the session itself.' },
  user_jwt_invalid: { status: 401, message: 'The JWT is not valid.' },
  user_missing_id: { status: 400, message: 'The login provider has not said who the user is.' },
  user_more_factors_required: { status: 401, message: 'The login requires a second factor.' },
  user_not_found: { status: 404, message: 'There is no such user.' },
  user_oauth2_bad_request: { status: 400, message: 'The login provider has refused the request.' },
  user_oauth2_provider_error: {
    status: 424,
    message: 'The login provider cannot be reached or has not answered properly.',
  },
  user_oauth2_unauthorized: { status: 401, message: 'The login at the provider was refused or cancelled.' },
  user_passkey_already_exists: { status: 409, message: 'This passkey is already registered.' },
  user_passkey_limit_exceeded: { status: 400, message: 'The user has reached the maximum number of passkeys.' },
  user_passkey_not_found: { status: 404, message: 'The user has no such passkey.' },
  user_phone_already_exists: { status: 409, message: 'Another user has this phone number.' },
  user_phone_already_verified: { status: 409, message: 'The phone number is already verified.' },
  user_phone_not_found: { status: 400, message: 'The user has no phone number.' },
  user_phone_not_verified: { status: 400, message: 'The phone number of the account is not verified.' },
  user_saml_response_invalid: { status: 401, message: 'The response of the login provider is not valid.' },
  user_saml_unauthorized: { status: 401, message: 'The login provider has refused the login.' },
  user_recovery_codes_already_exists: {
    status: 409,
    message: 'The account already has recovery codes. Replace them instead.',
  },
  user_recovery_codes_not_found: { status: 404, message: 'The account has no recovery codes.' },
  user_session_not_found: { status: 404, message: 'There is no such session.' },
  user_target_already_exists: { status: 409, message: 'The user already has this target.' },
  user_target_not_found: { status: 404, message: 'There is no such target.' },
  user_unauthorized: { status: 401, message: 'You do not have the permission for this operation.' },
  webhook_already_exists: { status: 409, message: 'A webhook with this id already exists.' },
  webhook_delivery_not_found: { status: 404, message: 'The webhook has no such delivery.' },
  webhook_disabled: { status: 409, message: 'The webhook is disabled. Enable it first.' },
  webhook_limit_exceeded: { status: 400, message: 'The project has reached its maximum number of webhooks.' },
  webhook_not_found: { status: 404, message: 'There is no such webhook.' },
  ...tableErrors,
} as const satisfies Record<string, { status: number; message: string }>;

/** Message for a session that is unknown, expired, ended or deleted. */
export const sessionInvalid = 'The session is not valid or has ended. Log in again.';

/** The machine-readable name of an error: a key of the catalog. */
export type ErrorType = keyof typeof errorCatalog;

/** Returned instead of a session for a login without its second factor. */
interface PendingSession {
  readonly userId: string;
  readonly secret: string;
  /** In the format of the API. */
  readonly expire: string;
}

/** Options of a Failure. */
export interface FailureOptions {
  /** Public text instead of the catalog's; must name no internals. A function if it names parts of a collection. */
  readonly message?: string | Wording;
  /** Problems of the request, from which the message is printed. */
  readonly problems?: readonly RequestProblem[];
  /** Seconds for `Retry-After`. */
  readonly retryAfter?: number;
  /** Further headers of the response. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Further members of the envelope. */
  readonly members?: Readonly<Record<string, unknown>>;
  /** Returned to the refused caller as a member of the envelope and as the session cookie. */
  readonly pendingSession?: PendingSession;
  /** The second factors that the refused user has, for the page that asks for one. */
  readonly secondFactors?: readonly string[];
  /** A finer cause, for pages that name it in the user's language. */
  readonly detail?: string;
  /** The permission that the caller lacks, for the log only. */
  readonly missing?: string | undefined;
  /** The private reason, for the log only. */
  readonly cause?: unknown;
}

/** True if the service caused the error, such as 503: the caller's attempt was never checked. */
export function isOurFault(error: unknown): boolean {
  return !(error instanceof Failure) || error.status >= 500;
}

/** Default `Retry-After` of `general_unavailable`, in seconds. */
const unavailableSeconds = 5;

/**
 * The only error thrown on purpose: an entry of the catalog. A unit of work that commits before it fails throws one with `unit.refuse` (see
 * `platform/db/unit.ts`).
 */
export class Failure extends Error {
  readonly type: ErrorType;
  readonly status: number;
  readonly retryAfter: number | undefined;
  readonly problems: readonly RequestProblem[];
  /** The message in other words; undefined if it names no parts of a collection. */
  readonly wording: Wording | undefined;
  readonly members: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly pendingSession: PendingSession | undefined;
  readonly secondFactors: readonly string[];
  readonly detail: string | undefined;
  /** The permission that the caller lacks, for the log only. */
  readonly missing: string | undefined;

  constructor(type: ErrorType, options: FailureOptions = {}) {
    const problems = options.problems ?? [];
    const message = problems.length === 0 ? errorCatalog[type].message : printProblems(problems);
    const own = typeof options.message === 'function' ? options.message(databaseTerms) : options.message;
    super(own ?? message, { cause: options.cause });
    this.name = 'Failure';
    this.type = type;
    this.status = errorCatalog[type].status;
    this.retryAfter = options.retryAfter ?? (type === 'general_unavailable' ? unavailableSeconds : undefined);
    this.problems = problems;
    this.wording = typeof options.message === 'function' ? options.message : undefined;
    this.members = options.members ?? {};
    this.headers = options.headers ?? {};
    this.pendingSession = options.pendingSession;
    this.secondFactors = options.secondFactors ?? [];
    this.detail = options.detail;
    this.missing = options.missing;
  }
}

/** Failure `general_argument_invalid` about a parameter: a predicate such as "must be a text", or a sentence. */
export function invalidParam(name: string, problem: string): Failure {
  return new Failure('general_argument_invalid', { problems: [{ kind: 'param', name, problem }] });
}

/** Failure `general_argument_invalid` about a parameter that is absent, and the reason why it is needed, as a sentence. */
export function absentParam(name: string, reason?: string): Failure {
  return new Failure('general_argument_invalid', { problems: [{ kind: 'absent', name, ...(reason && { reason }) }] });
}
