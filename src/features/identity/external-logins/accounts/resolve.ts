import type { ErrorType, FailureOptions } from '#src/contract/errors.js';
import { Failure, sessionInvalid } from '#src/contract/errors.js';
import type { Session } from '#src/contract/session.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Claims } from '../../claims/index.js';
import type { Identities, Identity, IdentityProof } from '../../identities/index.js';
import type { Sessions } from '../../sessions/index.js';
import type { UserChanges, Users } from '../../users/index.js';
import type { BrowserCall, Transaction } from '../service.js';

/** What an identity provider says of somebody who has logged in there. */
export interface ExternalProfile extends Omit<IdentityProof, 'provider' | 'providerEmail'> {
  /** In lower case; null where the provider names none. */
  readonly email: string | null;
  /** Whether the provider has seen a proof that the address is the user's. */
  readonly emailVerified: boolean;
  readonly name: string;
}

/** Whose login it is. */
export interface Resolved {
  readonly account: UserRecord;
  readonly identity: Identity;
  /** The session of the account that began it. */
  readonly session: Session | undefined;
}

/** Somebody else has got the identity meanwhile, by a login at the same moment: the unit starts over and finds it. */
export class IdentityTaken extends Error {}

interface Deps {
  readonly users: Users;
  readonly userChanges: UserChanges;
  readonly claims: Claims;
  readonly identities: Identities;
  readonly sessions: Sessions;
}

const unverified =
  'Another account has the e-mail address, and the login provider has not verified that it is yours. Log in to that account another way.';
const foreign = 'Another user has this identity or its e-mail address.';

/** Finds or makes the account of somebody who has logged in at an identity provider; nobody else changes it until the unit ends. */
export function createAccountResolver({ users, userChanges, claims, identities, sessions }: Deps) {
  /** Leaves a record of the refused login. */
  const refuse = (
    unit: Unit,
    { call, transaction }: Login,
    reason: string,
    account: UserRecord | undefined,
    ...failure: [ErrorType, FailureOptions?]
  ): never => {
    const payload = { method: transaction.provider, email: account?.email ?? '', ip: call.request.ip, reason };
    const resource = account === undefined ? 'users' : `users/${account.id}`;
    unit.record('loginFailed', { resource, payload, ...(account === undefined ? {} : { userId: account.id }) });
    throw unit.refuse(...failure);
  };
  const proofOf = ({ transaction, profile }: Login): IdentityProof => ({
    provider: transaction.provider,
    providerUid: profile.providerUid,
    providerEmail: profile.email ?? '',
    tokens: profile.tokens,
  });
  const link = async (unit: Unit, login: Login, { id }: UserRecord): Promise<Identity> => {
    const linked = await identities.link(unit, login.call.project, id, proofOf(login));
    if (linked === undefined) throw new IdentityTaken();
    return linked;
  };
  /** The provider proves the address that the owner of the account has given it. */
  const confirm = (unit: Unit, { call, profile }: Login, account: UserRecord): Promise<UserRecord> =>
    profile.emailVerified && profile.email !== null && profile.email === account.email
      ? users.markVerified(unit, call.project.id, account, 'email')
      : Promise.resolve(account);

  /** Somebody who has logged in this way before. */
  const enter = async (unit: Unit, login: Login, known: Identity): Promise<Resolved> => {
    const { project } = login.call;
    const account = await users.lockById(unit, project.id, known.userId);
    if (account === undefined) throw new IdentityTaken();
    if (!account.status) throw refuse(unit, login, 'blocked', account, 'user_blocked');
    const identity = await identities.renew(unit, project, known, proofOf(login));
    return { account: await confirm(unit, login, account), identity, session: undefined };
  };
  /** The account of a verified address; who has claimed it without a proof gives way. */
  const byAddress = async (unit: Unit, { call, profile }: Login, value: string): Promise<UserRecord> => {
    const { project, actor, request } = call;
    const newcomer = { id: uniqueId, name: profile.name, locale: request.locale };
    const claim = () => claims.claim(unit, project, { contact: 'email', value, actor, newcomer });
    const account = await claim().catch((error: unknown) => {
      // A parallel login, or a sign-up, may just have made a user of this address.
      if (error instanceof Failure && error.type === 'user_already_exists') return claim();
      throw error;
    });
    if (account === undefined) throw new TypeError('a claim that may make an account returns one');
    return account;
  };
  /** A new account; an address that the provider has not verified is a claim like that of any sign-up, and leads to no other account. */
  const newAccount = async (unit: Unit, login: Login): Promise<UserRecord> => {
    const { project, request } = login.call;
    const { email, name } = login.profile;
    const isTaken = email !== null && (await users.findByEmail(unit, project.id, email)) !== undefined;
    if (isTaken && !project.settings['signup.hideExisting'])
      throw refuse(unit, login, 'address not verified', undefined, 'general_bad_request', { message: unverified });
    const input = { id: uniqueId, name, email: isTaken ? null : email, passwordHash: null, locale: request.locale };
    return users.create(unit, project.id, input);
  };
  const meet = async (unit: Unit, login: Login): Promise<Resolved> => {
    const { call, profile } = login;
    const { email, emailVerified } = profile;
    const holder = email === null ? undefined : await users.findByEmail(unit, call.project.id, email);
    const account =
      email !== null && emailVerified ? await byAddress(unit, login, email) : await newAccount(unit, login);
    if (!account.status) throw refuse(unit, login, 'blocked', account, 'user_blocked');
    const identity = await link(unit, login, account);
    // The claim of an address that was not proved before has a mail of its own.
    const wasTheirs = holder?.id === account.id && holder.emailVerification;
    if (wasTheirs) await identities.tellLinked(unit, call.project, account, identity);
    return { account, identity, session: undefined };
  };
  /** The address and the name of the identity, where the account has none. */
  const complete = async (unit: Unit, login: Login, account: UserRecord, isFree: boolean): Promise<UserRecord> => {
    const { project } = login.call;
    const { email, emailVerified, name } = login.profile;
    const named = account.name === '' && name !== '' ? await userChanges.rename(unit, project, account, name) : account;
    const takes = named.email === null && email !== null && emailVerified && isFree;
    return confirm(unit, login, takes ? await userChanges.changeEmail(unit, project, named, email) : named);
  };
  /** The user whose session began the login; that must still be open. */
  const attach = async (unit: Unit, login: Login, userId: string, known: Identity | undefined): Promise<Resolved> => {
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
        ? await link(unit, login, account)
        : await identities.renew(unit, project, known, proofOf(login));
    if (known === undefined) await identities.tellLinked(unit, project, account, identity);
    return { account: await complete(unit, login, account, !isForeign), identity, session };
  };

  return async (unit: Unit, login: Login): Promise<Resolved> => {
    const { call, transaction, profile } = login;
    const known = await identities.find(unit, call.project, transaction.provider, profile.providerUid);
    if (transaction.userId !== null) return attach(unit, login, transaction.userId, known);
    return known === undefined ? meet(unit, login) : enter(unit, login, known);
  };
}

/** A login that an identity provider has answered. */
export interface Login {
  readonly call: BrowserCall;
  readonly transaction: Pick<Transaction, 'provider' | 'flow' | 'success' | 'userId' | 'sessionId'>;
  readonly profile: ExternalProfile;
}
