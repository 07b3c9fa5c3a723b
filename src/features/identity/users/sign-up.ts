import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { ForeignHash } from '#src/platform/crypto/foreign-hashes/hash.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { accountExistsKey, type Installation } from '../../installation/index.js';
import { type NewUser, newUser } from './record.js';
import type { Users } from './service.js';

interface SignUpInput extends Omit<NewUser, 'passwordHash'> {
  readonly password: string | null;
  /** Network address of the caller; null on the command line. */
  readonly address: string | null;
}

type AddressedInput = SignUpInput & { readonly email: string };

/** A user imported from another product. */
interface ImportedUser extends Pick<NewUser, 'id' | 'name' | 'imported'> {
  readonly email: string;
  readonly hash: ForeignHash;
}

/** Operations that create a user with an address, number or password. */
export interface SignUps {
  /** Creates a user, usually with a password. Throws Failure `password_policy_violation` and `user_already_exists`. */
  signUp(by: AuditContext, project: Project, input: SignUpInput): Promise<UserRecord>;
  /**
   * `signUp` for projects that hide which accounts exist. If the address is taken, it returns a placeholder that is not stored and mails
   * the holder of the address. A taken id is still refused, whatever the address: the caller can choose another.
   */
  signUpHidden(by: AuditContext, project: Project, input: AddressedInput): Promise<UserRecord>;
  /** Creates a user with a hash from another product. Throws Failure `general_argument_invalid` and `user_already_exists`. */
  importUser(by: AuditContext, project: Project, input: ImportedUser): Promise<UserRecord>;
}

interface Deps extends Pick<Runtime, 'db' | 'random'>, Pick<Installation, 'courier' | 'limits'> {
  readonly users: Users;
}

/** Creates the sign-up service. */
export function createSignUps(deps: Deps): SignUps {
  return bind(deps, { signUp, signUpHidden, importUser });
}

async function signUp({ db, users }: Deps, by: AuditContext, project: Project, input: SignUpInput) {
  const prepared = await prepare(users, project, input);
  return db.work(by, (unit) => users.create(unit, project.id, prepared));
}

/** Checks and hashes the password. Not inside a unit of work. */
async function prepare(users: Users, project: Project, { password, address, ...input }: SignUpInput): Promise<NewUser> {
  const { email, name } = input;
  const id = users.idOf(input.id);
  if (password !== null) await users.checkPassword(password, { email, name, projectName: project.name });
  const passwordHash = password === null ? null : await users.hashPassword(project, { id }, password, address);
  return { ...input, id, passwordHash };
}

async function signUpHidden(deps: Deps, by: AuditContext, project: Project, input: AddressedInput) {
  const { db, random, users } = deps;
  const prepared = await prepare(users, project, input);
  return db.work(by, async (unit) => {
    const find = () => users.findByEmail(unit, project.id, input.email);
    let holder = await find();
    if (holder === undefined) {
      const created = await users.create(unit, project.id, prepared).catch(refusedAsTaken);
      if (!(created instanceof Failure)) return created;
      // A parallel sign-up may have taken the address.
      holder = await find();
      if (holder === undefined) throw created;
    }
    await users.requireFreeId(unit, project.id, prepared.id);
    await notifyHolder(deps, unit, project, holder, prepared.locale ?? null);
    return newUser(unit, random, prepared);
  });
}

/** Returns the Failure of a sign-up with a taken id or address; rethrows any other error. */
function refusedAsTaken(error: unknown): Failure {
  if (error instanceof Failure && error.type === 'user_already_exists') return error;
  throw error;
}

/**
 * Mails the holder of the address; the caller must not learn of it. The mail has its own quota, so that sign-ups by strangers do not use up
 * the mails the holder requests. Over quota no mail is sent, and the caller gets the same response.
 */
async function notifyHolder(
  { courier, limits }: Deps,
  unit: Unit,
  project: Project,
  holder: UserRecord,
  locale: string | null,
): Promise<void> {
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
}

function importUser({ db, users }: Deps, by: AuditContext, project: Project, { hash, ...input }: ImportedUser) {
  const id = users.idOf(input.id);
  const passwordHash = users.adoptHash(project, { id }, hash);
  return db.work(by, (unit) => users.create(unit, project.id, { ...input, id, passwordHash }));
}
