import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { ForeignHash } from '#src/platform/foreign-hashes/hash.js';
import type { Runtime } from '#src/platform/index.js';
import { accountExistsKey, type Courier, type Limits } from '../../../installation/index.js';
import { type NewUser, newUser } from '../record.js';
import type { Users } from '../service.js';

/** A person who signs up. */
interface SignUpInput extends Omit<NewUser, 'passwordHash'> {
  readonly password: string | null;
  /** The network address that asks; null where it is the command line. */
  readonly address: string | null;
}

/** A user who comes from another product. */
interface ImportedUser extends Pick<NewUser, 'id' | 'name'> {
  readonly email: string;
  readonly hash: ForeignHash;
}

/** The ways in which a user is created with what others know of it: address, number, password. */
export interface SignUps {
  /** Creates a user, mostly with a password. Throws Failure `password_policy_violation` and `user_already_exists`. */
  signUp(by: AuditContext, project: Project, input: SignUpInput): Promise<UserRecord>;
  /**
   * The same where the project hides who has an account: for a taken address the answer is a placeholder that is not stored, and the address
   * gets a mail. A taken id is refused as ever, whatever the address: the caller can choose another.
   */
  signUpHidden(
    by: AuditContext,
    project: Project,
    input: SignUpInput & { readonly email: string },
  ): Promise<UserRecord>;
  /** Creates a user with the hash that another product made. Throws Failure `general_argument_invalid` and `user_already_exists`. */
  importUser(by: AuditContext, project: Project, input: ImportedUser): Promise<UserRecord>;
}

interface Deps {
  readonly users: Users;
  readonly courier: Courier;
  readonly limits: Limits;
}

/** Creates the service of sign-ups. */
export function createSignUps(
  { db, random }: Pick<Runtime, 'db' | 'random'>,
  { users, courier, limits }: Deps,
): SignUps {
  /** Checks and hashes the password. Not inside a unit of work. */
  const prepare = async (project: Project, { password, address, ...input }: SignUpInput): Promise<NewUser> => {
    const { email, name } = input;
    const id = users.idOf(input.id);
    if (password !== null) await users.checkPassword(password, { email, name, projectName: project.name });
    return {
      ...input,
      id,
      passwordHash: password === null ? null : await users.hashPassword(project, { id }, password, address),
    };
  };
  /**
   * Tells the holder of the address, and nobody else, by a mail. It has a count of its own: strangers who sign up must not use up the mails
   * that the holder asks for. Once the count is exhausted no mail is sent, and the caller gets the same answer.
   */
  const tellHolder = async (unit: Unit, project: Project, holder: UserRecord, locale: string | null): Promise<void> => {
    const { id: userId, email, name } = holder;
    if (email === null) return;
    const key = accountExistsKey(email);
    const isAllowed =
      (await limits.allows(unit, 'send', { account: key })) &&
      (await limits.allows(unit, 'send-daily', { account: key })) &&
      (await limits.allows(unit, 'send-mail', { anyone: '', project: '' }));
    if (!isAllowed) return;
    const to = { to: email, userId, name, locale: holder.locale ?? locale };
    courier.send(unit, project, { message: 'account-exists', ...to, variables: {} });
  };

  return {
    signUp: async (by, project, input) => {
      const prepared = await prepare(project, input);
      return db.work(by, (unit) => users.create(unit, project.id, prepared));
    },
    signUpHidden: async (by, project, input) => {
      const prepared = await prepare(project, input);
      return db.work(by, async (unit) => {
        const find = () => users.findByEmail(unit, project.id, input.email);
        let holder = await find();
        if (holder === undefined) {
          const created = await users.create(unit, project.id, prepared).catch(refusedAsTaken);
          if (!(created instanceof Failure)) return created;
          // Somebody may have taken the address at the same moment.
          holder = await find();
          if (holder === undefined) throw created;
        }
        await users.demandFreeId(unit, project.id, prepared.id);
        await tellHolder(unit, project, holder, prepared.locale ?? null);
        return newUser(unit, random, prepared);
      });
    },
    importUser: (by, project, { hash, ...input }) => {
      const id = users.idOf(input.id);
      const passwordHash = users.adoptHash(project, { id }, hash);
      return db.work(by, (unit) => users.create(unit, project.id, { ...input, id, passwordHash }));
    },
  };
}

/** The refusal of a sign-up with a taken id or address; whatever else went wrong is thrown on. */
function refusedAsTaken(error: unknown): Failure {
  if (error instanceof Failure && error.type === 'user_already_exists') return error;
  throw error;
}
