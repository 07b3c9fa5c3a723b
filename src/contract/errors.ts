import { printProblems, type RequestProblem } from './request-problems.js';
import { databaseTerms, type Wording } from './terms.js';

/**
 * Type → HTTP status and public text. A test compares them with the table in docs/errors.md. Messages never name internals; the private
 * cause is in `Failure.cause` and appears only in the log.
 */
const errors = {
  attribute_already_exists: [409, 'The collection already has an attribute or index with this key.'],
  attribute_default_unsupported: [400, 'A required attribute or an array cannot have a default.'],
  attribute_invalid_resize: [400, 'A document has a longer value than the new size allows.'],
  attribute_limit_exceeded: [400, 'The collection has reached its maximum number of attributes.'],
  attribute_not_found: [404, 'There is no such attribute.'],
  attribute_type_invalid: [400, 'The attribute has another type.'],
  attribute_unknown: [400, 'The collection has no such attribute.'],
  attribute_value_invalid: [400, 'A value does not fit the attribute.'],
  collection_already_exists: [409, 'A collection with this id already exists.'],
  collection_limit_exceeded: [400, 'The project has reached its maximum number of collections.'],
  collection_not_found: [404, 'There is no such collection.'],
  database_already_exists: [409, 'A database with this id already exists.'],
  database_limit_exceeded: [400, 'The project has reached its maximum number of databases.'],
  database_not_found: [404, 'There is no such database.'],
  document_already_exists: [409, 'A document with this id already exists.'],
  document_delete_restricted: [403, 'The document cannot be deleted, as other documents are related to it.'],
  document_invalid_structure: [400, 'The document does not fit the attributes of the collection.'],
  document_missing_data: [400, 'The document has no data.'],
  document_missing_payload: [400, 'There is nothing to change. Send data, permissions or both.'],
  document_not_found: [404, 'There is no such document.'],
  document_unique_constraint_violation: [409, 'Another document already has these values in a unique index.'],
  event_not_found: [404, 'There is no such event. Events are kept for 30 days.'],
  general_answer_too_large: [
    400,
    'The response would be too large. Request fewer entries with `limit`, or fewer attributes with `select`.',
  ],
  general_argument_invalid: [400, 'A parameter of the request is not valid.'],
  general_bad_request: [400, 'The request cannot be carried out.'],
  general_body_too_large: [413, 'The body of the request is larger than this route accepts.'],
  general_cursor_not_found: [400, 'The list has no entry with the id of the cursor.'],
  general_feature_unsupported: [400, 'The service does not have this feature.'],
  general_headers_too_large: [431, 'The headers of the request are too many or too large.'],
  general_host_unknown: [
    421,
    'This installation only answers requests for localhost. Set SVC_BASE_URL to the address that clients use.',
  ],
  general_idempotency_mismatch: [422, 'Another request has used this Idempotency-Key. Use a new key for each request.'],
  general_media_type_unsupported: [
    415,
    'This route accepts only JSON in UTF-8. Send the header Content-Type: application/json, and no Content-Encoding.',
  ],
  general_method_unsupported: [405, 'This route does not support the method.'],
  general_phone_disabled: [503, 'This installation cannot send SMS.'],
  general_precondition_failed: [412, 'The resource has changed: it has another ETag than If-Match names.'],
  general_query_invalid: [400, 'A query is not valid.'],
  general_query_limit_exceeded: [400, 'The list has too many queries or values.'],
  general_query_timeout: [503, 'The query took too long and was cancelled.'],
  general_rate_limit_exceeded: [429, 'Too many requests. Please retry shortly.'],
  general_request_timeout: [408, 'The request did not arrive completely in time.'],
  general_resource_locked: [409, 'A request with the same Idempotency-Key is still being carried out. Please retry.'],
  general_route_not_found: [404, 'There is no such route.'],
  general_unauthorized_scope: [401, 'The caller is not authorised for this operation.'],
  general_unavailable: [503, 'The service is temporarily unable to answer. Please retry.'],
  general_unknown: [500, 'Internal error'],
  general_unknown_origin: [
    403,
    'This origin is not a platform of the project. Register the hostname of the page, or the app, as a platform.',
  ],
  general_upgrade_required: [
    426,
    'This route is for WebSocket connections. Send the headers of a WebSocket handshake.',
  ],
  graphql_limit_exceeded: [400, 'The GraphQL request is larger than the limits allow.'],
  graphql_method_unsupported: [405, 'A mutation must be sent by POST.'],
  graphql_no_query: [400, 'The request has no GraphQL query.'],
  graphql_too_many_queries: [400, 'A batch has at most 10 operations.'],
  index_already_exists: [409, 'The collection already has an index with this key.'],
  index_invalid: [400, 'The index is not valid.'],
  index_limit_exceeded: [400, 'The collection has reached its maximum number of indexes.'],
  index_not_found: [404, 'There is no such index.'],
  key_limit_exceeded: [400, 'The project has reached its maximum number of server keys.'],
  key_not_found: [404, 'There is no such server key.'],
  membership_already_confirmed: [409, 'This user is already a member of the team.'],
  membership_deletion_prohibited: [400, 'The last owner cannot leave the team.'],
  membership_downgrade_prohibited: [400, 'The last owner cannot give up the role.'],
  membership_not_found: [404, 'There is no such membership.'],
  password_policy_violation: [400, 'The password does not satisfy the password policy.'],
  platform_already_exists: [409, 'The project already has this platform, or one with this id.'],
  platform_limit_exceeded: [400, 'The project has reached its maximum number of platforms.'],
  platform_not_found: [404, 'There is no such platform.'],
  project_already_exists: [409, 'A project with this id already exists.'],
  project_id_taken: [409, 'A deleted project had this id, and ids are never given again.'],
  project_key_expired: [401, 'The server key has expired.'],
  project_logo_not_found: [404, 'The project has no logo.'],
  project_not_found: [404, 'There is no such project. Check the project header.'],
  project_provider_disabled: [412, 'The project does not offer this login provider.'],
  provider_already_exists: [409, 'The project already has a login provider with this key.'],
  provider_limit_exceeded: [400, 'The project has reached its maximum number of login providers.'],
  provider_not_found: [404, 'There is no such login provider.'],
  relationship_value_invalid: [400, 'The value of the relationship is not valid.'],
  signing_key_not_found: [404, 'There is no such signing key.'],
  storage_bucket_already_exists: [409, 'A bucket with this id already exists.'],
  storage_bucket_limit_exceeded: [400, 'The project has reached its maximum number of buckets.'],
  storage_bucket_not_found: [404, 'There is no such bucket.'],
  storage_bucket_transformations_disabled: [403, 'The bucket does not show its images in other forms.'],
  storage_file_already_exists: [409, 'A file with this id already exists.'],
  storage_file_empty: [400, 'The request has no file, or an empty one.'],
  storage_file_not_found: [404, 'There is no such file.'],
  storage_file_type_unsupported: [400, 'The bucket does not take files with this extension.'],
  storage_image_resolution_exceeded: [
    400,
    'The image has more pixels or bytes, or a longer side, than can be shown in another form.',
  ],
  storage_invalid_appwrite_id: [400, 'The id of the upload in the header is not valid.'],
  storage_invalid_content_range: [
    400,
    'The Content-Range header is not valid: chunks have 5 MiB, but for the last, and begin where the one before ends.',
  ],
  storage_invalid_file_size: [400, 'The file is larger than the bucket takes.'],
  storage_invalid_range: [416, 'The file does not have the requested range.'],
  storage_quota_exceeded: [400, 'The files of the project have reached their maximum size.'],
  team_already_exists: [409, 'A team with this id already exists.'],
  team_invalid_secret: [401, 'The secret of the invitation is not valid.'],
  team_invite_mismatch: [401, 'The invitation is for another user.'],
  team_invite_not_found: [404, 'There is no such membership or invitation.'],
  team_limit_exceeded: [400, 'The user has reached the maximum number of teams, or of roles in teams.'],
  team_membership_mismatch: [404, 'The membership belongs to another team.'],
  team_not_found: [404, 'There is no such team.'],
  token_expired: [401, 'The file token has expired.'],
  token_limit_exceeded: [400, 'The file has reached its maximum number of tokens.'],
  token_not_found: [404, 'There is no such file token.'],
  transaction_conflict: [
    409,
    'A document of the transaction was changed elsewhere. Nothing of the transaction was carried out.',
  ],
  transaction_expired: [410, 'The transaction has expired.'],
  transaction_invalid: [400, 'An operation of the transaction is not valid.'],
  transaction_limit_exceeded: [400, 'The transaction is larger than transactions may be.'],
  transaction_not_found: [404, 'There is no such transaction.'],
  transaction_not_ready: [400, 'The transaction is not open any more.'],
  user_already_exists: [409, 'A user with this id or email address already exists.'],
  user_api_key_and_session_set: [
    403,
    'A server key cannot be combined with a session or a JWT. Send exactly one credential.',
  ],
  user_auth_method_unsupported: [501, 'The project does not offer this way to log in.'],
  user_authenticator_already_verified: [409, 'The account already has an authenticator. Remove it first.'],
  user_authenticator_not_found: [404, 'The account has no such authenticator.'],
  user_blocked: [403, 'This user is blocked.'],
  user_challenge_required: [401, 'This operation requires a login or a challenge within the last 20 minutes.'],
  user_email_already_exists: [409, 'Another user has this email address.'],
  user_email_already_verified: [409, 'The email address is already verified.'],
  user_email_not_found: [400, 'The user has no email address.'],
  user_identity_limit_exceeded: [400, 'The user has reached the maximum number of identities.'],
  user_identity_not_found: [404, 'There is no such identity.'],
  user_email_not_verified: [400, 'The email address of the account is not verified.'],
  user_invalid_credentials: [401, 'The credentials are not valid.'],
  user_invalid_token: [401, 'The secret is wrong, already used, or expired.'],
  user_jwt_and_cookie_set: [403, 'A JWT cannot be combined with a session. Send exactly one credential.'],
  user_jwt_creation_denied: [403, 'A JWT cannot make another JWT. Use the session itself.'],
  user_jwt_invalid: [401, 'The JWT is not valid.'],
  user_missing_id: [400, 'The login provider has not said who the user is.'],
  user_more_factors_required: [401, 'The login requires a second factor.'],
  user_not_found: [404, 'There is no such user.'],
  user_oauth2_bad_request: [400, 'The login provider has refused the request.'],
  user_oauth2_provider_error: [424, 'The login provider cannot be reached or has not answered properly.'],
  user_oauth2_unauthorized: [401, 'The login at the provider was refused or cancelled.'],
  user_passkey_already_exists: [409, 'This passkey is already registered.'],
  user_passkey_limit_exceeded: [400, 'The user has reached the maximum number of passkeys.'],
  user_passkey_not_found: [404, 'The user has no such passkey.'],
  user_phone_already_exists: [409, 'Another user has this phone number.'],
  user_phone_already_verified: [409, 'The phone number is already verified.'],
  user_phone_not_found: [400, 'The user has no phone number.'],
  user_phone_not_verified: [400, 'The phone number of the account is not verified.'],
  user_saml_response_invalid: [401, 'The response of the login provider is not valid.'],
  user_saml_unauthorized: [401, 'The login provider has refused the login.'],
  user_recovery_codes_already_exists: [409, 'The account already has recovery codes. Replace them instead.'],
  user_recovery_codes_not_found: [404, 'The account has no recovery codes.'],
  user_session_not_found: [404, 'There is no such session.'],
  user_target_already_exists: [409, 'The user already has this target.'],
  user_target_not_found: [404, 'There is no such target.'],
  user_unauthorized: [401, 'You do not have the permission for this operation.'],
  webhook_already_exists: [409, 'A webhook with this id already exists.'],
  webhook_delivery_not_found: [404, 'The webhook has no such delivery.'],
  webhook_disabled: [409, 'The webhook is disabled. Enable it first.'],
  webhook_limit_exceeded: [400, 'The project has reached its maximum number of webhooks.'],
  webhook_not_found: [404, 'There is no such webhook.'],
} as const satisfies Record<string, readonly [status: number, message: string]>;

/** Errors of databases under the names of `/tablesdb`: a table is a collection, a row a document, a column an attribute. */
const tableErrors = {
  column_already_exists: [409, 'The table already has a column or index with this key.'],
  column_default_unsupported: [400, 'A required column or an array cannot have a default.'],
  column_index_already_exists: [409, 'The table already has an index with this key.'],
  column_index_invalid: [400, 'The index is not valid.'],
  column_index_limit_exceeded: [400, 'The table has reached its maximum number of indexes.'],
  column_index_not_found: [404, 'There is no such index.'],
  column_invalid_resize: [400, 'A row has a longer value than the new size allows.'],
  column_limit_exceeded: [400, 'The table has reached its maximum number of columns.'],
  column_not_found: [404, 'There is no such column.'],
  column_type_invalid: [400, 'The column has another type.'],
  column_unknown: [400, 'The table has no such column.'],
  column_value_invalid: [400, 'A value does not fit the column.'],
  row_already_exists: [409, 'A row with this id already exists.'],
  row_delete_restricted: [403, 'The row cannot be deleted, as other rows are related to it.'],
  row_invalid_structure: [400, 'The row does not fit the columns of the table.'],
  row_missing_data: [400, 'The row has no data.'],
  row_missing_payload: [400, 'There is nothing to change. Send data, permissions or both.'],
  row_not_found: [404, 'There is no such row.'],
  row_unique_constraint_violation: [409, 'Another row already has these values in a unique index.'],
  table_already_exists: [409, 'A table with this id already exists.'],
  table_limit_exceeded: [400, 'The project has reached its maximum number of tables.'],
  table_not_found: [404, 'There is no such table.'],
} as const satisfies Record<string, readonly [status: number, message: string]>;

/** First words of errors of databases, and those under the names of `/tablesdb`. */
const tableWords: Readonly<Record<string, string>> = {
  attribute: 'column',
  collection: 'table',
  document: 'row',
  index: 'column_index',
};

/** Message for a session that is unknown, expired, ended or deleted. */
export const sessionInvalid = 'The session is not valid or has ended. Log in again.';

/** The machine-readable name of an error: a key of the catalog. */
export type ErrorType = keyof typeof errors | keyof typeof tableErrors;

/** The same error under the name of `/tablesdb`, if it has one. */
export function inTables(type: ErrorType): ErrorType {
  return type.replace(/^[a-z]+(?=_)/, (first) => tableWords[first] ?? first) as ErrorType;
}

/** Every error a client can get. Those of databases are there twice: with the names of `/databases` and of `/tablesdb`. */
export const errorCatalog = Object.fromEntries(
  Object.entries({ ...errors, ...tableErrors }).map(([type, [status, message]]) => [type, { status, message }]),
) as Readonly<Record<ErrorType, { readonly status: number; readonly message: string }>>;

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
