import type { Account, Target } from '#src/contract/account.js';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { type Instant, uniqueId } from '#src/contract/shapes.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { misfitOf } from '#src/platform/foreign-hashes/bounds.js';
import { type ForeignHash, printForeign } from '#src/platform/foreign-hashes/hash.js';
import type { HashDescription } from '#src/platform/hashing.js';
import type { Platform } from '#src/platform/index.js';
import type { Asked, Lists } from '../lists/index.js';
import { createPasswordPolicy } from './password-policy.js';
import { type AccountChange, createAccountStore, userFields, users } from './store.js';

export { isAnonymous } from './anonymous.js';
export { labelList } from './labels.js';
export { passwordText } from './password-policy.js';
export { preferences, preferencesShape } from './preferences.js';
export { users } from './store.js';
export { identityListShape, targetShape, toTarget, toUser, userShape } from './view.js';

/** What a new account is made of; the hash comes from `hashPassword`. */
interface NewAccount {
  readonly id: string;
  readonly email: string | null;
  readonly phone?: string | null;
  readonly name: string;
  readonly passwordHash: string | null;
  readonly locale?: string | null;
}

type Parts = Pick<Platform, 'sql' | 'random' | 'hashing' | 'sealing' | 'config' | 'egress' | 'log'>;

/** The records of end users, and their passwords. */
export function createAccounts({ sql, random, hashing, sealing, config, egress, log }: Parts, lists: Lists) {
  const store = createAccountStore(sql);
  const policy = createPasswordPolicy({ config, egress, log });
  const place = 'users|password_hash';

  const find = async (reader: Reader, projectId: string, id: string): Promise<Account | undefined> => {
    const row = await reader.one(store.find({ projectId, id }));
    return row && users.decode(row);
  };
  const get = async (reader: Reader, projectId: string, id: string): Promise<Account> => {
    const account = await find(reader, projectId, id);
    if (account === undefined) throw new Failure('user_not_found');
    return account;
  };
  const update = async (unit: Unit, projectId: string, account: Account, change: AccountChange): Promise<Account> => {
    const changed = { ...change, updatedAt: unit.now };
    const rows = await unit.run(store.update(projectId, account.id, changed));
    if (rows === 0) throw new Failure('user_not_found');
    return { ...account, ...changed };
  };
  const target = (providerType: Target['providerType'], identifier: string, now: Instant): Target => ({
    id: random.id(),
    createdAt: now,
    updatedAt: now,
    providerType,
    identifier,
  });
  const reachBy = async (
    column: 'email' | 'phone',
    unit: Unit,
    projectId: string,
    account: Account,
    value: string | null,
    change: AccountChange,
  ): Promise<Account> => {
    const taken = column === 'email' ? 'user_email_already_exists' : 'user_phone_already_exists';
    if (value !== null && (await unit.one(store.otherWith(column, projectId, account.id, value))) !== undefined)
      throw new Failure(taken);
    const kind = column === 'email' ? 'email' : 'sms';
    const others = account.targets.filter(
      ({ providerType, identifier }) => providerType !== kind || ![account[column], value].includes(identifier),
    );
    const targets = value === null ? others : [...others, target(kind, value, unit.now)];
    try {
      return await update(unit, projectId, account, { ...change, targets });
    } catch (error) {
      // Two users may take one address at the same moment; then the unique index decides.
      if (error instanceof DatabaseError && error.kind === 'unique') throw new Failure(taken);
      throw error;
    }
  };

  return {
    find,
    get,
    /** The user as it is now, whom nobody else changes until the unit ends: for what rests on a proof from before the unit. */
    hold: async (unit: Unit, projectId: string, id: string): Promise<Account | undefined> => {
      const row = await unit.one(store.hold({ projectId, id }));
      return row && users.decode(row);
    },
    /** The same by the address or number, whether it was proved or not. */
    holdByContact: async (
      unit: Unit,
      projectId: string,
      contact: 'email' | 'phone',
      value: string,
    ): Promise<Account | undefined> => {
      const row = await unit.one(store.holdByContact(projectId, contact, value));
      return row && users.decode(row);
    },
    findByEmail: async (reader: Reader, projectId: string, email: string): Promise<Account | undefined> => {
      const row = await reader.one(store.findByEmail({ projectId, email }));
      return row && users.decode(row);
    },
    findByPhone: async (reader: Reader, projectId: string, phone: string): Promise<Account | undefined> => {
      const row = await reader.one(store.findByPhone({ projectId, phone }));
      return row && users.decode(row);
    },
    /**
     * A page of the users, and how many match in all pages; the search looks into id, name, e-mail address and phone number. Ask it of a
     * snapshot. Throws Failure `general_argument_invalid` and `general_cursor_not_found`.
     */
    list: async (reader: Reader, projectId: string, asked: Asked): Promise<{ total: number; users: Account[] }> => {
      const rows = store.ofProject(projectId);
      const listing = { rows, select: users.select(sql), fields: userFields, search: ['id', 'name', 'email', 'phone'] };
      const page = await lists.page(reader, listing, asked);
      return { total: page.total, users: page.rows.map((row) => users.decode(row)) };
    },
    /** Throws Failure `user_already_exists` where the id, the address or the phone number is taken. */
    create: async (unit: Unit, projectId: string, given: NewAccount): Promise<Account> => {
      const account: Account = {
        id: given.id === uniqueId ? random.id() : given.id,
        createdAt: unit.now,
        updatedAt: unit.now,
        name: given.name,
        status: true,
        labels: [],
        email: given.email,
        phone: given.phone ?? null,
        emailVerification: false,
        phoneVerification: false,
        mfa: false,
        prefs: {},
        passwordHash: given.passwordHash,
        passwordUpdate: given.passwordHash === null ? null : unit.now,
        accessedAt: unit.now,
        locale: given.locale ?? null,
        memberships: [],
        targets: [
          ...(given.email === null ? [] : [target('email', given.email, unit.now)]),
          ...(given.phone ? [target('sms', given.phone, unit.now)] : []),
        ],
      };
      if ((await unit.one(store.insert(projectId, account))) === undefined) throw new Failure('user_already_exists');
      const { id, name } = account;
      unit.record('accountCreated', {
        resource: `users/${id}`,
        userId: id,
        payload: { userId: id, email: given.email ?? '', name },
      });
      return account;
    },
    update,
    /** Notes that the user was here; false where the user is gone. */
    touch: async (unit: Unit, projectId: string, id: string): Promise<boolean> =>
      (await unit.run(store.touch({ projectId, id, now: unit.now }))) > 0,
    /** Notes that the user is here and returns the user as it is now, whom nobody else changes until the unit ends. */
    arrive: async (unit: Unit, projectId: string, id: string): Promise<Account | undefined> => {
      const row = await unit.one(store.arrive({ projectId, id, now: unit.now }));
      return row && users.decode(row);
    },
    /** Gives the account another address, unverified, or none. Throws Failure `user_email_already_exists` where another user has it. */
    changeEmail: (unit: Unit, projectId: string, account: Account, email: string | null, change: AccountChange = {}) =>
      reachBy('email', unit, projectId, account, email, { ...change, email, emailVerification: false }),
    /** Gives the account another phone number, unverified, or none. Throws Failure `user_phone_already_exists` where another user has it. */
    changePhone: (unit: Unit, projectId: string, account: Account, phone: string | null) =>
      reachBy('phone', unit, projectId, account, phone, { phone, phoneVerification: false }),
    /** Notes that the user has shown to hold the address or the number; nothing where that is known. */
    markVerified: async (
      unit: Unit,
      projectId: string,
      account: Account,
      contact: 'email' | 'phone',
    ): Promise<Account> => {
      const { id: userId, email, phone } = account;
      const flag = `${contact}Verification` as const;
      if (account[flag] || account[contact] === null) return account;
      const recorded = { resource: `users/${userId}`, userId };
      if (contact === 'email')
        unit.record('accountEmailVerified', { ...recorded, payload: { userId, email: email ?? '' } });
      else unit.record('accountPhoneVerified', { ...recorded, payload: { userId, phone: phone ?? '' } });
      return update(unit, projectId, account, { [flag]: true });
    },
    remove: async (unit: Unit, projectId: string, id: string): Promise<void> => {
      await unit.run(store.remove(projectId, id));
    },

    /** Throws Failure `password_policy_violation`. Not inside a unit of work. */
    checkPassword: policy.check,
    /** The stored form of a password: hashed, then sealed with the project's key. Not inside a unit of work. */
    hashPassword: async (project: Project, password: string): Promise<string> =>
      sealing.seal(project.id, project.dataKey, place, await hashing.hash(password)),
    /** The stored form of a hash that another product made. Throws Failure `general_argument_invalid` where it cannot be checked at a bearable cost. */
    adoptHash: (project: Project, hash: ForeignHash): string => {
      const misfit = misfitOf(hash);
      if (misfit !== undefined)
        throw new Failure('general_argument_invalid', { message: `Invalid \`password\` param: ${misfit}.` });
      return sealing.seal(project.id, project.dataKey, place, printForeign(hash));
    },
    /** The hash of the password, and how it was made; undefined where there is no password. */
    describePassword: (project: Project, { passwordHash }: Account): HashDescription | undefined =>
      passwordHash === null
        ? undefined
        : hashing.describe(sealing.open(project.id, project.dataKey, place, passwordHash)),
    /** Whether a password fits an account; takes the same time where there is no account or no password. Not inside a unit of work. */
    verifyPassword: async (
      project: Project,
      account: Account | undefined,
      password: string,
    ): Promise<{ fits: boolean; outdated: boolean }> => {
      const sealed = account?.passwordHash ?? null;
      const hash = sealed === null ? null : sealing.open(project.id, project.dataKey, place, sealed);
      const fits = await hashing.verify(password, hash);
      return { fits, outdated: fits && hash !== null && hashing.isOutdated(hash) };
    },
  };
}

/** The accounts service. */
export type Accounts = ReturnType<typeof createAccounts>;
