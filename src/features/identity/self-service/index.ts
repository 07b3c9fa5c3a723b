import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { logPage } from '#src/contract/limits.js';
import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import { WithSession } from '#src/contract/with-session.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { listRequestOf, parsePage } from '#src/platform/list-query/index.js';
import { type ActivityLog, toLog } from '../../events/index.js';
import { type Limits, proofKey } from '../../installation/index.js';
import { type Identities, toIdentity } from '../identities/index.js';
import type { Passkeys } from '../passkeys/index.js';
import type { Sessions } from '../sessions/index.js';
import { isAnonymous, toUser, type UserChanges, type Users } from '../users/index.js';
import { selfServiceApi } from './api.js';

interface Deps {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly passkeys: Passkeys;
  readonly userChanges: UserChanges;
  readonly limits: Limits;
  readonly activity: ActivityLog;
  readonly identities: Identities;
}

/** A call of a signed-in user. */
interface UserCall {
  readonly project: Project;
  readonly actor: User;
  readonly request: { readonly id: string; readonly ip: string };
}

/** What users do with their own account. */
export function createSelfService({ db }: Pick<Runtime, 'db'>, deps: Deps) {
  const { users, sessions, passkeys, userChanges, limits, activity, identities } = deps;
  /** Wrong guesses of the current password count like failed logins. */
  const provePassword = async (call: UserCall, password: string): Promise<void> => {
    const { project, actor, request } = call;
    const key = { account: proofKey(actor.id), address: request.ip };
    await limits.attempt(auditContextOf(call), 'login', key, async () => {
      const whose = { email: actor.account.email ?? '', user: actor.account };
      const { fits } = await users.verifyPassword(project, whose, password, request.ip);
      if (!fits) throw new Failure('user_invalid_credentials');
      await db.work(auditContextOf(call), (unit) => limits.forgive(unit, 'login', key));
    });
  };

  /** By the current password; who has none yet by a fresh login. */
  const proveSelf = async (call: UserCall, password: string): Promise<void> => {
    if (call.actor.account.passwordHash === null) sessions.demandFresh(call.actor.session);
    else await provePassword(call, password);
  };

  /** An account without a password gets its first one, and another address, by a fresh login only; not so the anonymous one that becomes a real one. */
  const demandMaySet = async (reader: Reader, { project, actor }: UserCall, account: UserRecord): Promise<void> => {
    if (account.passwordHash !== null) return;
    const isReachable =
      (await passkeys.leadsTo(reader, project, account)) || (await identities.hasAny(reader, project, account.id));
    if (!isAnonymous(account) || isReachable) sessions.demandFresh(actor.session);
  };

  /** The caller's account as it is now, whom nobody else changes until the unit ends. */
  const held = (unit: Unit, { project, actor }: UserCall): Promise<UserRecord> =>
    sessions.holdCaller(unit, project, actor);
  /** The same, for what rests on the password: a proof of one that was replaced meanwhile proves nothing. */
  const heldAsProved = async (unit: Unit, call: UserCall): Promise<UserRecord> => {
    const account = await held(unit, call);
    if (account.passwordUpdate !== call.actor.account.passwordUpdate) throw new Failure('user_invalid_credentials');
    return account;
  };

  const taking = createTaking({ db }, limits, heldAsProved);
  const operations = implement(selfServiceApi, {
    signUp: async (call) => {
      const { project, body } = call;
      const { email, password, name } = body;
      const { locale, ip: address } = call.request;
      const input = { id: body.userId, email, password, name, locale, address };
      const isHidden = project.settings['signup.hideExisting'];
      return toUser(await userChanges[isHidden ? 'signUpHidden' : 'signUp'](auditContextOf(call), project, input));
    },
    get: ({ actor }) => toUser(actor.account),
    delete: async (call) => {
      sessions.demandFresh(call.actor.session);
      await db.work(auditContextOf(call), async (unit) =>
        userChanges.remove(unit, call.project, await held(unit, call)),
      );
    },
    updateName: async (call) =>
      toUser(
        await db.work(auditContextOf(call), async (unit) =>
          userChanges.rename(unit, call.project, await held(unit, call), call.body.name),
        ),
      ),
    updateEmail: async (call) => {
      const { project, actor, body } = call;
      const first = actor.account.passwordHash === null;
      await demandMaySet(db, call, actor.account);
      if (!first) await provePassword(call, body.password);
      const hash = first
        ? await userChanges.preparePassword(project, actor.account, { ...body, address: call.request.ip })
        : undefined;
      const { changed, renewed } = await taking(call, { email: body.email }, async (unit, account) => {
        await demandMaySet(unit, call, account);
        const changed = await userChanges.changeEmail(unit, project, account, body.email, hash);
        return {
          changed,
          renewed: isAnonymous(account) ? await sessions.renew(unit, project, actor.session) : undefined,
        };
      });
      if (renewed === undefined) return toUser(changed);
      return new WithSession(toUser(changed), { secret: renewed.secret, expire: renewed.session.expire });
    },
    updatePhone: async (call) => {
      await proveSelf(call, call.body.password);
      return toUser(
        await taking(call, { phone: call.body.phone }, (unit, account) =>
          userChanges.changePhone(unit, call.project, account, call.body.phone),
        ),
      );
    },
    updatePassword: async (call) => {
      const { project, actor, body } = call;
      await proveSelf(call, body.oldPassword);
      const { email } = actor.account;
      const given = { email, password: body.password, address: call.request.ip };
      const hash = await userChanges.preparePassword(project, actor.account, given);
      return toUser(
        await db.work(auditContextOf(call), async (unit) =>
          userChanges.changePassword(unit, project, await heldAsProved(unit, call), hash, actor.session.id),
        ),
      );
    },
    getPrefs: ({ actor }) => ({ ...actor.account.prefs }),
    updatePrefs: async (call) =>
      toUser(
        await db.work(auditContextOf(call), async (unit) =>
          userChanges.changePrefs(unit, call.project, await held(unit, call), call.body.prefs),
        ),
      ),
    updateStatus: async (call) =>
      toUser(
        await db.work(auditContextOf(call), async (unit) =>
          userChanges.block(unit, call.project, await held(unit, call)),
        ),
      ),
    listLogs: async ({ project, actor, query }) => {
      const page = parsePage(query.queries, logPage);
      const found = await activity.list(db, project.id, actor.id, page);
      const total = query.total ? await activity.count(db, project.id, actor.id) : 0;
      return { total, logs: found.map((entry) => toLog(actor.account, entry)) };
    },
    listIdentities: async ({ project, actor, query, request }) => {
      const { total, identities: found } = await identities.list(project, listRequestOf({ query, request }), actor.id);
      return { total, identities: found.map((one) => toIdentity(one, identities.tokensOf(project, one))) };
    },
    deleteIdentity: async (call) => {
      const { project, actor, params } = call;
      sessions.demandFresh(actor.session);
      await db.work(auditContextOf(call), async (unit) => {
        const account = await held(unit, call);
        const identity = await identities.findById(unit, project, params.identityId);
        if (identity?.userId !== account.id) throw new Failure('user_identity_not_found');
        await identities.unlink(unit, project, account, identity);
        await sessions.closeOfIdentity(unit, project, identity, actor.session.id);
      });
    },
  });
  return { operations };
}

/** Whether a user has an address or a number, and none that nobody has proved or vouched for. */
function isProved({ email, phone, ...account }: UserRecord): boolean {
  if (email === null && phone === null) return false;
  const isEmailProved = email === null || account.emailVerification || account.emailVouched;
  return isEmailProved && (phone === null || account.phoneVerification || account.phoneVouched);
}

/**
 * Creates what lets a caller take an address or a number. The answer tells whether somebody has it, so it is counted like a sign-up before it
 * is looked for. It is not counted where the caller has it already, nor where it was free and all that the account had before is proved: a
 * guesser would have to prove one for each free one that it finds.
 */
function createTaking(
  { db }: Pick<Runtime, 'db'>,
  limits: Limits,
  held: (unit: Unit, call: UserCall) => Promise<UserRecord>,
) {
  return <T>(
    call: UserCall,
    given: { readonly email: string } | { readonly phone: string },
    take: (unit: Unit, account: UserRecord) => Promise<T>,
  ): Promise<T> => {
    const [by, key] = [auditContextOf(call), { address: call.request.ip }];
    const { account: known } = call.actor;
    const isOwn = 'email' in given ? given.email === known.email : given.phone === known.phone;
    const change = () =>
      db.work(by, async (unit) => {
        const account = await held(unit, call);
        const taken = await take(unit, account);
        if (!isOwn && isProved(account)) await limits.forgive(unit, 'signup', key);
        return taken;
      });
    return isOwn ? change() : limits.attempt(by, 'signup', key, change);
  };
}
