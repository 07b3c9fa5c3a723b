import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import { misfitOf } from '#src/platform/foreign-hashes/bounds.js';
import { type ForeignHash, printForeign } from '#src/platform/foreign-hashes/hash.js';
import type { HashDescription } from '#src/platform/hashing.js';
import type { Runtime } from '#src/platform/index.js';
import { sealedPasswords, type UserStore } from '../store.js';
import { createPasswordPolicy, type PasswordPolicy } from './policy.js';
import { createStandIns } from './stand-ins.js';

type UserId = Pick<UserRecord, 'id'>;

/** Passwords of users. A stored hash is sealed with the project's key for the row of its user. */
export interface Passwords {
  /** Throws Failure `password_policy_violation`. Not inside a unit of work. */
  readonly checkPassword: PasswordPolicy['check'];
  /** Hashes and seals a password, when it is the turn of the network address that asks. Not inside a unit of work. */
  hashPassword(project: Project, user: UserId, password: string, address: string | null): Promise<string>;
  /** Seals the hash of one user for another user. */
  rebindHash(project: Project, hash: string, from: UserId, to: UserId): string;
  /** Seals a hash that another product made. Throws Failure `general_argument_invalid` where checking it would cost too much. */
  adoptHash(project: Project, user: UserId, hash: ForeignHash): string;
  /** The hash of a user's password and how it was made; undefined where there is no password. */
  describePassword(project: Project, user: UserRecord): HashDescription | undefined;
  /**
   * Whether a password is that of the user with the e-mail address. Where there is no user or no password it takes the time that passwords of
   * the project take. Not inside a unit of work.
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
  /** The hash; null where there is none, or where what is stored was sealed for another row. */
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
      if (misfit !== undefined)
        throw new Failure('general_argument_invalid', { message: `Invalid \`password\` param: ${misfit}.` });
      return seal(project, user, printForeign(hash));
    },
    describePassword: (project, user) => {
      const hash = hashOf(project, user);
      return hash === null ? undefined : hashing.describe(hash);
    },
    verifyPassword: async (project, { email, user }, password, address) => {
      // Known addresses wait for it too.
      const standIn = await standIns.of(project, email);
      const hash = user === undefined ? null : hashOf(project, user);
      const fits = (await hashing.verify(password, hash ?? standIn, address)) && hash !== null;
      return { fits, outdated: fits && hash !== null && hashing.isOutdated(hash) };
    },
  };
}
