/** One bound of a rate-limit class: `count` calls in `seconds`, refilled evenly (GCRA). */
export interface Rate {
  readonly count: number;
  readonly seconds: number;
}

/** A class of operations that share their limits; absent parts are not limited. */
export interface LimitClass {
  /** Per address: IPv4, or the /64 of IPv6. */
  readonly address?: Rate;
  /** Per account: the email address or user id of an operation. */
  readonly account?: Rate;
  /** Per session user and per server key; only the data plane. */
  readonly user?: Rate;
  readonly key?: Rate;
  /** Per project, all callers together. */
  readonly project?: Rate;
  /** Part of the project quota open to unauthenticated calls. */
  readonly anyone?: Rate;
  readonly summary: string;
}

/** Every limit class. Those of `countedInMemory` are counted in the memory of each process, the others in the database. */
export const limitClasses = {
  data: {
    key: { count: 600, seconds: 60 },
    user: { count: 300, seconds: 60 },
    address: { count: 120, seconds: 60 },
    summary: 'Ordinary calls, per server key, else per user, else per address',
  },
  login: {
    account: { count: 10, seconds: 900 },
    address: { count: 30, seconds: 900 },
    summary: 'Failed logins, wrong current passwords, wrong codes and links; a success is not counted',
  },
  mfa: {
    account: { count: 5, seconds: 900 },
    summary: 'Wrong codes of authenticators and wrong recovery codes of a user; a right one gives the tries back',
  },
  refused: {
    address: { count: 100, seconds: 60 },
    summary: 'Refused credentials: unknown keys, sessions, JWTs, projects and routes',
  },
  operations: {
    address: { count: 1200, seconds: 60 },
    summary: 'Health, metrics, published keys, preflights: what needs no project in a header',
  },
  signup: { address: { count: 10, seconds: 3600 }, summary: 'New accounts, and asking for an address or a number' },
  anonymous: { address: { count: 30, seconds: 3600 }, summary: 'Anonymous logins, each a new account' },
  send: {
    account: { count: 3, seconds: 900 },
    address: { count: 20, seconds: 3600 },
    summary: 'Messages with codes and links, per recipient and per address that asks for them',
  },
  'send-daily': { account: { count: 10, seconds: 86_400 }, summary: 'Such messages to a recipient in a day' },
  'send-mail': {
    project: { count: 1000, seconds: 3600 },
    anyone: { count: 800, seconds: 3600 },
    summary: 'Such mails of a project; a part is kept for codes of the second factor',
  },
  'send-sms': {
    project: { count: 100, seconds: 3600 },
    anyone: { count: 80, seconds: 3600 },
    summary: 'Such SMS of a project; a part is kept for codes of the second factor',
  },
  ceremony: { address: { count: 60, seconds: 600 }, summary: 'Registrations and logins begun by passkey' },
  'external-start': { address: { count: 60, seconds: 600 }, summary: 'Logins begun at an identity provider' },
  'external-callback': {
    address: { count: 60, seconds: 60 },
    summary: 'Browsers that an identity provider sends back',
  },
  jwt: { account: { count: 60, seconds: 3600 }, summary: 'JWTs made from a session' },
} as const satisfies Record<string, LimitClass>;

/** Classes that are counted in memory: by all processes together, as each holds a part of the limit, or by each process alone. */
export const countedInMemory: ReadonlyMap<string, 'together' | 'alone'> = new Map([
  ['data', 'together'],
  ['refused', 'together'],
  ['operations', 'alone'],
]);

/** The name of a limit class. */
export type LimitName = keyof typeof limitClasses;

/** Sizes of request bodies in bytes, by the kind of route. `SVC_BODY_MAX_BYTES` is the bound of routes without one. */
export const bodySizes = { account: 65_536, prefs: 81_920, saml: 524_288, documents: 4_194_304 } as const;

/**
 * Memory of concurrent request bodies in bytes, beyond `own` of each: of a process, and of one address. Thousands of connections may each
 * send a large body slowly. A member of JSON counts the bytes of the objects made from it.
 */
export const bodyRoom = {
  own: 65_536,
  all: 134_217_728,
  perAddress: 33_554_432,
  member: 200,
  retrySeconds: 5,
} as const;

/** Limits of concurrent responses of a process; sizes in bytes. `SVC_ANSWER_MAX_BYTES` sets the largest response. */
export const answerLimits = {
  /** Bytes of a read while large responses use the other budget, and of all such reads together. */
  few: 131_072,
  fewAtOnce: 67_108_864,
  /** Concurrent responses of the largest size, in total and for one user, server key, or address of guests. */
  manyAtOnce: 4,
  manyOfAccount: 2,
  /** Longest wait of a read for memory, waiting reads, and `Retry-After`. */
  waitMs: 5000,
  waiting: 2048,
  retrySeconds: 2,
  /** Attempts to read something that grows concurrently. */
  attempts: 4,
  /** A document up to this size is read together with others. */
  together: 65_536,
  documentsTogether: 128,
  /** A larger response is monitored until it is sent. Its connection is closed if the client receives nothing for `leaveMs`. */
  watched: 65_536,
  leaveMs: 120_000,
  /** Pace of clients while others lack memory: bytes in `giveWayMs`, and the longest time in total. Slower ones are cut off. */
  giveWayMs: 10_000,
  giveWayBytes: 131_072,
  giveWayAfterMs: 120_000,
  /** Part size of such a response, which allows measuring the progress of its client. */
  partBytes: 131_072,
  /** Most bytes of a row in lists of the service's own objects, unless the list sets another limit. */
  rowBytes: 262_144,
} as const;

/** Nesting depth and total number of keys in the JSON of a request. */
export const jsonLimits = { depth: 64, keys: 10_000 } as const;

/** Fields of a form. */
export const formFields = 100;

/** Password length in Unicode code points and in bytes of UTF-8; the minimum is `SVC_PASSWORD_MIN_LENGTH`. */
export const passwordSize = { codePoints: 256, bytes: 1024 } as const;

/** Highest cost of checking an imported hash, about 128 MiB and less than a second, so that none can block the service. Memory of Argon2 is in KiB. */
export const foreignHashCost = {
  bcrypt: 13,
  argon2Memory: 131_072,
  argon2Work: 524_288,
  argon2Lanes: 16,
  /** Bytes, N r p, and the bytes of the key. */
  scryptMemory: 134_217_728,
  scryptWork: 1_048_576,
  scryptLength: 128,
  /** Binary logarithm of the iterations; of PBKDF2 the iterations. */
  phpass: 16,
  pbkdf2: 1_000_000,
} as const;

/** Limits of user data that a server key can set; lengths in characters, times in seconds. */
export const userLimits = {
  labels: 1000,
  labelLength: 36,
  targets: 25,
  targetIdentifier: 512,
  tokenLeast: 4,
  tokenUsual: 6,
  tokenMax: 128,
  tokenLeastSeconds: 60,
  tokenMaxSeconds: 31_536_000,
} as const;

/** Limits of the queries of a list; `queries` and `values` count all of them together. `defaultLimit` is the default page size. */
export const queryBounds = {
  queries: 100,
  characters: 4096,
  values: 500,
  limit: 5000,
  defaultLimit: 25,
  depth: 10,
  search: 256,
  searches: 10,
  related: 20,
  offset: 5000,
} as const;

/** The smallest size of an encrypted attribute, as in Appwrite. */
export const minEncryptedSize = 150;

/** Limits of the schema of a collection; Postgres has at most 1600 columns in a table, counting dropped ones. */
export const schemaLimits = {
  /** Per project. */
  databases: 100,
  collections: 1000,
  /** Total bytes of the attributes of all collections up to which the API description includes them. */
  describedBytes: 2_097_152,
  /** Collections of a project up to which the served description includes them; each takes about 60 KB of it. */
  described: 200,
  /** Collections that one transaction deletes. */
  droppedAtOnce: 20,
  attributes: 500,
  /** Attributes passed when creating a collection. */
  attributesAtOnce: 100,
  /** Relationships of a collection. */
  relations: 50,
  indexes: 64,
  indexedAttributes: 16,
  indexedCharacters: 768,
  /** Fulltext indexes among the indexes. */
  fulltextIndexes: 10,
  /** Elements of an enum, and characters of each. */
  elements: 100,
  element: 255,
  /** Elements in the value of an array attribute. */
  arrayElements: 10_000,
  /** Attributes with their defaults and elements, and indexes, as JSON. Every request to the collection reads them. */
  bytes: 1_048_576,
} as const;

/** Fulltext indexes: distinct words of a value, and the bytes of a word beyond which its digest is indexed. */
export const wordLimits = { words: 20_000, bytes: 48 } as const;

/** Limits of the record of document lists that no index serves. */
export const scanLimits = {
  /** Minimum time in the database for a list to be recorded. */
  slowMs: 50,
  /** Shapes recorded by a process, and shapes of a collection in the database; the least recent are dropped. */
  shapes: 200,
  shapesOfCollection: 50,
  /** Conditions and orders of a shape. */
  conditions: 24,
  orders: 16,
  /** A shape is logged at most once in this time, and at most `logLines` lines are written in it. */
  logSeconds: 3600,
  logLines: 200,
  retentionDays: 30,
} as const;

/** Entries of a list of permissions, of a document or a collection. */
export const permissionLimits = { entries: 100 } as const;

/** Platforms and server keys of a project. */
export const projectLimits = { platforms: 200, keys: 500 } as const;

/** Preferences of a user, as JSON, in bytes. */
export const prefsBytes = 65_535;

/** Largest and default number of entries in a page of a user's log, and the limit of its total. */
export const logPage = { max: 1000, defaultLimit: 25, counted: 100_000 } as const;

/** A user's browser is remembered for this many days and over this many logins. */
export const deviceMemory = { days: 30, logins: 200 } as const;

/** Oldest login accepted by operations that require a fresh one, in seconds. */
export const freshLoginSeconds = 20 * 60;

/** Wrong guesses after which a code becomes invalid. */
export const codeTries = 5;

/** Guesses reserved for the id returned with the code; the user's own id is known to others. */
export const codeTriesKept = 2;

/** Seconds that a login may wait for its second factor, and a challenge for its response. */
export const pendingSeconds = { session: 600, challenge: 600 } as const;

/** Recovery codes of a set. */
export const recoveryCodeCount = 10;

/** Lifetimes of one-time secrets, in seconds. */
export const secretLife = {
  code: 600,
  magicLink: 3600,
  verification: 86_400,
  recovery: 3600,
  serverToken: 900,
  /** The secret that a page of the application redeems after a login at an identity provider. */
  externalLogin: 60,
  /** Period during which an invitation logs the invited user in; the membership stays open. */
  invitationLogin: 604_800,
} as const;

/** JWTs: lifetime in seconds, bytes, and the tolerated difference of clocks in seconds. */
export const jwtLimits = { seconds: 900, maxSeconds: 3600, bytes: 4096, toleranceSeconds: 5 } as const;

/** Lifetime of the keys that sign JWTs, in seconds except for `days`. */
export const signingKeyLife = {
  days: 90,
  /** Seconds for which others may cache the published keys. */
  cacheSeconds: 300,
  /** Time that a key is published before it signs. */
  publishSeconds: 600,
  /** Time that a key stays published afterwards: the longest life of a token, plus twice the cache time. */
  overlapSeconds: 4200,
  maxOverlapSeconds: 2_592_000,
} as const;
/** Characters of a team's name and of a role, roles of a member, and teams of a user and roles in all of them. */
export const teamLimits = { name: 128, role: 81, roles: 100, perUser: 500, rolesPerUser: 1000 } as const;

/** Pictures drawn by the service: pixels, characters, margin of a QR code in modules, cache seconds, and cache of a process. */
export const drawingLimits = {
  side: 2000,
  standardSide: 100,
  initialsSide: 500,
  name: 128,
  qrText: 512,
  qrSide: 1000,
  qrStandardSide: 400,
  qrMargin: 10,
  cacheSeconds: 2_592_000,
  keptBytes: 8_388_608,
  keptEntries: 1000,
  keptLargest: 262_144,
} as const;

/** The largest logo of a project, in bytes. */
export const logoBytes = 32_768;

/** Longest duration of a login at an identity provider, in seconds. */
export const externalLoginSeconds = 600;

/** The longest life of a session, whatever the settings are. */
export const sessionMaxDays = 365;

/** Precision of the recorded last use of a session and of an account. */
export const accessGranularitySeconds = { session: 3600, account: 86_400 } as const;

/** Limits of a GraphQL document. */
export const graphqlLimits = {
  bytes: 102_400,
  tokens: 2000,
  /** Nested brackets of any kind, in values too; the parser is recursive. */
  nesting: 100,
  depth: 10,
  /** Required by the standard introspection query; such fields do not count towards the depth. */
  introspectionDepth: 15,
  aliases: 30,
  rootFields: 20,
  directives: 50,
  fragments: 50,
  errors: 20,
  batch: 10,
} as const;

/** Bytes and milliseconds of a connection, by the option names of Node's HTTP server, whose defaults are far higher. */
export const connectionLimits = {
  maxHeaderSize: 16_384,
  headersTimeout: 15_000,
  /** For a request with a file; others have `bodyMs`. */
  requestTimeout: 3_600_000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 5000,
} as const;

/** Time for receiving the body of a request without a file, in milliseconds. */
export const bodyMs = 60_000;

/** Limits of connections and their requests. */
export const serverLimits = {
  connections: 2048,
  /** Headers of one request. */
  headers: 100,
  /** Requests of a connection queued behind earlier ones, and the bytes of all queued requests: their heads, plus 4 KiB each. */
  waitingOfConnection: 100,
  waitingBytes: 33_554_432,
} as const;

/**
 * Tolerated difference between the clocks of processes, in seconds. A stored time further ahead than this plus its longest duration was
 * written before the clock was set back, and is ignored.
 */
export const clockSkewSeconds = 900;

/** Leases of jobs, rows of one step, and the time that a stopping server waits for its jobs. */
export const jobLimits = { leaseSeconds: 60, renewSeconds: 20, batch: 200, endSeconds: 20 } as const;

/** Lists of the audit log: entries of a page, entries scanned for a page, characters of a filter, and bytes of the largest entry. */
export const auditLimits = { page: 100, scanned: 10_000, word: 1024, entryBytes: 131_072 } as const;

/**
 * Refused requests in the audit log: seconds between entries, and kinds by project and reason. Each unknown origin has its own entry, up to
 * `origins`; those longer than `originCharacters` are counted without a name.
 */
export const refusalLimits = { seconds: 60, kinds: 1000, origins: 10, originCharacters: 300 } as const;

/** Limits of sending messages. */
export const courierLimits = {
  /** Lease of a message by a process that sends it. */
  leaseMs: 60_000,
  /** For a mail in total, from the connection on; for an SMS the gateway's response. */
  timeoutMs: 20_000,
  /** Concurrent messages of a process, per channel. */
  atOnce: 5,
  /** Bytes of a gateway's response that are read. */
  answerBytes: 16_384,
  retentionDays: 30,
} as const;

/** Seconds between a failed attempt to send a message and the next one; after the last of them the failure is final. */
export const messageDelays = [30, 120, 600, 3600, 14_400, 43_200] as const;

export { deliveryDelays, webhookLimits } from './delivery-limits.js';
export { identityLimits, providerLimits, samlLimits } from './external-login-limits.js';
export { fileLimits, previewLimits } from './file-limits.js';
export { passkeyLimits } from './passkey-limits.js';
export { feedLimits, realtimeLimits } from './stream-limits.js';
export { bulkLimits, idempotencyLimits, relationLimits, transactionLimits } from './write-limits.js';
