import { mapLook } from '#src/contract/answer-room.js';
import { Failure } from '#src/contract/errors.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Query } from '#src/platform/db/query.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { printJson } from '#src/platform/json.js';
import { type ListRequest, type Lists, readList } from '#src/platform/list-query/index.js';
import type { TakenIds } from '../taken-ids/index.js';
import { createPasswords, type Passwords } from './passwords/service.js';
import { isVouching, type NewUser, newTarget, newUser } from './record.js';
import { createUserStore, type UserChange, userFields, userTable } from './store.js';
import { toUser } from './view.js';

type Contact = 'email' | 'phone';

/** The users of a project as they are stored, and their passwords. What a change has to end, such as sessions, is up to `UserChanges`. */
export interface Users extends Passwords {
  /** A user by id. */
  find(reader: Reader, projectId: string, id: string): Promise<UserRecord | undefined>;
  /** A user by an e-mail address, verified or not. */
  findByEmail(reader: Reader, projectId: string, email: string): Promise<UserRecord | undefined>;
  /** A user by a phone number, verified or not. */
  findByPhone(reader: Reader, projectId: string, phone: string): Promise<UserRecord | undefined>;
  /** A user by id or e-mail address. Throws Failure `user_not_found`. */
  getByIdOrEmail(projectId: string, idOrEmail: string): Promise<UserRecord>;
  /** A user by id. Throws Failure `user_not_found`. */
  get(reader: Reader, projectId: string, id: string): Promise<UserRecord>;
  /**
   * The user as it is now, locked: nobody else changes it until the unit ends. For decisions that rest on something that was checked before the
   * unit began.
   */
  lockById(unit: Unit, projectId: string, id: string): Promise<UserRecord | undefined>;
  /** The same by an address or a number, verified or not. */
  lockByContact(unit: Unit, projectId: string, contact: Contact, value: string): Promise<UserRecord | undefined>;
  /**
   * A page of the users, and how many match in all pages; the search looks into id, name, e-mail address and phone number. Throws Failure
   * `general_argument_invalid` and `general_cursor_not_found`.
   */
  list(projectId: string, request: ListRequest): Promise<{ total: number; users: UserRecord[] }>;
  /** The id of a user to be created: the one that was asked for, or a new one. A password is sealed for it before there is a row. */
  idOf(requested: string): string;
  /** Whether a user has the id, or one that was deleted had it. */
  isIdTaken(reader: Reader, projectId: string, id: string): Promise<boolean>;
  /** Throws Failure `user_already_exists` where no user can be created under the id. */
  demandFreeId(unit: Unit, projectId: string, id: string): Promise<void>;
  /** Creates a user. Throws Failure `user_already_exists` where the id, the address or the number is taken. */
  create(unit: Unit, projectId: string, input: NewUser): Promise<UserRecord>;
  /** Throws Failure `user_not_found` where the user was deleted in the meantime. */
  update(unit: Unit, projectId: string, user: UserRecord, change: UserChange): Promise<UserRecord>;
  /** Records that the user was here; false where there is no such user any more. */
  touchAccess(unit: Unit, projectId: string, id: string): Promise<boolean>;
  /** `touchAccess` and `lockById` in one statement. */
  lockAndTouch(unit: Unit, projectId: string, id: string): Promise<UserRecord | undefined>;
  /** Gives a user another address, unverified, or none. Throws Failure `user_email_already_exists` where another user has it. */
  changeEmail(
    unit: Unit,
    projectId: string,
    user: UserRecord,
    email: string | null,
    change?: UserChange,
  ): Promise<UserRecord>;
  /** Gives a user another phone number, unverified, or none. Throws Failure `user_phone_already_exists` where another user has it. */
  changePhone(unit: Unit, projectId: string, user: UserRecord, phone: string | null): Promise<UserRecord>;
  /** Records that the user has proved the address or the number; does nothing where that is recorded already. */
  markVerified(unit: Unit, projectId: string, user: UserRecord, contact: Contact): Promise<UserRecord>;
  /** Deletes a user; the id is not given again. */
  remove(unit: Unit, projectId: string, id: string): Promise<void>;
}

type Deps = Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'hashing' | 'sealing' | 'config' | 'egress' | 'log'>;

/** Creates the service of users. */
export function createUsers(runtime: Deps, { lists, takenIds }: { lists: Lists; takenIds: TakenIds }): Users {
  const { db, sql, random } = runtime;
  const store = createUserStore(sql);
  const decoded = async (reader: Reader, query: Query): Promise<UserRecord | undefined> => {
    const row = await reader.one(query);
    return row && userTable.decode(row);
  };
  const find = (reader: Reader, projectId: string, id: string) => decoded(reader, store.find({ projectId, id }));
  const isIdTaken = async (reader: Reader, projectId: string, id: string): Promise<boolean> =>
    (await find(reader, projectId, id)) !== undefined || (await takenIds.has(reader, { projectId, kind: 'user', id }));
  const update: Users['update'] = async (unit, projectId, user, change) => {
    const changed = { ...change, updatedAt: unit.now };
    const rows = await unit.run(store.update(projectId, user.id, changed));
    if (rows === 0) throw new Failure('user_not_found');
    const after = { ...user, ...changed };
    // A password that is hashed anew shows nowhere.
    if (Object.keys(change).some((name) => name !== 'passwordHash')) announceUser(unit, after);
    return after;
  };
  /** Replaces the address or the number, and the target that goes with it. */
  const changeContact = async (
    unit: Unit,
    projectId: string,
    { user, contact, change }: { readonly user: UserRecord; readonly contact: Contact; readonly change: UserChange },
  ): Promise<UserRecord> => {
    const value = change[contact] ?? null;
    const taken = contact === 'email' ? 'user_email_already_exists' : 'user_phone_already_exists';
    if (value !== null && (await unit.one(store.otherWith(contact, projectId, user.id, value))) !== undefined)
      throw new Failure(taken);
    const kind = contact === 'email' ? 'email' : 'sms';
    const others = user.targets.filter(
      ({ providerType, identifier }) => providerType !== kind || ![user[contact], value].includes(identifier),
    );
    const targets = value === null ? others : [...others, newTarget(unit, random, kind, value)];
    const flags = {
      [`${contact}Verification`]: false,
      [`${contact}Vouched`]: value !== null && isVouching(unit),
    };
    try {
      return await update(unit, projectId, user, { ...change, ...flags, targets });
    } catch (error) {
      // Two users may take one address at the same moment; then the unique index decides.
      if (error instanceof DatabaseError && error.kind === 'unique') throw new Failure(taken);
      throw error;
    }
  };

  return {
    ...createPasswords(runtime, store),
    find,
    findByEmail: (reader, projectId, email) => decoded(reader, store.findByEmail({ projectId, email })),
    findByPhone: (reader, projectId, phone) => decoded(reader, store.findByPhone({ projectId, phone })),
    get: async (reader, projectId, id) => {
      const user = await find(reader, projectId, id);
      if (user === undefined) throw new Failure('user_not_found');
      return user;
    },
    getByIdOrEmail: async (projectId, idOrEmail) => {
      const email = idOrEmail.toLowerCase();
      const user =
        (await find(db, projectId, idOrEmail)) ?? (await decoded(db, store.findByEmail({ projectId, email })));
      if (user === undefined) throw new Failure('user_not_found');
      return user;
    },
    lockById: (unit, projectId, id) => decoded(unit, store.lockById({ projectId, id })),
    lockByContact: (unit, projectId, contact, value) => decoded(unit, store.lockByContact(projectId, contact, value)),
    list: (projectId, request) =>
      readList(db, request, async (snapshot, maxBytes) => {
        const rows = store.ofProject(projectId);
        const search = ['id', 'name', 'email', 'phone'];
        const listing = { rows, select: userTable.select(sql), fields: userFields, search };
        const page = await lists.page(snapshot, listing, request, maxBytes);
        return mapLook(page, ({ total, rows: found }) => ({ total, users: found.map((row) => userTable.decode(row)) }));
      }),
    idOf: (requested) => (requested === uniqueId ? random.id() : requested),
    isIdTaken,
    demandFreeId: async (unit, projectId, id) => {
      if (id !== uniqueId && (await isIdTaken(unit, projectId, id))) throw new Failure('user_already_exists');
    },
    create: async (unit, projectId, input) => {
      const user = newUser(unit, random, { ...input, id: input.id === uniqueId ? random.id() : input.id });
      const { id, name } = user;
      if ((await unit.one(store.insert(projectId, user))) === undefined) throw new Failure('user_already_exists');
      if (input.id !== uniqueId && (await takenIds.has(unit, { projectId, kind: 'user', id }))) {
        // The caller may catch the Failure and go on with the unit.
        await unit.run(store.remove(projectId, id));
        throw new Failure('user_already_exists');
      }
      const payload = { userId: id, email: input.email ?? '', name };
      unit.record('accountCreated', { resource: `users/${id}`, userId: id, payload });
      return user;
    },
    update,
    touchAccess: async (unit, projectId, id) =>
      (await unit.run(store.touchAccess({ projectId, id, now: unit.now }))) > 0,
    lockAndTouch: (unit, projectId, id) => decoded(unit, store.lockAndTouch({ projectId, id, now: unit.now })),
    changeEmail: (unit, projectId, user, email, change = {}) =>
      changeContact(unit, projectId, { user, contact: 'email', change: { ...change, email } }),
    changePhone: (unit, projectId, user, phone) =>
      changeContact(unit, projectId, { user, contact: 'phone', change: { phone } }),
    markVerified: async (unit, projectId, user, contact) => {
      const { id: userId, email, phone } = user;
      const flag = `${contact}Verification` as const;
      if (user[flag] || user[contact] === null) return user;
      const recorded = { resource: `users/${userId}`, userId };
      if (contact === 'email')
        unit.record('accountEmailVerified', { ...recorded, payload: { userId, email: email ?? '' } });
      else unit.record('accountPhoneVerified', { ...recorded, payload: { userId, phone: phone ?? '' } });
      return update(unit, projectId, user, { [flag]: true });
    },
    remove: async (unit, projectId, id) => {
      await unit.run(store.remove(projectId, id));
      await takenIds.keep(unit, { projectId, kind: 'user', id });
    },
  };
}

/** Tells the user, and backends that read the feed, what the account is now. */
function announceUser(unit: Unit, user: UserRecord): void {
  unit.announce('accountUpdated', {
    resource: `users/${user.id}`,
    data: printJson(toUser(user)),
    audience: { users: [user.id] },
  });
}
