import type { Account } from '#src/contract/account.js';
import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { logPage } from '#src/contract/limits.js';
import { by, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import { WithSession } from '#src/contract/with-session.js';
import { instantOf } from '#src/platform/clock.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import { type Accounts, isAnonymous, toUser } from '../accounts/index.js';
import { type ActivityLog, toLog } from '../activity/index.js';
import { type Limits, proofKey } from '../limits/index.js';
import { parsePage } from '../lists/index.js';
import type { Sessions } from '../sessions/index.js';
import type { Users } from '../users/index.js';
import { selfServiceApi } from './api.js';

interface Doors {
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly users: Users;
  readonly limits: Limits;
  readonly activity: ActivityLog;
}

/** What users do with their own account. */
export function createSelfService({ db, clock, random }: Pick<Platform, 'db' | 'clock' | 'random'>, doors: Doors) {
  const { accounts, sessions, users, limits, activity } = doors;
  type UserCall = {
    readonly project: Project;
    readonly actor: User;
    readonly request: { readonly id: string; readonly ip: string };
  };

  /** Wrong guesses of the current password count like failed logins. */
  const provePassword = async (call: UserCall, password: string): Promise<void> => {
    const { project, actor, request } = call;
    const key = { account: proofKey(actor.id), address: request.ip };
    await db.work(by(call), (unit) => limits.demand(unit, 'login', key));
    const { fits } = await accounts.verifyPassword(project, actor.account, password);
    if (!fits) throw new Failure('user_invalid_credentials');
    await db.work(by(call), (unit) => limits.forgive(unit, 'login', key));
  };

  /** By the current password; who has none yet by a fresh login. */
  const proveSelf = async (call: UserCall, password: string): Promise<void> => {
    if (call.actor.account.passwordHash === null) sessions.demandFresh(call.actor.session);
    else await provePassword(call, password);
  };

  /** The caller's account as it is now, whom nobody else changes until the unit ends. */
  const held = async (unit: Unit, { project, actor }: UserCall): Promise<Account> => {
    const account = await accounts.hold(unit, project.id, actor.id);
    if (account === undefined) throw new Failure('general_unauthorized_scope');
    if (!account.status) throw new Failure('user_blocked');
    return account;
  };
  /** The same, for what rests on the password: a proof of one that was replaced meanwhile proves nothing. */
  const heldAsProved = async (unit: Unit, call: UserCall): Promise<Account> => {
    const account = await held(unit, call);
    if (account.passwordUpdate !== call.actor.account.passwordUpdate) throw new Failure('user_invalid_credentials');
    return account;
  };

  const operations = implement(selfServiceApi, {
    signUp: async (call) => {
      const { project, body } = call;
      const { email, password, name } = body;
      const given = { id: body.userId, email, password, name, locale: call.request.locale };
      try {
        return toUser(await users.signUp(by(call), project, given));
      } catch (error) {
        const hidden =
          error instanceof Failure && error.type === 'user_already_exists' && project.settings['signup.hideExisting'];
        if (!hidden) throw error;
        const now = instantOf(clock.now());
        return toUser(users.unborn({ ...given, id: given.id === uniqueId ? random.id() : given.id }, now, random.id()));
      }
    },
    get: ({ actor }) => toUser(actor.account),
    delete: async (call) => {
      sessions.demandFresh(call.actor.session);
      await db.work(by(call), async (unit) => users.remove(unit, call.project, await held(unit, call)));
    },
    updateName: async (call) =>
      toUser(
        await db.work(by(call), async (unit) =>
          users.rename(unit, call.project, await held(unit, call), call.body.name),
        ),
      ),
    updateEmail: async (call) => {
      const { project, actor, body } = call;
      const first = actor.account.passwordHash === null;
      if (!first) await provePassword(call, body.password);
      const hash = first ? await users.preparePassword(project, actor.account, body.email, body.password) : undefined;
      const { changed, renewed } = await db.work(by(call), async (unit) => {
        const account = await heldAsProved(unit, call);
        const changed = await users.changeEmail(unit, project, account, body.email, hash);
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
        await db.work(by(call), async (unit) =>
          users.changePhone(unit, call.project, await heldAsProved(unit, call), call.body.phone),
        ),
      );
    },
    updatePassword: async (call) => {
      const { project, actor, body } = call;
      await proveSelf(call, body.oldPassword);
      const hash = await users.preparePassword(project, actor.account, actor.account.email, body.password);
      return toUser(
        await db.work(by(call), async (unit) =>
          users.changePassword(unit, project, await heldAsProved(unit, call), hash, actor.session.id),
        ),
      );
    },
    getPrefs: ({ actor }) => ({ ...actor.account.prefs }),
    updatePrefs: async (call) =>
      toUser(
        await db.work(by(call), async (unit) =>
          users.changePrefs(unit, call.project, await held(unit, call), call.body.prefs),
        ),
      ),
    updateStatus: async (call) =>
      toUser(await db.work(by(call), async (unit) => users.block(unit, call.project, await held(unit, call)))),
    listLogs: async ({ project, actor, query }) => {
      const page = parsePage(query.queries, logPage);
      const found = await activity.list(db, project.id, actor.id, page);
      const total = query.total ? await activity.count(db, project.id, actor.id) : 0;
      return { total, logs: found.map((entry) => toLog(actor.account, entry)) };
    },
    // No way in makes identities yet.
    listIdentities: () => ({ total: 0, identities: [] }),
    deleteIdentity: () => {
      throw new Failure('user_identity_not_found');
    },
  });
  return { operations };
}
