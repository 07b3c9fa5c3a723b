/** Requests with an `Idempotency-Key`. */
export const idempotencyLimits = {
  /** How long an answer is kept. */
  hours: 24,
  /** Characters of a key. */
  key: 255,
  /** How long a request may be carried out before a duplicate may take it over: longer than any request lasts. */
  leaseSeconds: 120,
  /** How long a duplicate waits for the first, how many of a process wait, and when one may come again. */
  waitSeconds: 10,
  waiting: 500,
  retrySeconds: 1,
  /** Bytes of an answer that is kept. */
  answerBytes: 1_048_576,
  /** Requests of a project: of all server keys, and as many of all users and guests; of these, those of one user or address. */
  requests: 100_000,
  requestsOfCaller: 2000,
  /** Bytes of kept answers of a project; those up to which users and guests have theirs kept, and one user or address. Further ones are not kept. */
  bytes: 536_870_912,
  bytesForUsers: 268_435_456,
  bytesOfCaller: 8_388_608,
  /** After how many seconds they are counted again, and when a request beyond those of a project may come again. */
  usageSeconds: 10,
  fullRetrySeconds: 600,
} as const;

/** Requests that change many documents. */
export const bulkLimits = {
  /** Documents that a request gives. */
  given: 100,
  /** Documents that match the queries of a request. */
  matched: 1000,
  /** Bytes of all documents that a request changes, as they are printed afterwards. */
  bytes: 8_388_608,
  /** Documents that are in the answer. */
  echoed: 100,
} as const;

/** Documents that are related to others. */
export const relationLimits = {
  /** Levels of documents that a request reads or writes below its own. */
  levels: 3,
  /** Documents that a request writes below its own. */
  nested: 100,
  /** Ids of one value. */
  linked: 1000,
  /** Related documents that one value replaces, or that a deletion unlinks and that show it. */
  unlinked: 10_000,
  /** Documents that are deleted together. */
  deleted: 1000,
  /** Relationships that a read follows. */
  followed: 20,
  /** Related documents of one relationship and level that a read returns. */
  read: 5000,
} as const;

/** Transactions of documents. */
export const transactionLimits = {
  /** Operations of a transaction, and bytes of what they say. */
  operations: 100,
  bytes: 4_194_304,
  /** Documents that a transaction changes, and bytes of them as they are printed afterwards: as many as one bulk request. */
  documents: bulkLimits.matched,
  documentBytes: bulkLimits.bytes,
  /** Transactions that are open: of a caller, of a project, and bytes of all of a project. */
  ofCaller: 100,
  ofProject: 1000,
  projectBytes: 268_435_456,
  /** Operations, or documents that they change, that count as one more call of the rate limit: each call carries out all that were staged before. */
  changesPerCall: 10,
  /** Seconds that a transaction is open. */
  minSeconds: 60,
  maxSeconds: 3600,
  seconds: 300,
  /** How long one that is over can be read. */
  keptHours: 1,
  /** How often a request is tried again where other requests of the same transaction come between, or the schema changes. */
  attempts: 10,
} as const;
