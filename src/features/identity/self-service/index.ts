import { Failure } from '#src/contract/errors.js';
import { logPage } from '#src/contract/limits.js';
import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import type { UserRecord } from '#src/contract/user.js';
import { WithSession } from '#src/contract/with-session.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { listRequestOf, parsePage } from '#src/platform/list-query/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { type ActivityLog, toLog } from '../../events/index.js';
import { type Limits, proofKey } from '../../installation/index.js';
import { type Identities, toIdentity } from '../identities/index.js';
import { type Passkeys, requireMayAddLogin } from '../passkeys/index.js';
import { type CallByUser, type Sessions, workOnCaller } from '../sessions/index.js';
import { isAnonymous, toUser, type UserChanges, type Users } from '../users/index.js';
import { selfServiceApi } from './api.js';

interface Deps extends Pick<Runtime, 'db'> {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly passkeys: Passkeys;
  readonly userChanges: UserChanges;
  readonly limits: Limits;
  readonly activity: ActivityLog;
  readonly identities: Identities;
}

type Api = typeof selfServiceApi;

/** Creates the operations of users on their own account. */
export function createSelfService(deps: Deps) {
  const { userChanges } = deps;
  const operations = implement(selfServiceApi, {
    ...bind(deps, { signUp, delete: remove, updateEmail, updatePassword, listLogs, listIdentities, deleteIdentity }),
    get: ({ actor }) => toUser(actor.account),
    updateName: (call) =>
      changed(deps, call, (unit, account) => userChanges.rename(unit, call.project, account, call.body.name)),
    updatePhone: async (call) => {
      const { phone, password } = call.body;
      await proveSelf(deps, call, password);
      return toUser(
        await setContact(deps, call, { phone }, (unit, account) =>
          userChanges.changePhone(unit, call.project, account, phone),
        ),
      );
    },
    getPrefs: ({ actor }) => ({ ...actor.account.prefs }),
    updatePrefs: (call) =>
      changed(deps, call, (unit, account) => userChanges.changePrefs(unit, call.project, account, call.body.prefs)),
    updateStatus: (call) => changed(deps, call, (unit, account) => userChanges.block(unit, call.project, account)),
  });
  return { operations };
}

async function signUp({ userChanges }: Deps, call: Call<Api['signUp']>) {
  const { project, body } = call;
  const { email, password, name } = body;
  const { locale, ip: address } = call.request;
  const input = { id: body.userId, email, password, name, locale, address };
  const isHidden = project.settings['signup.hideExisting'];
  return toUser(await userChanges[isHidden ? 'signUpHidden' : 'signUp'](auditContextOf(call), project, input));
}

async function changed(deps: Deps, call: CallByUser, change: (unit: Unit, account: UserRecord) => Promise<UserRecord>) {
  return toUser(await workOnCaller(deps, call, change));
}

async function remove(deps: Deps, call: Call<Api['delete']>): Promise<void> {
  deps.sessions.requireFresh(call.actor.session);
  await workOnCaller(deps, call, (unit, account) => deps.userChanges.remove(unit, call.project, account));
}

async function updateEmail(deps: Deps, call: Call<Api['updateEmail']>) {
  const { db, sessions, userChanges } = deps;
  const { project, actor, body } = call;
  const first = actor.account.passwordHash === null;
  await requireMaySet(deps, db, call, actor.account);
  if (!first) await provePassword(deps, call, body.password);
  const hash = first
    ? await userChanges.preparePassword(project, actor.account, { ...body, address: call.request.ip })
    : undefined;
  const { changed, renewed } = await setContact(deps, call, { email: body.email }, async (unit, account) => {
    await requireMaySet(deps, unit, call, account);
    const changed = await userChanges.changeEmail(unit, project, account, body.email, hash);
    return {
      changed,
      renewed: isAnonymous(account) ? await sessions.renew(unit, project, actor.session) : undefined,
    };
  });
  if (renewed === undefined) return toUser(changed);
  return new WithSession(toUser(changed), { secret: renewed.secret, expire: renewed.session.expire });
}

/**
 * Without a password, an account needs a recent login to get its first one or another address, unless it is an anonymous account that
 * becomes a real one.
 */
async function requireMaySet(deps: Deps, reader: Reader, call: CallByUser, account: UserRecord): Promise<void> {
  if (account.passwordHash === null) await requireMayAddLogin(deps, reader, call, account);
}

/** Requires the current password, or a recent login if the account has none. */
async function proveSelf(deps: Deps, call: CallByUser, password: string): Promise<void> {
  if (call.actor.account.passwordHash === null) deps.sessions.requireFresh(call.actor.session);
  else await provePassword(deps, call, password);
}

/** Wrong guesses of the current password count as failed logins. */
async function provePassword({ db, users, limits }: Deps, call: CallByUser, password: string): Promise<void> {
  const { project, actor, request } = call;
  const key = { account: proofKey(actor.id), address: request.ip };
  await limits.attempt(auditContextOf(call), 'login', key, async () => {
    const whose = { email: actor.account.email ?? '', user: actor.account };
    const { fits } = await users.verifyPassword(project, whose, password, request.ip);
    if (!fits) throw new Failure('user_invalid_credentials');
    await db.work(auditContextOf(call), (unit) => limits.forgive(unit, 'login', key));
  });
}

/**
 * Sets the caller's address or number. The response reveals whether another user has the contact, so each attempt counts like a sign-up
 * before the lookup. There are two exceptions: the caller already has the contact, or the contact was free and all previous contacts of the
 * account are proved. To guess on, an attacker would have to prove each free contact that it finds.
 */
function setContact<T>(
  deps: Deps,
  call: CallByUser,
  given: { readonly email: string } | { readonly phone: string },
  set: (unit: Unit, account: UserRecord) => Promise<T>,
): Promise<T> {
  const { db, limits } = deps;
  const [by, key] = [auditContextOf(call), { address: call.request.ip }];
  const { account: known } = call.actor;
  const isOwn = 'email' in given ? given.email === known.email : given.phone === known.phone;
  const change = () =>
    db.work(by, async (unit) => {
      const account = await holdAsProved(deps, unit, call);
      const result = await set(unit, account);
      if (!isOwn && isProved(account)) await limits.forgive(unit, 'signup', key);
      return result;
    });
  return isOwn ? change() : limits.attempt(by, 'signup', key, change);
}

/** The caller's current account, locked. Throws if the password has changed since it was verified. */
async function holdAsProved({ sessions }: Deps, unit: Unit, { project, actor }: CallByUser): Promise<UserRecord> {
  const account = await sessions.holdCaller(unit, project, actor);
  if (account.passwordUpdate !== actor.account.passwordUpdate) throw new Failure('user_invalid_credentials');
  return account;
}

/** True if the user has an address or a number, and each of them is verified or vouched for. */
function isProved({ email, phone, ...account }: UserRecord): boolean {
  if (email === null && phone === null) return false;
  const isEmailProved = email === null || account.emailVerification || account.emailVouched;
  return isEmailProved && (phone === null || account.phoneVerification || account.phoneVouched);
}

async function updatePassword(deps: Deps, call: Call<Api['updatePassword']>) {
  const { db, userChanges } = deps;
  const { project, actor, body } = call;
  await proveSelf(deps, call, body.oldPassword);
  const given = { email: actor.account.email, password: body.password, address: call.request.ip };
  const hash = await userChanges.preparePassword(project, actor.account, given);
  return toUser(
    await db.work(auditContextOf(call), async (unit) =>
      userChanges.changePassword(unit, project, await holdAsProved(deps, unit, call), hash, actor.session.id),
    ),
  );
}

async function listLogs({ db, activity }: Deps, { project, actor, query }: Call<Api['listLogs']>) {
  const found = await activity.list(db, project.id, actor.id, parsePage(query.queries, logPage));
  const total = query.total ? await activity.count(db, project.id, actor.id) : 0;
  return { total, logs: found.map((entry) => toLog(actor.account, entry)) };
}

async function listIdentities({ identities }: Deps, { project, actor, query, request }: Call<Api['listIdentities']>) {
  const { total, identities: found } = await identities.list(project, listRequestOf({ query, request }), actor.id);
  return { total, identities: found.map((one) => toIdentity(one, identities.tokensOf(project, one))) };
}

async function deleteIdentity(deps: Deps, call: Call<Api['deleteIdentity']>): Promise<void> {
  const { sessions, identities } = deps;
  const { project, actor, params } = call;
  sessions.requireFresh(actor.session);
  await workOnCaller(deps, call, async (unit, account) => {
    const identity = await identities.findById(unit, project, params.identityId);
    if (identity?.userId !== account.id) throw new Failure('user_identity_not_found');
    await identities.unlink(unit, project, account, identity);
    await sessions.closeOfIdentity(unit, project, identity, actor.session.id);
  });
}
