import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Factors } from '../factors/index.js';
import type { Sessions } from '../sessions/index.js';
import type { Users } from '../users/index.js';

interface Deps {
  readonly users: Users;
  readonly factors: Factors;
  readonly sessions: Sessions;
}

/** Changes of a user's second factors; each ends the logins that wait for a factor. */
export function createSecondFactorService({ users, factors, sessions }: Deps) {
  /** Turns the second factor on or off. */
  const turn = async (unit: Unit, project: Project, account: UserRecord, mfa: boolean): Promise<UserRecord> => {
    if (account.mfa === mfa) return account;
    const changed = await users.update(unit, project.id, account, { mfa });
    const userId = account.id;
    unit.record(mfa ? 'mfaEnabled' : 'mfaDisabled', { resource: `users/${userId}`, userId, payload: { userId } });
    if (!mfa) factors.notify(unit, project, account, 'factor-removed', '');
    await sessions.dropPending(unit, project, userId);
    return changed;
  };
  /** Ends an enrolment by a code. Refuses a wrong one. */
  const confirmTotp = async (
    unit: Unit,
    project: Project,
    account: UserRecord,
    session: Session,
    otp: string,
  ): Promise<void> => {
    await factors.confirmTotp(unit, project, account, otp);
    await sessions.noteFactor(unit, project, session, 'totp');
    await sessions.dropPending(unit, project, account.id);
  };
  const issueRecoveryCodes = async (unit: Unit, project: Project, account: UserRecord): Promise<string[]> => {
    const codes = await factors.issueRecoveryCodes(unit, project, account);
    factors.notify(unit, project, account, 'factor-added', 'recoverycode');
    await sessions.dropPending(unit, project, account.id);
    return codes;
  };

  return {
    turn,
    confirmTotp,
    /** The same, turns the second factor on and makes recovery codes. */
    confirmTotpAndTurnOn: async (
      unit: Unit,
      project: Project,
      account: UserRecord,
      session: Session,
      otp: string,
    ): Promise<string[]> => {
      await confirmTotp(unit, project, account, session, otp);
      await turn(unit, project, account, true);
      return factors.issueRecoveryCodes(unit, project, account);
    },
    /** Throws Failure `user_authenticator_not_found`. */
    removeTotp: async (unit: Unit, project: Project, account: UserRecord): Promise<void> => {
      if (!(await factors.removeTotp(unit, project, account))) throw new Failure('user_authenticator_not_found');
      await sessions.dropPending(unit, project, account.id);
    },
    /** Makes recovery codes where none are left. Throws Failure `user_recovery_codes_already_exists`. */
    createRecoveryCodes: async (unit: Unit, project: Project, account: UserRecord): Promise<string[]> => {
      if (((await factors.recoveryCodesLeft(unit, project, account)) ?? 0) > 0)
        throw new Failure('user_recovery_codes_already_exists');
      return issueRecoveryCodes(unit, project, account);
    },
    /** Makes recovery codes in the place of those before. Throws Failure `user_recovery_codes_not_found`. */
    replaceRecoveryCodes: async (unit: Unit, project: Project, account: UserRecord): Promise<string[]> => {
      if ((await factors.recoveryCodesLeft(unit, project, account)) === undefined)
        throw new Failure('user_recovery_codes_not_found');
      return issueRecoveryCodes(unit, project, account);
    },
    /** Takes every second factor of our own from a user who has lost them, and turns the second factor off. */
    reset: async (unit: Unit, project: Project, account: UserRecord): Promise<UserRecord> => {
      const isChanged = await factors.removeAll(unit, project, account);
      // One mail for all of it.
      if (isChanged) factors.notify(unit, project, account, 'factor-removed', '');
      await sessions.dropPending(unit, project, account.id);
      return (await users.lockById(unit, project.id, account.id)) ?? account;
    },
  };
}

/** The service of second factors. */
export type SecondFactorService = ReturnType<typeof createSecondFactorService>;
