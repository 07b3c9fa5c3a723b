import type { ErrorType, FailureOptions } from '#src/contract/errors.js';
import { Failure, sessionInvalid } from '#src/contract/errors.js';
import type { Session } from '#src/contract/session.js';
import { type Instant, uniqueId } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Claims } from '../claims/index.js';
import type { Identities, Identity, IdentityProof } from '../identities/index.js';
import type { Sessions } from '../sessions/index.js';
import { refusalRecord, type UserChanges, type Users } from '../users/index.js';
import type { BrowserCall, LoginTransaction } from './service.js';

/** The validated profile of a user after a login at an identity provider. */
export interface ExternalProfile extends Omit<IdentityProof, 'provider' | 'providerEmail'> {
  /** In lower case; null if the provider sends none. */
  readonly email: string | null;
  /** True if the provider has verified that the address belongs to the user. */
  readonly emailVerified: boolean;
  readonly name: string;
}

/** A login after the identity provider has responded. */
export interface ExternalLogin {
  readonly call: BrowserCall;
  readonly transaction: Pick<LoginTransaction, 'provider' | 'flow' | 'success' | 'userId' | 'sessionId'>;
  readonly profile: ExternalProfile;
  /** End of the session as set by the provider; null or absent if it sets none. */
  readonly endsBy?: Instant | null;
}

/** The account that a login opens. */
export interface Resolved {
  readonly account: UserRecord;
  readonly identity: Identity;
  /** The session that began the login, if a user was logged in. */
  readonly session: Session | undefined;
}

/** Thrown if a parallel login has linked the identity to another account. The unit runs again and finds that account. */
export class IdentityTaken extends Error {}

/** Features that find or create the account of a login. */
export interface ResolverDeps {
  readonly users: Users;
  readonly userChanges: UserChanges;
  readonly claims: Claims;
  readonly identities: Identities;
  readonly sessions: Sessions;
}

type Deps = ResolverDeps;

const unverified =
  'Another account has the email address, and the login provider has not verified that it is yours. Log in to that account another way.';
const foreign = 'Another user has this identity or its email address.';

/** Finds or creates the account for a login at an identity provider, and locks it until the unit ends. */
export async function resolveAccount(deps: Deps, unit: Unit, login: ExternalLogin): Promise<Resolved> {
  const { call, transaction, profile } = login;
  const known = await deps.identities.find(unit, call.project, transaction.provider, profile.providerUid);
  if (transaction.userId !== null) return attach(deps, unit, login, transaction.userId, known);
  return known === undefined ? firstLogin(deps, unit, login) : logInLinkedUser(deps, unit, login, known);
}

/** Links the identity to the user whose session began the login. The session must still be active. */
async function attach(
  deps: Deps,
  unit: Unit,
  login: ExternalLogin,
  userId: string,
  known: Identity | undefined,
): Promise<Resolved> {
  const { users, sessions, identities } = deps;
  const { call, transaction, profile } = login;
  const { project } = call;
  const account = await users.lockById(unit, project.id, userId);
  if (account !== undefined && !account.status) throw refuse(unit, login, 'blocked', account, 'user_blocked');
  const open = await sessions.active(unit, project, userId);
  const session = open.find(({ id }) => id === transaction.sessionId);
  if (account === undefined || session === undefined)
    throw new Failure('general_unauthorized_scope', { message: sessionInvalid });
  const holder = profile.email === null ? undefined : await users.findByEmail(unit, project.id, profile.email);
  const isForeign = holder !== undefined && holder.id !== userId;
  const isProved = isForeign && profile.emailVerified && holder.emailVerification;
  if (isProved || (known !== undefined && known.userId !== userId))
    throw refuse(unit, login, 'of another user', account, 'user_already_exists', { message: foreign });
  const identity =
    known === undefined
      ? await link(deps, unit, login, account)
      : await identities.renew(unit, project, known, proofOf(login));
  if (known === undefined) await identities.tellLinked(unit, project, account, identity);
  return { account: await complete(deps, unit, login, account, !isForeign), identity, session };
}

/** Records the refused login and throws. */
function refuse(
  unit: Unit,
  { call, transaction }: ExternalLogin,
  reason: string,
  account: UserRecord | undefined,
  ...failure: [ErrorType, FailureOptions?]
): never {
  const payload = { method: transaction.provider, email: account?.email ?? '', ip: call.request.ip, reason };
  unit.record('loginFailed', refusalRecord(account?.id, payload));
  throw unit.refuse(...failure);
}

async function link({ identities }: Deps, unit: Unit, login: ExternalLogin, { id }: UserRecord): Promise<Identity> {
  const linked = await identities.link(unit, login.call.project, id, proofOf(login));
  if (linked === undefined) throw new IdentityTaken();
  return linked;
}

function proofOf({ transaction, profile }: ExternalLogin): IdentityProof {
  const { providerUid, email, tokens } = profile;
  return { provider: transaction.provider, providerUid, providerEmail: email ?? '', tokens };
}

/** Fills in the address and the name from the identity if the account has none. */
async function complete(deps: Deps, unit: Unit, login: ExternalLogin, account: UserRecord, isFree: boolean) {
  const { userChanges } = deps;
  const { project } = login.call;
  const { email, emailVerified, name } = login.profile;
  const named = account.name === '' && name !== '' ? await userChanges.rename(unit, project, account, name) : account;
  const takes = named.email === null && email !== null && emailVerified && isFree;
  return confirm(deps, unit, login, takes ? await userChanges.changeEmail(unit, project, named, email) : named);
}

/** Marks the account's address as verified if the provider has verified the same address. */
async function confirm({ users }: Deps, unit: Unit, { call, profile }: ExternalLogin, account: UserRecord) {
  const isConfirmed = profile.emailVerified && profile.email !== null && profile.email === account.email;
  return isConfirmed ? users.markVerified(unit, call.project.id, account, 'email') : account;
}

async function firstLogin(deps: Deps, unit: Unit, login: ExternalLogin): Promise<Resolved> {
  const { users, identities } = deps;
  const { project } = login.call;
  const { email, emailVerified } = login.profile;
  const holder = email === null ? undefined : await users.findByEmail(unit, project.id, email);
  const account =
    email !== null && emailVerified ? await byAddress(deps, unit, login, email) : await newAccount(deps, unit, login);
  if (!account.status) throw refuse(unit, login, 'blocked', account, 'user_blocked');
  const identity = await link(deps, unit, login, account);
  // Claiming an address that was not verified before already sends a mail of its own.
  const wasTheirs = holder?.id === account.id && holder.emailVerification;
  if (wasTheirs) await identities.tellLinked(unit, project, account, identity);
  return { account, identity, session: undefined };
}

/** The account with a verified address. An account that has the address without proof loses it. */
function byAddress({ claims }: Deps, unit: Unit, { call, profile }: ExternalLogin, value: string) {
  const { project, actor, request } = call;
  const newcomer = { id: uniqueId, name: profile.name, locale: request.locale };
  const claim = () => claims.claim(unit, project, { contact: 'email', value, actor, newcomer });
  return claim().catch((error: unknown) => {
    // A parallel login or sign-up may have created a user with this address.
    if (error instanceof Failure && error.type === 'user_already_exists') return claim();
    throw error;
  });
}

/**
 * Creates an account. An address that the provider has not verified counts as unverified, as in any sign-up, and gives no access to an
 * existing account.
 */
async function newAccount({ users }: Deps, unit: Unit, login: ExternalLogin): Promise<UserRecord> {
  const { project, request } = login.call;
  const { email, name } = login.profile;
  const isTaken = email !== null && (await users.findByEmail(unit, project.id, email)) !== undefined;
  if (isTaken && !project.settings['signup.hideExisting'])
    throw refuse(unit, login, 'address not verified', undefined, 'general_bad_request', { message: unverified });
  const input = { id: uniqueId, name, email: isTaken ? null : email, passwordHash: null, locale: request.locale };
  return users.create(unit, project.id, input);
}

/** Logs in a user whose identity is already known. */
async function logInLinkedUser(deps: Deps, unit: Unit, login: ExternalLogin, known: Identity): Promise<Resolved> {
  const { users, identities } = deps;
  const { project } = login.call;
  const account = await users.lockById(unit, project.id, known.userId);
  if (account === undefined) throw new IdentityTaken();
  if (!account.status) throw refuse(unit, login, 'blocked', account, 'user_blocked');
  const identity = await identities.renew(unit, project, known, proofOf(login));
  return { account: await confirm(deps, unit, login, account), identity, session: undefined };
}
