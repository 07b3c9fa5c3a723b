import { invalidParam } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import { misfitOf } from '#src/platform/crypto/foreign-hashes/bounds.js';
import { type ForeignHash, printForeign } from '#src/platform/crypto/foreign-hashes/hash.js';
import { type HashDescription, isOwnHash } from '#src/platform/crypto/hashing.js';
import type { Runtime } from '#src/platform/index.js';
import { createPasswordPolicy, type PasswordPolicy } from './password-policy.js';
import { createStandIns } from './stand-ins.js';
import { sealedPasswords, type UserStore } from './store.js';

type UserId = Pick<UserRecord, 'id'>;

/** Passwords of users. Stored hashes are sealed with the project's key and bound to the user's row. */
export interface Passwords {
  /** Throws Failure `password_policy_violation`. Not inside a unit of work. */
  readonly checkPassword: PasswordPolicy['check'];
  /** Hashes and seals a password. Hashing is queued per network address of the caller. Not inside a unit of work. */
  hashPassword(project: Project, user: UserId, password: string, address: string | null): Promise<string>;
  /** Reseals a hash of one user for another user. */
  rebindHash(project: Project, hash: string, from: UserId, to: UserId): string;
  /** Seals a hash from another product. Throws Failure `general_argument_invalid` if verifying it would cost too much. */
  adoptHash(project: Project, user: UserId, hash: ForeignHash): string;
  /** Seals a hash that another installation of this service has made. Throws Failure `general_argument_invalid` if it is none. */
  adoptOwnHash(project: Project, user: UserId, hash: string): string;
  /** The password hash of a user with its algorithm and parameters; undefined if there is no password. */
  describePassword(project: Project, user: UserRecord): HashDescription | undefined;
  /**
   * Verifies the password of the user with the email address. If there is no such user or no password, it takes as long as for other users
   * of the project. Not inside a unit of work.
   */
  verifyPassword(
    project: Project,
    whose: { readonly email: string; readonly user: UserRecord | undefined },
    password: string,
    address: string | null,
  ): Promise<{ fits: boolean; outdated: boolean }>;
}

/** Creates the passwords service. */
export function createPasswords(
  runtime: Pick<Runtime, 'db' | 'clock' | 'hashing' | 'sealing' | 'config' | 'egress' | 'log'>,
  store: UserStore,
): Passwords {
  const { hashing, sealing } = runtime;
  const standIns = createStandIns(runtime, store);
  const aadOf = ({ id: row }: UserId) => ({ column: sealedPasswords, row });
  const seal = (project: Project, user: UserId, hash: string) =>
    sealing.seal(project.id, project.dataKey, aadOf(user), hash);
  /** The opened hash; null if there is none or the stored value was sealed for another row. */
  const hashOf = (project: Project, user: UserRecord): string | null => {
    if (user.passwordHash === null) return null;
    return sealing.tryOpen(project.id, project.dataKey, aadOf(user), user.passwordHash) ?? null;
  };
  return {
    checkPassword: createPasswordPolicy(runtime).check,
    hashPassword: async (project, user, password, address) =>
      seal(project, user, await hashing.hash(password, address)),
    rebindHash: (project, hash, from, to) =>
      from.id === to.id ? hash : seal(project, to, sealing.open(project.id, project.dataKey, aadOf(from), hash)),
    adoptHash: (project, user, hash) => {
      const misfit = misfitOf(hash);
      if (misfit !== undefined) throw invalidParam('password', `${misfit}.`);
      return seal(project, user, printForeign(hash));
    },
    adoptOwnHash: (project, user, hash) => {
      if (!isOwnHash(hash)) throw invalidParam('password', 'must be a hash of this service.');
      return seal(project, user, hash);
    },
    describePassword: (project, user) => {
      const hash = hashOf(project, user);
      return hash === null ? undefined : hashing.describe(hash);
    },
    verifyPassword: async (project, { email, user }, password, address) => {
      // Loaded for known addresses too, so that both cases take the same time.
      const standIn = await standIns.of(project, email);
      const hash = user === undefined ? null : hashOf(project, user);
      const fits = (await hashing.verify(password, hash ?? standIn, address)) && hash !== null;
      return { fits, outdated: fits && hash !== null && hashing.isOutdated(hash) };
    },
  };
}
