/**
 * Every error a client can meet: type → HTTP status and public text. The table in docs/errors.md is compared with this one by a test.
 * A message never names internals; the private cause travels in `Failure.cause` and reaches the log only.
 */
export const errorCatalog = {
  attribute_already_exists: { status: 409, message: 'The collection has an attribute or index of that key already.' },
  attribute_default_unsupported: { status: 400, message: 'A required attribute or an array cannot have a default.' },
  attribute_limit_exceeded: { status: 400, message: 'The collection has as many attributes as it can have.' },
  attribute_not_found: { status: 404, message: 'There is no such attribute.' },
  attribute_type_invalid: { status: 400, message: 'The attribute is of another type.' },
  attribute_unknown: { status: 400, message: 'The collection has no such attribute.' },
  attribute_value_invalid: { status: 400, message: 'A value does not fit the attribute.' },
  collection_already_exists: { status: 409, message: 'A collection of that id exists already.' },
  collection_not_found: { status: 404, message: 'There is no such collection.' },
  database_already_exists: { status: 409, message: 'A database of that id exists already.' },
  database_not_found: { status: 404, message: 'There is no such database.' },
  document_already_exists: { status: 409, message: 'A document of that id exists already.' },
  document_invalid_structure: { status: 400, message: 'The document does not fit the attributes of the collection.' },
  document_missing_data: { status: 400, message: 'The document has no data.' },
  document_missing_payload: { status: 400, message: 'There is nothing to change: give data, permissions or both.' },
  document_not_found: { status: 404, message: 'There is no such document.' },
  document_unique_constraint_violation: {
    status: 409,
    message: 'Another document has these values in a unique index.',
  },
  general_argument_invalid: { status: 400, message: 'A parameter of the request is not valid.' },
  general_body_too_large: { status: 413, message: 'The body of the request is larger than this route accepts.' },
  general_cursor_not_found: { status: 400, message: 'There is no document at the cursor.' },
  general_media_type_unsupported: { status: 415, message: 'This route takes uncompressed application/json in UTF-8.' },
  general_method_unsupported: { status: 405, message: 'This address does not answer to that method.' },
  general_phone_disabled: { status: 503, message: 'This installation sends no SMS.' },
  general_query_invalid: { status: 400, message: 'A query is not valid.' },
  general_rate_limit_exceeded: { status: 429, message: 'Too many requests. Please retry shortly.' },
  general_request_timeout: { status: 408, message: 'The request did not arrive completely in time.' },
  general_route_not_found: { status: 404, message: 'There is no such route.' },
  general_unauthorized_scope: { status: 401, message: 'The caller is not authorised for this operation.' },
  general_unavailable: { status: 503, message: 'The service is temporarily unable to answer. Please retry.' },
  general_unknown: { status: 500, message: 'Internal error' },
  general_unknown_origin: {
    status: 403,
    message: 'This origin is not a platform of the project. Register its hostname as a platform.',
  },
  graphql_limit_exceeded: { status: 400, message: 'The GraphQL request is larger than the limits allow.' },
  graphql_method_unsupported: { status: 405, message: 'A mutation must be sent by POST.' },
  graphql_no_query: { status: 400, message: 'The request has no GraphQL query.' },
  graphql_too_many_queries: { status: 400, message: 'A batch has at most 10 operations.' },
  index_already_exists: { status: 409, message: 'The collection has an index of that key already.' },
  index_dependency: { status: 409, message: 'An index needs this attribute; remove the index first.' },
  index_invalid: { status: 400, message: 'The index is not possible.' },
  index_limit_exceeded: { status: 400, message: 'The collection has as many indexes as it can have.' },
  index_not_found: { status: 404, message: 'There is no such index.' },
  key_not_found: { status: 404, message: 'There is no such server key.' },
  password_policy_violation: { status: 400, message: 'The password does not satisfy the password policy.' },
  platform_already_exists: { status: 409, message: 'The project has a platform of that hostname already.' },
  platform_not_found: { status: 404, message: 'There is no such platform.' },
  project_already_exists: { status: 409, message: 'A project of that id exists already.' },
  project_key_expired: { status: 401, message: 'The server key has expired.' },
  project_not_found: { status: 404, message: 'There is no such project. Check the project header.' },
  signing_key_not_found: { status: 404, message: 'There is no such signing key.' },
  user_already_exists: { status: 409, message: 'A user with this id or e-mail address exists already.' },
  user_api_key_and_session_set: {
    status: 403,
    message: 'A server key cannot be combined with a session or a JWT. Send exactly one credential.',
  },
  user_authenticator_already_verified: {
    status: 409,
    message: 'The account has an authenticator already. Remove it first.',
  },
  user_authenticator_not_found: { status: 404, message: 'The account has no such authenticator.' },
  user_blocked: { status: 403, message: 'This user is blocked.' },
  user_challenge_required: {
    status: 401,
    message: 'This operation needs a login or a challenge not older than 20 minutes.',
  },
  user_email_already_exists: { status: 409, message: 'Another user has this e-mail address.' },
  user_email_already_verified: { status: 409, message: 'The e-mail address is verified already.' },
  user_email_not_found: { status: 400, message: 'The user has no e-mail address.' },
  user_identity_not_found: { status: 404, message: 'There is no such identity.' },
  user_email_not_verified: { status: 400, message: 'The e-mail address of the account is not verified.' },
  user_invalid_credentials: { status: 401, message: 'The credentials are not valid.' },
  user_invalid_token: { status: 401, message: 'The secret is not valid: wrong, used, or expired.' },
  user_jwt_and_cookie_set: {
    status: 403,
    message: 'A JWT cannot be combined with a session. Send exactly one credential.',
  },
  user_jwt_creation_denied: { status: 403, message: 'A JWT cannot make another JWT. Use the session itself.' },
  user_jwt_invalid: { status: 401, message: 'The JWT is not valid.' },
  user_more_factors_required: { status: 401, message: 'The login lacks its second factor.' },
  user_not_found: { status: 404, message: 'There is no such user.' },
  user_phone_already_exists: { status: 409, message: 'Another user has this phone number.' },
  user_phone_already_verified: { status: 409, message: 'The phone number is verified already.' },
  user_phone_not_found: { status: 400, message: 'The user has no phone number.' },
  user_phone_not_verified: { status: 400, message: 'The phone number of the account is not verified.' },
  user_recovery_codes_already_exists: {
    status: 409,
    message: 'The account has recovery codes already. Replace them instead.',
  },
  user_recovery_codes_not_found: { status: 404, message: 'The account has no recovery codes.' },
  user_session_not_found: { status: 404, message: 'There is no such session.' },
  user_unauthorized: { status: 401, message: 'You do not have the permission that this needs.' },
  webhook_already_exists: { status: 409, message: 'A webhook of that id exists already.' },
  webhook_delivery_not_found: { status: 404, message: 'The webhook has no such delivery.' },
  webhook_disabled: { status: 409, message: 'The webhook is disabled. Enable it first.' },
  webhook_limit_exceeded: { status: 400, message: 'The project has as many webhooks as it can have.' },
  webhook_not_found: { status: 404, message: 'There is no such webhook.' },
} as const satisfies Record<string, { status: number; message: string }>;

/** The machine-readable name of an error: a key of the catalog. */
export type ErrorType = keyof typeof errorCatalog;

/** What a login that lacks its second factor is given instead of a session. */
interface PendingSession {
  readonly userId: string;
  readonly secret: string;
  /** As the wire prints it. */
  readonly expire: string;
}

/** What may accompany a Failure. */
interface FailureOptions {
  /** Public text instead of the catalog's; must name no internals. */
  readonly message?: string;
  /** Seconds for `Retry-After`. */
  readonly retryAfter?: number;
  /** Further headers of the answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Further members of the envelope. */
  readonly members?: Readonly<Record<string, unknown>>;
  /** Handed to the refused caller as a member of the envelope and as the session cookie. */
  readonly pendingSession?: PendingSession;
  /** The private reason, for the log only. */
  readonly cause?: unknown;
}

/** The only thing thrown on purpose: an error of the catalog. Returned from a unit of work it commits first (see `platform/db/unit.ts`). */
export class Failure extends Error {
  readonly type: ErrorType;
  readonly status: number;
  readonly retryAfter: number | undefined;
  readonly members: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly pendingSession: PendingSession | undefined;

  constructor(type: ErrorType, options: FailureOptions = {}) {
    super(options.message ?? errorCatalog[type].message, { cause: options.cause });
    this.name = 'Failure';
    this.type = type;
    this.status = errorCatalog[type].status;
    this.retryAfter = options.retryAfter;
    this.members = options.members ?? {};
    this.headers = options.headers ?? {};
    this.pendingSession = options.pendingSession;
  }
}
