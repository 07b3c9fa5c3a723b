import { z } from 'zod';
import { scopes } from './actor.js';
import { platformTypes } from './platform.js';
import { sessionMembers } from './session.js';
import { signingAlgorithms } from './signing-key.js';

interface EventDefinition {
  /** The payload; strict, so that nothing undeclared can leak into audit or webhooks. */
  readonly payload: z.ZodObject;
  /** True if it is also an event for webhooks and the feed. */
  readonly announced: boolean;
  /**
   * Personal members of the payload: the audit row keeps a salted commitment, and the value is stored separately so that it can be erased.
   */
  readonly personal: readonly string[];
  /** True if the audit row also keeps the address and the user agent of the request; both are personal. */
  readonly client: boolean;
}

const define = <P extends z.ZodObject, const K extends keyof z.output<P> & string>(
  announced: boolean,
  payload: P,
  personal: readonly K[] = [],
  { client = true } = {},
) => ({ payload, announced, personal, client }) as const satisfies EventDefinition;

/** For changes whose payload includes them, or that are too frequent and appear in no log of a user. */
const withoutClient = { client: false };

/** A session in the format of the API, without its secret. */
const sessionPayload = z.strictObject({ ...sessionMembers, secret: z.literal('') });

const sessionPersonal = [
  'providerUid',
  'ip',
  'osName',
  'osVersion',
  'clientName',
  'clientVersion',
  'deviceName',
  'deviceModel',
] as const;
/** The audit record of a document: the names of its attributes, never their values. The event itself contains the document. */
const document = z.strictObject({ attributes: z.array(z.string()), permissions: z.boolean() });
const account = z.strictObject({ userId: z.string() });
const target = account.extend({ providerType: z.string(), identifier: z.string() });

/** The audit record of a file. */
const file = z.strictObject({ size: z.int(), mimeType: z.string() });
const bucket = z.strictObject({ name: z.string() });

const identity = account.extend({ provider: z.string(), providerUid: z.string() });
const provider = z.strictObject({ kind: z.string(), name: z.string() });
const factor = account.extend({ factor: z.string() });
const team = z.strictObject({ name: z.string() });
const membership = z.strictObject({ teamId: z.string(), userId: z.string(), roles: z.array(z.string()) });

const webhook = z.strictObject({ name: z.string() });
/** The hostname of an app is its id. */
const platform = z.strictObject({ type: z.enum(platformTypes), hostname: z.string() });
const signingKey = z.strictObject({ alg: z.enum(signingAlgorithms) });
/** Only the host of the address: its path may be a secret of the receiver. */
const webhookTarget = webhook.extend({ host: z.string(), events: z.array(z.string()), enabled: z.boolean() });

/**
 * Every recorded change. Each becomes an audit row; the announced ones also become events with exactly these names. A test compares them
 * with docs/events.md.
 */
export const events = {
  sessionCreated: define(true, sessionPayload, sessionPersonal, withoutClient),
  sessionDeleted: define(true, sessionPayload, sessionPersonal),
  sessionUpdated: define(false, sessionPayload, sessionPersonal),
  accountCreated: define(false, account.extend({ email: z.string(), name: z.string() }), ['email', 'name']),
  accountNameChanged: define(false, account.extend({ name: z.string() }), ['name']),
  accountEmailChanged: define(false, account.extend({ email: z.string(), previous: z.string() }), [
    'email',
    'previous',
  ]),
  accountEmailVerified: define(false, account.extend({ email: z.string() }), ['email']),
  accountPhoneChanged: define(false, account.extend({ phone: z.string(), previous: z.string() }), [
    'phone',
    'previous',
  ]),
  accountPhoneVerified: define(false, account.extend({ phone: z.string() }), ['phone']),
  accountPasswordChanged: define(false, account),
  accountEmailUnverified: define(false, account),
  accountPhoneUnverified: define(false, account),
  accountLabelsChanged: define(false, account.extend({ labels: z.array(z.string()) }), ['labels']),
  accountPrefsChanged: define(false, account),
  accountClaimed: define(false, account.extend({ contact: z.enum(['email', 'phone']) })),
  accountTokenCreated: define(false, account),
  accountJwtCreated: define(
    false,
    account.extend({ sessionId: z.string(), alg: z.enum(signingAlgorithms), duration: z.int() }),
  ),
  identityLinked: define(false, identity, ['providerUid']),
  identityUnlinked: define(false, identity, ['providerUid']),
  mfaEnabled: define(false, account),
  mfaDisabled: define(false, account),
  targetCreated: define(false, target, ['identifier']),
  targetUpdated: define(false, target, ['identifier']),
  targetDeleted: define(false, target, ['identifier']),
  accountBlocked: define(false, account),
  accountUnblocked: define(false, account),
  accountDeleted: define(false, account.extend({ email: z.string() }), ['email']),
  accountErased: define(false, account),
  loginFailed: define(
    false,
    z.strictObject({ method: z.string(), email: z.string(), ip: z.string(), reason: z.string() }),
    ['email', 'ip'],
  ),
  requestsRefused: define(
    false,
    z.strictObject({ reason: z.string(), count: z.int(), ip: z.string(), origin: z.string().optional() }),
    ['ip'],
  ),
  proofFailed: define(false, z.strictObject({ purpose: z.string(), ip: z.string() }), ['ip']),
  loginPending: define(false, account.extend({ provider: z.string(), ip: z.string() }), ['ip']),
  challengeFailed: define(false, factor.extend({ ip: z.string() }), ['ip']),
  factorAdded: define(false, factor),
  factorRemoved: define(false, factor),
  recoveryCodesCreated: define(false, account),
  recoveryCodesDeleted: define(false, account),
  recoveryCodeUsed: define(false, account.extend({ left: z.int() })),
  teamCreated: define(false, team),
  teamUpdated: define(false, team),
  teamPrefsChanged: define(false, team),
  teamDeleted: define(false, team),
  membershipInvited: define(false, membership.extend({ email: z.string() }), ['email']),
  membershipConfirmed: define(false, membership),
  membershipUpdated: define(false, membership),
  membershipDeleted: define(false, membership),
  databaseCreated: define(false, z.strictObject({ name: z.string() })),
  databaseUpdated: define(false, z.strictObject({ name: z.string() })),
  databaseDeleted: define(false, z.strictObject({ name: z.string() })),
  collectionCreated: define(false, z.strictObject({ name: z.string() })),
  collectionUpdated: define(false, z.strictObject({ name: z.string() })),
  collectionDeleted: define(false, z.strictObject({ name: z.string(), documents: z.int() })),
  attributeCreated: define(false, z.strictObject({ key: z.string() })),
  attributeUpdated: define(false, z.strictObject({ key: z.string() })),
  attributeDeleted: define(false, z.strictObject({ key: z.string() })),
  indexCreated: define(false, z.strictObject({ key: z.string() })),
  indexDeleted: define(false, z.strictObject({ key: z.string() })),
  documentCreated: define(true, document, [], withoutClient),
  documentUpdated: define(true, document, [], withoutClient),
  documentDeleted: define(true, document, [], withoutClient),
  bucketCreated: define(false, bucket),
  bucketUpdated: define(false, bucket),
  bucketDeleted: define(false, bucket.extend({ files: z.int(), bytes: z.int() })),
  fileCreated: define(true, file, [], withoutClient),
  fileUpdated: define(false, file, [], withoutClient),
  fileDeleted: define(true, file, [], withoutClient),
  fileTokenCreated: define(false, z.strictObject({ expire: z.string() })),
  fileTokenUpdated: define(false, z.strictObject({ expire: z.string() })),
  fileTokenDeleted: define(false, z.strictObject({})),
  backupRestored: define(false, z.strictObject({ createdAt: z.string(), version: z.string() })),
  masterKeyRotated: define(false, z.strictObject({ from: z.string(), to: z.string() })),
  projectCreated: define(false, z.strictObject({ name: z.string() })),
  projectUpdated: define(false, z.strictObject({ name: z.string(), settings: z.array(z.string()) })),
  projectDeleted: define(false, z.strictObject({ name: z.string() })),
  platformAdded: define(false, platform),
  platformChanged: define(false, platform),
  platformRemoved: define(false, platform),
  providerCreated: define(false, provider.extend({ enabled: z.boolean() })),
  providerUpdated: define(false, provider.extend({ enabled: z.boolean() })),
  providerDeleted: define(false, provider),
  keyCreated: define(
    false,
    z.strictObject({ name: z.string(), scopes: z.array(z.enum([...scopes, 'all'])), expire: z.string() }),
  ),
  keyRevoked: define(false, z.strictObject({ name: z.string() })),
  signingKeyCreated: define(false, signingKey),
  keysRotated: define(false, signingKey.extend({ previous: z.string(), overlapSeconds: z.int() })),
  signingKeyRevoked: define(false, signingKey),
  limitsReset: define(false, z.strictObject({ counters: z.int() })),
  webhookCreated: define(false, webhookTarget),
  webhookUpdated: define(false, webhookTarget),
  webhookDeleted: define(false, webhook),
  webhookSecretRotated: define(false, webhook.extend({ overlapSeconds: z.int() })),
  webhookDisabled: define(false, webhook.extend({ reason: z.string() })),
  auditPruned: define(false, z.strictObject({ firstSeq: z.int(), lastSeq: z.int(), entries: z.int() })),
} as const;

/** The name of a recorded change. */
export type EventName = keyof typeof events;

/** The payload of a recorded change. */
export type EventPayload<E extends EventName> = z.input<(typeof events)[E]['payload']>;

/** The announced events, which a webhook may subscribe to besides `*`. */
export const subscribableEvents = [
  'documentCreated',
  'documentUpdated',
  'documentDeleted',
  'fileCreated',
  'fileDeleted',
  'sessionCreated',
  'sessionDeleted',
] as const;

/** Subscribes a webhook to every announced event. */
export const everyEvent = '*';

/** Events that only the feed, its stream and sockets carry. */
export const feedOnlyEvents = [
  'fileUpdated',
  'accountUpdated',
  'teamCreated',
  'teamUpdated',
  'teamDeleted',
  'membershipCreated',
  'membershipUpdated',
  'membershipDeleted',
] as const;

/** The name of an event in `feedOnlyEvents`. */
export type FeedOnlyEvent = (typeof feedOnlyEvents)[number];

/** Every event of the feed. */
export const feedEvents = [...subscribableEvents, ...feedOnlyEvents] as const;

/** The name of an event of the feed. */
export type FeedEvent = (typeof feedEvents)[number];

/** The payload of an event after its subject was erased: only the ids that identify the resource to readers. */
export const erasedPayload = z
  .object({
    $id: z.string(),
    userId: z.string().optional(),
    teamId: z.string().optional(),
    bucketId: z.string().optional(),
    $databaseId: z.string().optional(),
    $collectionId: z.string().optional(),
    erased: z.literal(true),
  })
  .meta({ id: 'ErasedPayload' });

/** For a document the number of its collection; for a file its bucket, and the user who created it. */
export type ItemAudience = number | { readonly bucket?: string; readonly creator?: string };

/**
 * The users who may read an event; server keys may read all. Either a list of user ids, or the members of a team, and for a membership also
 * its user. Events of documents and files list no users, because permissions decide. They identify the collection or bucket by a value that
 * is never reused, which older events lack. Events of a user's files include the user and are erased together with the user. `changed`
 * lists the changed parts of an account or team, such as `prefs`, for readers on sockets.
 */
export type Audience =
  | { readonly users: readonly string[]; readonly changed?: readonly string[] }
  | ItemAudience
  | {
      readonly team: string;
      readonly changed?: readonly string[];
      readonly user?: string;
      /** Payload for members who may see email addresses and phone numbers, and for other members; by default the event's own payload. */
      readonly shown?: { readonly contacts?: unknown; readonly withoutContacts: unknown };
    };
