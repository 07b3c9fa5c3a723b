import { isDeepStrictEqual } from 'node:util';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { ForeignHash } from '#src/platform/crypto/foreign-hashes/hash.js';
import type { HashDescription } from '#src/platform/crypto/hashing.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Factors } from '../factors/index.js';
import type { Identities } from '../identities/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import type { Sessions } from '../sessions/index.js';
import { accountRecord, type ImportedMembers, type Users } from '../users/index.js';

/** A user's account at an identity provider, in a file. */
export interface ImportedIdentity {
  readonly provider: string;
  readonly providerUid: string;
  readonly providerEmail: string;
}

/** A user to import. Members that the source does not have are absent: an update leaves them as they are. */
export interface ImportedUser extends ImportedMembers {
  /** `unique()` for a generated one. */
  readonly id: string;
  readonly email?: string | null;
  readonly phone?: string | null;
  readonly name?: string;
  /** A hash of another product, or the text of one of this service. */
  readonly hash?: ForeignHash | string | undefined;
  /** The secret of an authenticator app, in base32. */
  readonly totp?: string | undefined;
  readonly identities: readonly ImportedIdentity[];
  /** The source has deleted the user. An update blocks the account, and nothing else changes. */
  readonly isDeleted?: boolean;
}

/** Features that updates of users depend on. */
export interface UpdateDeps {
  readonly users: Users;
  readonly factors: Factors;
  readonly identities: Identities;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
}

/** Members of a user that differ from the source, with their new values. */
interface Differences {
  readonly members: Partial<Pick<UserRecord, Compared>>;
  readonly hash: NonNullable<ImportedUser['hash']> | undefined;
  readonly totp: string | undefined;
  readonly identities: readonly ImportedIdentity[];
}

const compared = [
  ...(['name', 'email', 'phone', 'emailVerification', 'phoneVerification'] as const),
  ...(['labels', 'prefs', 'status', 'mfa'] as const),
] as const;
type Compared = (typeof compared)[number];

/** Finds the differences between a user and its source, except members that the source lacks; undefined if there are none. */
export async function differencesOf(
  { users, factors, identities }: UpdateDeps,
  unit: Unit,
  project: Project,
  user: UserRecord,
  given: ImportedUser,
): Promise<Differences | undefined> {
  if (given.isDeleted)
    return user.status ? { members: { status: false }, hash: undefined, totp: undefined, identities: [] } : undefined;
  const seed = given.totp === undefined && given.mfa ? undefined : await factors.seedOf(unit, project, user);
  const isKept = (member: Compared) =>
    given[member] === undefined ||
    isDeepStrictEqual(comparable(given[member]), comparable(user[member])) ||
    // An authenticator that was enrolled here keeps the second factor on.
    (member === 'mfa' && !given.mfa && seed !== undefined);
  const members = Object.fromEntries(
    compared.filter((member) => !isKept(member)).map((member) => [member, given[member]]),
  );
  const hash = isHashKept(users.describePassword(project, user), user, given) ? undefined : given.hash;
  const totp = plainSeed(given.totp) === seed ? undefined : given.totp;
  const linked = given.identities.length === 0 ? [] : await identities.ofUser(unit, project, user.id);
  const missing = given.identities.filter(
    (one) => !linked.some(({ provider, providerUid }) => provider === one.provider && providerUid === one.providerUid),
  );
  const isSame = Object.keys(members).length === 0 && hash === undefined && totp === undefined && missing.length === 0;
  return isSame ? undefined : { members, hash, totp, identities: missing };
}

/** True if the differences contain a contact or a credential. */
export function changesAccess({ members, hash, totp, identities }: Differences): boolean {
  const contacts = ['email', 'phone', 'emailVerification', 'phoneVerification'] as const;
  const isSame = hash === undefined && totp === undefined && identities.length === 0;
  return !isSame || contacts.some((member) => Object.hasOwn(members, member));
}

/** The order of labels has no meaning. */
function comparable(value: unknown): unknown {
  return Array.isArray(value) ? [...value].sort() : value;
}

function plainSeed(seed: string | undefined): string | undefined {
  return seed?.replace(/[\s=-]/g, '').toUpperCase();
}

/**
 * True if the password here is the one of the source or a newer one. The first login replaces the hash of another product, so a hash of
 * this service is compared by the time of the last change of the password.
 */
function isHashKept(present: HashDescription | undefined, user: UserRecord, { hash, passwordUpdate }: ImportedUser) {
  if (hash === undefined) return true;
  if (present === undefined) return false;
  const { type: _, ...options } = present.options;
  const isEqual =
    typeof hash === 'string'
      ? hash === present.hash
      : isDeepStrictEqual({ hash: present.hash, algorithm: present.algorithm, ...options }, { ...hash });
  if (isEqual) return true;
  if (passwordUpdate) return user.passwordUpdate !== null && passwordUpdate <= user.passwordUpdate;
  const isOwn = present.hash.startsWith('scrypt:') || Object.hasOwn(options, 'memoryCost');
  return isOwn && typeof hash !== 'string';
}

/**
 * Changes a user to the state of its source, without messages to the user. Ends sessions as other changes of the password and blocks do.
 * Throws Failure if an address or number is taken.
 */
export async function updateUser(
  deps: UpdateDeps,
  unit: Unit,
  project: Project,
  before: UserRecord,
  { members, hash, totp, identities: _ }: Differences,
  { passwordUpdate = unit.now, storedHash }: { passwordUpdate?: string | null | undefined; storedHash: string | null },
): Promise<UserRecord> {
  const { users, factors, sessions, secrets } = deps;
  const { email, phone, ...rest } = members;
  let user = before;
  if (email !== undefined) user = await users.changeEmail(unit, project.id, user, email);
  if (phone !== undefined) user = await users.changePhone(unit, project.id, user, phone);
  const flags = {
    ...(email === undefined ? {} : { emailVerification: before.emailVerification }),
    ...(phone === undefined ? {} : { phoneVerification: before.phoneVerification }),
  };
  const change = { ...flags, ...rest, ...(hash === undefined ? {} : { passwordHash: storedHash, passwordUpdate }) };
  if (Object.keys(change).length > 0) user = await users.update(unit, project.id, user, change);
  record(unit, before, user, members, hash !== undefined);
  if (hash !== undefined) await sessions.closeAll(unit, project, user.id);
  if (members.status === false) await sessions.endAll(unit, project, user.id);
  if (hash !== undefined || members.status === false || email !== undefined || phone !== undefined)
    await secrets.void(unit, project, 'every', { userId: user.id });
  if (totp !== undefined) await factors.adoptTotp(unit, project, user, totp);
  return user;
}

/** Writes an audit entry for each change. */
function record(
  unit: Unit,
  before: UserRecord,
  { id, name, email, phone, labels, status, mfa }: UserRecord,
  members: Differences['members'],
  hasPassword: boolean,
): void {
  const [address, number] = [{ email: email ?? '' }, { phone: phone ?? '' }];
  const plain = accountRecord(id);
  if (members.name !== undefined) unit.record('accountNameChanged', accountRecord(id, { name }));
  if (members.email !== undefined)
    unit.record('accountEmailChanged', accountRecord(id, { ...address, previous: before.email ?? '' }));
  if (members.phone !== undefined)
    unit.record('accountPhoneChanged', accountRecord(id, { ...number, previous: before.phone ?? '' }));
  if (members.emailVerification === true) unit.record('accountEmailVerified', accountRecord(id, address));
  if (members.emailVerification === false) unit.record('accountEmailUnverified', plain);
  if (members.phoneVerification === true) unit.record('accountPhoneVerified', accountRecord(id, number));
  if (members.phoneVerification === false) unit.record('accountPhoneUnverified', plain);
  if (members.labels !== undefined) unit.record('accountLabelsChanged', accountRecord(id, { labels: [...labels] }));
  if (members.prefs !== undefined) unit.record('accountPrefsChanged', plain);
  if (members.status !== undefined) unit.record(status ? 'accountUnblocked' : 'accountBlocked', plain);
  if (members.mfa !== undefined) unit.record(mfa ? 'mfaEnabled' : 'mfaDisabled', plain);
  if (hasPassword) unit.record('accountPasswordChanged', plain);
}
