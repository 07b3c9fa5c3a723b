/** One bound of a rate-limit class: `count` calls in `seconds`, refilled evenly (GCRA). */
export interface Rate {
  readonly count: number;
  readonly seconds: number;
}

/** A class of operations that share their limits; absent parts are not limited. */
export interface LimitClass {
  /** Per address: IPv4, or the /64 of IPv6. */
  readonly address?: Rate;
  /** Per account: the e-mail address or user id an operation names. */
  readonly account?: Rate;
  /** Per session user and per server key; only the data plane. */
  readonly user?: Rate;
  readonly key?: Rate;
  /** Per project, all callers together. */
  readonly project?: Rate;
  /** Of those of the project, what calls may use that anyone can make; the rest is left to those who have proved who they are. */
  readonly anyone?: Rate;
  readonly summary: string;
}

/** Every limit class; those of `countedInMemory` are counted per process, the others in the database for all processes at once. */
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

/** Classes that each process counts for itself. */
export const countedInMemory: ReadonlySet<string> = new Set(['data', 'refused', 'operations']);

/** The name of a limit class. */
export type LimitName = keyof typeof limitClasses;

/** Sizes of request bodies in bytes, by the kind of route. `SVC_BODY_MAX_BYTES` replaces the general one. */
export const bodySizes = { account: 65_536, prefs: 81_920, saml: 524_288, documents: 4_194_304 } as const;

/**
 * Bytes of bodies that are read or worked on at once, beyond what each has for itself: in a process, and for an address. Thousands of connections
 * may each send a large one, slowly.
 */
export const bodyRoom = { own: 65_536, all: 134_217_728, perAddress: 33_554_432, retrySeconds: 5 } as const;

/** Answers under way in a process; sizes in bytes. `SVC_ANSWER_MAX_BYTES` says how large one may be. */
export const answerLimits = {
  /** What a read of an answer may have at once while large answers take the rest, and for all such reads together. */
  few: 131_072,
  fewAtOnce: 67_108_864,
  /** Answers of the largest size that may be under way at once, and of these for one user, server key, or address of guests. */
  manyAtOnce: 4,
  manyOfAccount: 2,
  /** How long a read waits for room, how many wait, and when to come again. */
  waitMs: 5000,
  waiting: 2048,
  retrySeconds: 2,
  /** How often something that grows meanwhile is looked at. */
  attempts: 4,
  /** A document up to this size is read together with others. */
  together: 65_536,
  documentsTogether: 128,
  /** An answer larger than this is watched until it has left, and cut off where its reader takes nothing for so many milliseconds. */
  watched: 65_536,
  leaveMs: 120_000,
  /** While others lack room, readers are cut off that took fewer bytes in so many milliseconds, or have taken longer in all; the slowest first. */
  giveWayMs: 10_000,
  giveWayBytes: 131_072,
  giveWayAfterMs: 120_000,
  /** Such an answer is sent in parts, to see how far its reader is. */
  partBytes: 131_072,
  /** Rows of a list of the service's own things have at most so many bytes, unless the list says otherwise. */
  rowBytes: 262_144,
} as const;

/** How deep JSON of a request may nest, and how many keys it may have in all. */
export const jsonLimits = { depth: 64, keys: 10_000 } as const;

/** Fields of a form. */
export const formFields = 100;

/** Password length in Unicode code points and in bytes of UTF-8; the minimum is `SVC_PASSWORD_MIN_LENGTH`. */
export const passwordSize = { codePoints: 256, bytes: 1024 } as const;

/** What checking a password against an imported hash may cost, some 128 MiB and less than a second: a planted one must not hold the service up. */
export const foreignHashCost = {
  bcrypt: 13,
  /** KiB, KiB times passes, lanes. */
  argon2Memory: 131_072,
  argon2Work: 524_288,
  argon2Lanes: 16,
  /** Bytes, N r p, and the bytes of the key. */
  scryptMemory: 134_217_728,
  scryptWork: 1_048_576,
  scryptLength: 128,
  /** Binary logarithm of the iterations. */
  phpass: 16,
} as const;

/** What a server key may give a user; lengths in characters, times in seconds. */
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

/** Bounds of the queries of a list, `queries` and `values` of all of them together; `defaultLimit` is the page where no limit is given. */
export const queryBounds = {
  queries: 100,
  characters: 4096,
  values: 500,
  limit: 5000,
  defaultLimit: 25,
  depth: 10,
  search: 256,
  searches: 10,
} as const;

/** Bounds of the schema of a collection; Postgres has at most 1600 columns in a table, counting dropped ones. */
export const schemaLimits = {
  /** Of a project. */
  databases: 100,
  collections: 1000,
  /** Bytes of the attributes of all collections, up to which the description of the API names them. */
  describedBytes: 2_097_152,
  /** Collections of a project, up to which the served description names them: each takes some 60 KB of it. */
  described: 200,
  /** Collections that one transaction deletes. */
  droppedAtOnce: 20,
  attributes: 500,
  /** Attributes that are given with a new collection. */
  attributesAtOnce: 100,
  /** Relationships that a collection takes part in. */
  relations: 50,
  indexes: 64,
  indexedAttributes: 16,
  indexedCharacters: 768,
  /** Fulltext indexes among the indexes. */
  fulltextIndexes: 10,
  /** Of an enum, and characters of each. */
  elements: 100,
  element: 255,
  /** Of the value of an array attribute. */
  arrayElements: 10_000,
  /** Attributes with their defaults and elements, and indexes, as JSON: every request that touches the collection reads them. */
  bytes: 1_048_576,
} as const;

/** Fulltext indexes: how many different words of a value they hold, and from which length on a word stands there as its digest. */
export const wordLimits = { words: 20_000, bytes: 48 } as const;

/** Lists of documents that no index serves: from when on they are kept, and how much of them. */
export const scanLimits = {
  /** A list is kept from this time in the database on. */
  slowMs: 50,
  /** Shapes that a process keeps, and shapes of a collection in the database; the least recent go. */
  shapes: 200,
  shapesOfCollection: 50,
  /** Conditions and orders of a shape. */
  conditions: 24,
  orders: 16,
  /** A shape is logged once in this time, and at most so many lines are written in it. */
  logSeconds: 3600,
  logLines: 200,
  retentionDays: 30,
} as const;

/** Entries of a list of permissions, of a document as of a collection. */
export const permissionLimits = { entries: 100 } as const;

/** Of a project. */
export const projectLimits = { platforms: 200, keys: 500 } as const;

/** Preferences of a user, as JSON, in bytes. */
export const prefsBytes = 65_535;

/** Entries in a page of a user's log, at most and where the caller does not say, and how far its total counts. */
export const logPage = { max: 1000, defaultLimit: 25, counted: 100_000 } as const;

/** How long a browser of a user is remembered, and through how many logins. */
export const deviceMemory = { days: 30, logins: 200 } as const;

/** How old a login may be for operations that need a fresh one. */
export const freshLoginSeconds = 20 * 60;

/** Wrong guesses after which a code is burned. */
export const codeTries = 5;

/** Of these, those that are left to the id under which the code was handed out: the user's own id is known to others. */
export const codeTriesKept = 2;

/** Seconds for which a login may lack its second factor, and a challenge may be answered. */
export const pendingSeconds = { session: 600, challenge: 600 } as const;

/** Recovery codes of a set. */
export const recoveryCodeCount = 10;

/** Passkeys of a user, characters of a name, seconds for which a ceremony may take, bytes of a credential id and of a part of a response. */
export const passkeyLimits = {
  perUser: 20,
  name: 128,
  ceremonySeconds: 300,
  credentialIdBytes: 1023,
  responseBytes: 16_384,
} as const;

/** Seconds for which one-time secrets are good. */
export const secretLife = {
  code: 600,
  magicLink: 3600,
  verification: 86_400,
  recovery: 3600,
  serverToken: 900,
  /** What the page of the application redeems after a login at an identity provider. */
  externalLogin: 60,
  /** How long an invitation logs the invited user in; the membership stays open. */
  invitationLogin: 604_800,
} as const;

/** JWTs: seconds for which they are good, bytes, and seconds by which clocks may differ. */
export const jwtLimits = { seconds: 900, maxSeconds: 3600, bytes: 4096, toleranceSeconds: 5 } as const;

/** The life of the keys that sign them, in seconds but for the first. */
export const signingKeyLife = {
  days: 90,
  /** For how long others may keep the published keys. */
  cacheSeconds: 300,
  /** A key is published for this long before it signs. */
  publishSeconds: 600,
  /** And for this long after: the longest life of a token, the time for which others keep keys, and the same again. */
  overlapSeconds: 4200,
  maxOverlapSeconds: 2_592_000,
} as const;
/** Characters of a team's name and of a role, roles of a member, and teams a user can be in with the roles in all of them. */
export const teamLimits = { name: 128, role: 81, roles: 100, perUser: 500, rolesPerUser: 1000 } as const;

/** The largest logo of a project, in bytes. */
export const logoBytes = 32_768;

/** Seconds for which a login may be under way at an identity provider. */
export const externalLoginSeconds = 600;

/** The longest life of a session, whatever the settings say. */
export const sessionMaxDays = 365;

/** How exactly the last use of a session is recorded, and that of an account. */
export const accessGranularitySeconds = { session: 3600, account: 86_400 } as const;

/** Bounds of a GraphQL document. */
export const graphqlLimits = {
  bytes: 102_400,
  tokens: 2000,
  /** Brackets of any kind within each other, in values too; the parser calls itself for each. */
  nesting: 100,
  depth: 10,
  /** What the standard introspection query needs; such fields do not count towards the depth. */
  introspectionDepth: 15,
  aliases: 30,
  rootFields: 20,
  directives: 50,
  fragments: 50,
  errors: 20,
  batch: 10,
} as const;

/** Sizes in bytes and times in milliseconds of a connection, in the words of Node's HTTP server; Node's own defaults are far more generous. */
export const connectionLimits = {
  maxHeaderSize: 16_384,
  headersTimeout: 15_000,
  /** Of a request with a file; others have `bodyMs`. */
  requestTimeout: 3_600_000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 5000,
} as const;

/** Milliseconds for which the body of a request without a file may arrive. */
export const bodyMs = 60_000;

/** Connections at once, and what their requests may be. */
export const serverLimits = {
  connections: 2048,
  /** Of one request. */
  headers: 100,
  /** Requests of a connection that wait for the responses to those before them, and the bytes of all that wait: their heads, and 4 KiB for each. */
  waitingOfConnection: 100,
  waitingBytes: 33_554_432,
} as const;

/**
 * Seconds by which the clocks of processes may differ. A stored time that lies further ahead than this, and than what it stands for can
 * last, was written before the clock was set back, and counts as none.
 */
export const clockSkewSeconds = 900;

/** Leases of jobs, what one step of a job takes, and how long a server that ends waits for its jobs. */
export const jobLimits = { leaseSeconds: 60, renewSeconds: 20, batch: 200, endSeconds: 20 } as const;

/** Lists of the audit log: entries of a page, entries that a page looks at, characters of a filter, and the largest entry. */
export const auditLimits = { page: 100, scanned: 10_000, word: 1024, entryBytes: 131_072 } as const;

/** Refused requests in the audit log: an entry for each project and reason, so often and so many of them. */
export const refusalLimits = { seconds: 60, kinds: 1000 } as const;

/** How messages are sent. */
export const courierLimits = {
  /** How long a process keeps a message that it is sending. */
  leaseMs: 60_000,
  /** For a mail all in all, from the connection on; for an SMS the gateway's answer. */
  timeoutMs: 20_000,
  /** Messages under way at once, by each channel, in a process. */
  atOnce: 5,
  /** Bytes of a gateway's answer that are read. */
  answerBytes: 16_384,
  retentionDays: 30,
} as const;

/** Seconds between an attempt to send a message that failed and the next; after the last of them it has failed for good. */
export const messageDelays = [30, 120, 600, 3600, 14_400, 43_200] as const;

export { deliveryDelays, webhookLimits } from './delivery-limits.js';
export { identityLimits, providerLimits, samlLimits } from './external-login-limits.js';
export { fileLimits, previewLimits } from './file-limits.js';
export { feedLimits, realtimeLimits } from './stream-limits.js';
export { bulkLimits, idempotencyLimits, relationLimits, transactionLimits } from './write-limits.js';
