import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Factors } from '../factors/index.js';
import type { Sessions } from '../sessions/index.js';
import { accountRecord, type Users } from '../users/index.js';

interface Deps {
  readonly users: Users;
  readonly factors: Factors;
  readonly sessions: Sessions;
}

/** The service for changing second factors. */
export interface SecondFactorService {
  turn(unit: Unit, project: Project, account: UserRecord, mfa: boolean): Promise<UserRecord>;
  /** Completes an enrolment with a code. Refuses a wrong code. */
  confirmTotp(unit: Unit, project: Project, account: UserRecord, session: Session, otp: string): Promise<void>;
  /** `confirmTotp`, then turns the second factor on and creates recovery codes. */
  confirmTotpAndTurnOn(
    unit: Unit,
    project: Project,
    account: UserRecord,
    session: Session,
    otp: string,
  ): Promise<string[]>;
  /** Throws Failure `user_authenticator_not_found`. */
  removeTotp(unit: Unit, project: Project, account: UserRecord): Promise<void>;
  /** Creates recovery codes if none are left. Throws Failure `user_recovery_codes_already_exists`. */
  createRecoveryCodes(unit: Unit, project: Project, account: UserRecord): Promise<string[]>;
  /** Creates recovery codes that replace the previous ones. Throws Failure `user_recovery_codes_not_found`. */
  replaceRecoveryCodes(unit: Unit, project: Project, account: UserRecord): Promise<string[]>;
  /** Removes the authenticator and recovery codes of a user who has lost them, and turns the second factor off. */
  reset(unit: Unit, project: Project, account: UserRecord): Promise<UserRecord>;
}

/** Changes to a user's second factors. Each change ends the user's pending logins. */
export function createSecondFactorService({ users, factors, sessions }: Deps): SecondFactorService {
  const turn: SecondFactorService['turn'] = async (unit, project, account, mfa) => {
    if (account.mfa === mfa) return account;
    const changed = await users.update(unit, project.id, account, { mfa });
    unit.record(mfa ? 'mfaEnabled' : 'mfaDisabled', accountRecord(account.id));
    if (!mfa) factors.notify(unit, project, account, 'factor-removed', '');
    await sessions.dropPending(unit, project, account.id);
    return changed;
  };
  const confirmTotp: SecondFactorService['confirmTotp'] = async (unit, project, account, session, otp) => {
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
    confirmTotpAndTurnOn: async (unit, project, account, session, otp) => {
      await confirmTotp(unit, project, account, session, otp);
      await turn(unit, project, account, true);
      return factors.issueRecoveryCodes(unit, project, account);
    },
    removeTotp: async (unit, project, account) => {
      if (!(await factors.removeTotp(unit, project, account))) throw new Failure('user_authenticator_not_found');
      await sessions.dropPending(unit, project, account.id);
    },
    createRecoveryCodes: async (unit, project, account) => {
      if (((await factors.recoveryCodesLeft(unit, project, account)) ?? 0) > 0)
        throw new Failure('user_recovery_codes_already_exists');
      return issueRecoveryCodes(unit, project, account);
    },
    replaceRecoveryCodes: async (unit, project, account) => {
      if ((await factors.recoveryCodesLeft(unit, project, account)) === undefined)
        throw new Failure('user_recovery_codes_not_found');
      return issueRecoveryCodes(unit, project, account);
    },
    reset: async (unit, project, account) => {
      const isChanged = await factors.removeAll(unit, project, account);
      // One mail for all removed factors.
      if (isChanged) factors.notify(unit, project, account, 'factor-removed', '');
      await sessions.dropPending(unit, project, account.id);
      return (await users.lockById(unit, project.id, account.id)) ?? account;
    },
  };
}
