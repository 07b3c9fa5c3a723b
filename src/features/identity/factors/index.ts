import { Failure, invalidParam } from '#src/contract/errors.js';
import { recoveryCodeCount } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { type Installation, proofKey } from '../../installation/index.js';
import { accountRecord, type Users } from '../users/index.js';
import {
  createLoginCheck,
  type LoginCheck,
  type SecondFactor,
  standingFactors,
  type UsableFactors,
} from './login-check.js';
import { createProof, type Proof } from './proof.js';
import { newRecoveryCode, readRecoveryCode } from './recovery-codes.js';
import { createFactorStore, type FactorStore } from './store.js';
import { createTotp, type Totp } from './totp.js';

export { channelOf, type SecondFactor, secondFactors, type UsableFactors } from './login-check.js';
export { sealedSeeds } from './store.js';

/** Data for an authenticator app. */
interface Enrolment {
  readonly secret: string;
  readonly uri: string;
}

type Notice = 'factor-added' | 'factor-removed';

interface Deps extends Pick<Runtime, 'random'>, Pick<Installation, 'courier' | 'limits'> {
  readonly users: Users;
  readonly store: FactorStore;
  readonly totp: Totp;
  readonly proof: Proof;
}

/** The service for second factors. */
export interface Factors {
  usable(reader: Reader, project: Project, account: UserRecord): Promise<UsableFactors>;
  /** True if logins of the user require a second factor. */
  isOn(reader: Reader, project: Project, account: UserRecord): Promise<boolean>;
  readonly checkLogin: LoginCheck;
  readonly prove: Proof['of'];
  /** Removes the authenticator; false if there was none. */
  removeTotp(unit: Unit, project: Project, account: UserRecord): Promise<boolean>;
  /** Begins to enrol an authenticator, replacing one that was never verified. Throws Failure `user_authenticator_already_verified`. */
  beginTotp(unit: Unit, project: Project, account: UserRecord): Promise<Enrolment>;
  /** Stores the confirmed seed of an imported user, in base32, in place of another one. Throws Failure `general_argument_invalid`. */
  adoptTotp(unit: Unit, project: Project, account: UserRecord, seed: string): Promise<void>;
  /** The seed of the confirmed authenticator; undefined if there is none. */
  seedOf(reader: Reader, project: Project, account: UserRecord): Promise<string | undefined>;
  /** Completes the enrolment with a code. Refuses a wrong code. */
  confirmTotp(unit: Unit, project: Project, account: UserRecord, code: string): Promise<void>;
  /** Creates a set of recovery codes that replaces the previous one. */
  issueRecoveryCodes(unit: Unit, project: Project, account: UserRecord): Promise<string[]>;
  /** Number of unused recovery codes; undefined if the user has never had any. */
  recoveryCodesLeft(reader: Reader, project: Project, account: UserRecord): Promise<number | undefined>;
  /** Removes all second factors and turns the requirement off, without sending a mail; false if there were none. */
  removeAll(unit: Unit, project: Project, account: UserRecord): Promise<boolean>;
  /** The time when the user added an authenticator or the recovery codes; undefined for an address or number. */
  addedAt(reader: Reader, project: Project, account: UserRecord, factor: SecondFactor): Promise<Instant | undefined>;
  notify(unit: Unit, project: Project, record: UserRecord, message: Notice, factor: string): void;
}

/** Second factors of users: authenticator apps, recovery codes, their verification, and the decision whether a login needs one. */
export function createFactors(
  given: Pick<Runtime, 'sql' | 'clock' | 'random' | 'sealing'> & Pick<Deps, 'users' | 'limits' | 'courier'>,
): Factors {
  const store = createFactorStore(given.sql);
  const totp = createTotp(given.random);
  const proof = createProof({ ...given, store, totp });
  const deps: Deps = { ...given, store, totp, proof };
  const bound = {
    ...bind(deps, { usable, isOn, removeTotp, beginTotp, confirmTotp }),
    ...bind(deps, { adoptTotp, seedOf, issueRecoveryCodes, removeAll, addedAt, notify }),
  };
  return {
    ...bound,
    checkLogin: createLoginCheck(bound.usable, proof),
    prove: proof.of,
    recoveryCodesLeft: (reader, project, account) => proof.codesLeft(reader, project, account.id),
  };
}

async function usable({ proof }: Deps, reader: Reader, project: Project, account: UserRecord): Promise<UsableFactors> {
  const authenticator = await proof.authenticator(reader, project, account.id);
  const left = await proof.codesLeft(reader, project, account.id);
  return {
    totp: authenticator?.verified === true,
    email: account.email !== null && account.emailVerification,
    phone: account.phone !== null && account.phoneVerification,
    recoverycode: (left ?? 0) > 0,
  };
}

async function addedAt({ proof }: Deps, reader: Reader, project: Project, { id }: UserRecord, factor: SecondFactor) {
  if (factor === 'totp') return (await proof.authenticator(reader, project, id))?.createdAt;
  return factor === 'recoverycode' ? proof.codesCreatedAt(reader, project, id) : undefined;
}

async function isOn(deps: Deps, reader: Reader, project: Project, account: UserRecord): Promise<boolean> {
  return account.mfa && standingFactors(await usable(deps, reader, project, account)).length > 0;
}

async function removeTotp(deps: Deps, unit: Unit, project: Project, account: UserRecord): Promise<boolean> {
  const { proof, store } = deps;
  const row = await proof.authenticator(unit, project, account.id);
  if (row === undefined || (await unit.run(store.removeAuthenticator(project.id, account.id))) === 0) return false;
  if (!row.verified) return true;
  recordTotp(unit, 'factorRemoved', account);
  notify(deps, unit, project, account, 'factor-removed', 'totp');
  return true;
}

function recordTotp(unit: Unit, event: 'factorAdded' | 'factorRemoved', { id }: UserRecord): void {
  unit.record(event, accountRecord(id, { factor: 'totp' }));
}

function notify(
  { courier }: Deps,
  unit: Unit,
  project: Project,
  { id: userId, email, name, locale }: UserRecord,
  message: Notice,
  factor: string,
): void {
  if (email === null) return;
  courier.send(unit, project, { message, to: email, userId, name, locale, variables: { factor, at: unit.now } });
}

async function beginTotp(deps: Deps, unit: Unit, project: Project, account: UserRecord): Promise<Enrolment> {
  const { proof, store, totp } = deps;
  const secret = totp.newSeed();
  const row = { projectId: project.id, userId: account.id, type: 'totp', verified: false, lastStep: 0 };
  const sealedSeed = proof.seal(project, account.id, secret);
  if ((await unit.run(store.putAuthenticator({ ...row, sealedSeed, createdAt: unit.now }))) === 0)
    throw new Failure('user_authenticator_already_verified');
  return { secret, uri: totp.uri(secret, project.name, account.email ?? account.id) };
}

async function confirmTotp(deps: Deps, unit: Unit, project: Project, account: UserRecord, code: string): Promise<void> {
  const { proof, store } = deps;
  const row = await proof.authenticator(unit, project, account.id);
  if (row === undefined) throw new Failure('user_authenticator_not_found');
  if (row.verified) throw new Failure('user_authenticator_already_verified');
  if (!(await proof.ofEnrolment(unit, project, row, code)))
    throw unit.refuse('user_invalid_token', { message: 'The code is wrong or expired.' });
  await unit.run(store.verifyAuthenticator(project.id, account.id));
  recordTotp(unit, 'factorAdded', account);
  notify(deps, unit, project, account, 'factor-added', 'totp');
}

/** Seeds of authenticator apps in base32, of 10 to 64 bytes. */
const seedForm = /^[A-Z2-7]{16,103}$/;

async function adoptTotp(deps: Deps, unit: Unit, project: Project, account: UserRecord, given: string): Promise<void> {
  const { proof, store } = deps;
  const seed = given.replace(/[\s=-]/g, '').toUpperCase();
  if (!seedForm.test(seed)) throw invalidParam('totp', 'must be a secret in base32.');
  const sealedSeed = proof.seal(project, account.id, seed);
  const row = { projectId: project.id, userId: account.id, type: 'totp', sealedSeed, verified: true, lastStep: 0 };
  await unit.run(store.removeAuthenticator(project.id, account.id));
  await unit.run(store.putAuthenticator({ ...row, createdAt: unit.now }));
  recordTotp(unit, 'factorAdded', account);
}

async function seedOf({ proof }: Deps, reader: Reader, project: Project, account: UserRecord) {
  const row = await proof.authenticator(reader, project, account.id);
  return row?.verified ? proof.open(project, row) : undefined;
}

async function issueRecoveryCodes(deps: Deps, unit: Unit, project: Project, account: UserRecord): Promise<string[]> {
  const { proof, random, store } = deps;
  const codes = Array.from({ length: recoveryCodeCount }, () => newRecoveryCode(random));
  const rows = codes.map((code) => ({
    projectId: project.id,
    userId: account.id,
    digest: proof.digestOf(project.id, account.id, readRecoveryCode(code) ?? '', unit.now),
    usedAt: null,
    createdAt: unit.now,
  }));
  await unit.run(store.removeCodes(project.id, account.id));
  await unit.run(store.addCodes(rows));
  unit.record('recoveryCodesCreated', accountRecord(account.id));
  return codes;
}

async function removeAll(deps: Deps, unit: Unit, project: Project, account: UserRecord): Promise<boolean> {
  const { users, limits, proof, store } = deps;
  const row = await proof.authenticator(unit, project, account.id);
  if (row !== undefined) await unit.run(store.removeAuthenticator(project.id, account.id));
  if (row?.verified) recordTotp(unit, 'factorRemoved', account);
  const codes = await unit.run(store.removeCodes(project.id, account.id));
  if (codes > 0) unit.record('recoveryCodesDeleted', accountRecord(account.id));
  if (account.mfa) {
    await users.update(unit, project.id, account, { mfa: false });
    unit.record('mfaDisabled', accountRecord(account.id));
  }
  await limits.forgive(unit, 'mfa', { account: proofKey(account.id) });
  return row !== undefined || codes > 0 || account.mfa;
}
