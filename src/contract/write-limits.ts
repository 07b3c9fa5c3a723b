/** Limits of requests with an `Idempotency-Key`. */
export const idempotencyLimits = {
  /** Storage time of a response. */
  hours: 24,
  /** Characters of a key. */
  key: 255,
  /** Time after which a duplicate may take over a running request; longer than any request lasts. */
  leaseSeconds: 120,
  /** Longest wait of a duplicate for the first request, waiting duplicates of a process, and `Retry-After`. */
  waitSeconds: 10,
  waiting: 500,
  retrySeconds: 1,
  /** Bytes of a stored response. */
  answerBytes: 1_048_576,
  /** Requests of a project: of all server keys, and as many of all users and guests; and of one user or address. */
  requests: 100_000,
  requestsOfCaller: 2000,
  /**
   * Limits for the bytes of stored responses. `bytes`: total of a project. `bytesForUsers`: total of a project above which responses to
   * users and guests are not stored. `bytesOfCaller`: total of one user or address. Responses beyond a limit are not stored.
   */
  bytes: 536_870_912,
  bytesForUsers: 268_435_456,
  bytesOfCaller: 8_388_608,
  /** Seconds until they are counted again, and `Retry-After` of a request beyond the limit of a project. */
  usageSeconds: 10,
  fullRetrySeconds: 600,
} as const;

/** Limits of requests that change many documents. */
export const bulkLimits = {
  /** Documents in the body of a request. */
  given: 100,
  /** Documents that match the queries of a request. */
  matched: 1000,
  /** Bytes of all documents that a request changes, in their new printed form. */
  bytes: 8_388_608,
  /** Documents in the response. */
  echoed: 100,
} as const;

/** Limits of related documents. */
export const relationLimits = {
  /** Levels of documents that a request reads or writes below its own. */
  levels: 3,
  /** Documents that a request writes below its own. */
  nested: 100,
  /** Ids of one value. */
  linked: 1000,
  /** Related documents replaced by one value, or unlinked by a deletion if they show the deleted document. */
  unlinked: 10_000,
  /** Documents that are deleted together. */
  deleted: 1000,
  /** Relationships that a read follows. */
  followed: 20,
  /** Related documents of one relationship and level that a read returns. */
  read: 5000,
} as const;

/** Limits of document transactions. */
export const transactionLimits = {
  /** Operations of a transaction, and bytes of their content. */
  operations: 100,
  bytes: 4_194_304,
  /** Documents that a transaction changes, and bytes of their new printed form: the same as for one bulk request. */
  documents: bulkLimits.matched,
  documentBytes: bulkLimits.bytes,
  /** Open transactions of a caller and of a project, and bytes of all open ones of a project. */
  ofCaller: 100,
  ofProject: 1000,
  projectBytes: 268_435_456,
  /**
   * Operations, or documents that they change, that count as one more call of the rate limit: each call executes all that were staged
   * before.
   */
  changesPerCall: 10,
  /** Lifetime of a transaction in seconds. */
  minSeconds: 60,
  maxSeconds: 3600,
  seconds: 300,
  /** Time that an expired one can still be read. */
  keptHours: 1,
  /** Attempts of a request if other requests of the same transaction interfere, or the schema changes. */
  attempts: 10,
} as const;
