import { Failure } from '#src/contract/errors.js';
import { recoveryCodeCount } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Courier } from '../../installation/index.js';
import { type Limits, proofKey } from '../../installation/index.js';
import type { Users } from '../users/index.js';
import { createProof } from './codes/proof.js';
import { newRecoveryCode, readRecoveryCode } from './codes/recovery-codes.js';
import { createTotp } from './codes/totp.js';
import { createDemand, type SecondFactor, standingFactors, type UsableFactors } from './demand.js';
import { createFactorStore } from './store.js';

export { channelOf, type SecondFactor, secondFactors, type UsableFactors } from './demand.js';
export { sealedSeeds } from './store.js';

/** What an authenticator app is told. */
interface Enrolment {
  readonly secret: string;
  readonly uri: string;
}

type Deps = Pick<Runtime, 'sql' | 'clock' | 'random' | 'sealing'>;

/** The second factors of users: authenticator apps, recovery codes, proving one of them, and when a login needs one. */
export function createFactors(
  runtime: Deps,
  { users, limits, courier }: { users: Users; limits: Limits; courier: Courier },
) {
  const { sql, random } = runtime;
  const store = createFactorStore(sql);
  const totp = createTotp(random);
  const proof = createProof(runtime, { store, totp, limits });
  const recorded = ({ id: userId }: UserRecord) => ({ resource: `users/${userId}`, userId, payload: { userId } });
  const notify = (
    unit: Unit,
    project: Project,
    { id: userId, email, name, locale }: UserRecord,
    message: 'factor-added' | 'factor-removed',
    factor: string,
  ): void => {
    if (email === null) return;
    courier.send(unit, project, { message, to: email, userId, name, locale, variables: { factor, at: unit.now } });
  };

  const usable = async (reader: Reader, project: Project, account: UserRecord): Promise<UsableFactors> => {
    const authenticator = await proof.authenticator(reader, project, account.id);
    const left = await proof.codesLeft(reader, project, account.id);
    return {
      totp: authenticator?.verified === true,
      email: account.email !== null && account.emailVerification,
      phone: account.phone !== null && account.phoneVerification,
      recoverycode: (left ?? 0) > 0,
    };
  };
  const added = (unit: Unit, project: Project, account: UserRecord, factor: SecondFactor): void => {
    const { resource, userId } = recorded(account);
    unit.record('factorAdded', { resource, userId, payload: { userId, factor } });
    notify(unit, project, account, 'factor-added', factor);
  };
  /** Removes the authenticator; false where there was none. */
  const removeTotp = async (unit: Unit, project: Project, account: UserRecord): Promise<boolean> => {
    const row = await proof.authenticator(unit, project, account.id);
    if (row === undefined || (await unit.run(store.removeAuthenticator(project.id, account.id))) === 0) return false;
    if (!row.verified) return true;
    const { resource, userId } = recorded(account);
    unit.record('factorRemoved', { resource, userId, payload: { userId, factor: 'totp' } });
    notify(unit, project, account, 'factor-removed', 'totp');
    return true;
  };

  return {
    usable,
    /** Whether logins of the user are asked for a second factor. */
    isOn: async (reader: Reader, project: Project, account: UserRecord): Promise<boolean> =>
      account.mfa && standingFactors(await usable(reader, project, account)).length > 0,
    demand: createDemand(usable, proof),
    prove: proof.of,
    removeTotp,
    /** Begins the enrolment of an authenticator in the place of one that was never verified. Throws Failure `user_authenticator_already_verified`. */
    beginTotp: async (unit: Unit, project: Project, account: UserRecord): Promise<Enrolment> => {
      const secret = totp.newSeed();
      const row = { projectId: project.id, userId: account.id, type: 'totp', verified: false, lastStep: 0 };
      const sealedSeed = proof.seal(project, account.id, secret);
      if ((await unit.run(store.putAuthenticator({ ...row, sealedSeed, createdAt: unit.now }))) === 0)
        throw new Failure('user_authenticator_already_verified');
      return { secret, uri: totp.uri(secret, project.name, account.email ?? account.id) };
    },
    /** Ends the enrolment by a code. Refuses a wrong one. */
    confirmTotp: async (unit: Unit, project: Project, account: UserRecord, code: string): Promise<void> => {
      const row = await proof.authenticator(unit, project, account.id);
      if (row === undefined) throw new Failure('user_authenticator_not_found');
      if (row.verified) throw new Failure('user_authenticator_already_verified');
      if (!(await proof.ofEnrolment(unit, project, row, code))) throw unit.refuse('user_invalid_token');
      await unit.run(store.verifyAuthenticator(project.id, account.id));
      added(unit, project, account, 'totp');
    },
    /** Makes a set of recovery codes in the place of the one before. */
    issueRecoveryCodes: async (unit: Unit, project: Project, account: UserRecord): Promise<string[]> => {
      const codes = Array.from({ length: recoveryCodeCount }, () => newRecoveryCode(random));
      const rows = codes.map((code) => ({
        projectId: project.id,
        userId: account.id,
        digest: proof.digestOf(project.id, account.id, readRecoveryCode(code) ?? ''),
        usedAt: null,
        createdAt: unit.now,
      }));
      await unit.run(store.removeCodes(project.id, account.id));
      await unit.run(store.addCodes(rows));
      unit.record('recoveryCodesCreated', recorded(account));
      return codes;
    },
    /** How many recovery codes are left; undefined where the user never had any. */
    recoveryCodesLeft: (reader: Reader, project: Project, account: UserRecord): Promise<number | undefined> =>
      proof.codesLeft(reader, project, account.id),
    /** Removes every second factor and turns it off, without a mail; false where there was none. */
    removeAll: async (unit: Unit, project: Project, account: UserRecord): Promise<boolean> => {
      const { resource, userId, payload } = recorded(account);
      const row = await proof.authenticator(unit, project, userId);
      if (row !== undefined) await unit.run(store.removeAuthenticator(project.id, userId));
      if (row?.verified) unit.record('factorRemoved', { resource, userId, payload: { userId, factor: 'totp' } });
      const codes = await unit.run(store.removeCodes(project.id, userId));
      if (codes > 0) unit.record('recoveryCodesDeleted', { resource, userId, payload });
      if (account.mfa) {
        await users.update(unit, project.id, account, { mfa: false });
        unit.record('mfaDisabled', { resource, userId, payload });
      }
      await limits.forgive(unit, 'mfa', { account: proofKey(userId) });
      return row !== undefined || codes > 0 || account.mfa;
    },
    notify,
  };
}

/** The service of second factors. */
export type Factors = ReturnType<typeof createFactors>;
