import { asciiAddress } from '#src/contract/email-address.js';
import { Failure } from '#src/contract/errors.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import { readAnswer } from '#src/platform/db/answer-reader.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Query } from '#src/platform/db/query.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { ListRequest, Lists } from '#src/platform/list-query/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { printJson } from '#src/platform/text/json.js';
import type { TakenIds } from '../taken-ids/index.js';
import { createPasswords, type Passwords } from './passwords.js';
import { accountRecord, isVouching, type NewUser, newTarget, newUser } from './record.js';
import { createUserStore, type UserChange, type UserStore, userFields, userTable } from './store.js';
import { toUser } from './view.js';

type Contact = 'email' | 'phone';

/** Users of a project as stored, and their passwords. `UserChanges` revokes what a change invalidates, such as sessions. */
export interface Users extends Passwords {
  find(reader: Reader, projectId: string, id: string): Promise<UserRecord | undefined>;
  /** A user by an email address, verified or not. */
  findByEmail(reader: Reader, projectId: string, email: string): Promise<UserRecord | undefined>;
  /** A user by a phone number, verified or not. */
  findByPhone(reader: Reader, projectId: string, phone: string): Promise<UserRecord | undefined>;
  /** A user by id or email address. Throws Failure `user_not_found`. */
  getByIdOrEmail(projectId: string, idOrEmail: string): Promise<UserRecord>;
  /** A user by id. Throws Failure `user_not_found`. */
  get(reader: Reader, projectId: string, id: string): Promise<UserRecord>;
  /** Reads the user and locks it until the unit ends. For decisions based on checks made before the unit began. */
  lockById(unit: Unit, projectId: string, id: string): Promise<UserRecord | undefined>;
  /** `lockById` by email address or phone number, verified or not. */
  lockByContact(unit: Unit, projectId: string, contact: Contact, value: string): Promise<UserRecord | undefined>;
  /**
   * A page of users and the total number of matches. The search covers id, name, email address and phone number. Throws Failure
   * `general_argument_invalid` and `general_cursor_not_found`.
   */
  list(projectId: string, request: ListRequest): Promise<{ total: number; users: UserRecord[] }>;
  /** The id for a new user: the requested one or a random one. It is needed before the row exists, to seal the password. */
  idOf(requested: string): string;
  /** True if a user has the id or a deleted user had it. */
  isIdTaken(reader: Reader, projectId: string, id: string): Promise<boolean>;
  /** Throws Failure `user_already_exists` if the id is taken. */
  requireFreeId(unit: Unit, projectId: string, id: string): Promise<void>;
  /** Creates a user. Throws Failure `user_already_exists` if the id, the address or the number is taken. */
  create(unit: Unit, projectId: string, input: NewUser): Promise<UserRecord>;
  /** Throws Failure `user_not_found` if the user has been deleted. */
  update(unit: Unit, projectId: string, user: UserRecord, change: UserChange): Promise<UserRecord>;
  /** Sets `accessedAt`; false if the user no longer exists. */
  touchAccess(unit: Unit, projectId: string, id: string): Promise<boolean>;
  /** `touchAccess` and `lockById` in one statement. */
  lockAndTouch(unit: Unit, projectId: string, id: string): Promise<UserRecord | undefined>;
  /** Sets the email address, unverified, or removes it. Throws Failure `user_email_already_exists` if another user has it. */
  changeEmail(
    unit: Unit,
    projectId: string,
    user: UserRecord,
    email: string | null,
    change?: UserChange,
  ): Promise<UserRecord>;
  /** Sets the phone number, unverified, or removes it. Throws Failure `user_phone_already_exists` if another user has it. */
  changePhone(unit: Unit, projectId: string, user: UserRecord, phone: string | null): Promise<UserRecord>;
  /** Marks the address or the number as verified. Does nothing if it already is. */
  markVerified(unit: Unit, projectId: string, user: UserRecord, contact: Contact): Promise<UserRecord>;
  /** Deletes a user and reserves the id, so that it is never reused. */
  remove(unit: Unit, projectId: string, id: string): Promise<void>;
}

interface Deps extends Pick<Runtime, 'db' | 'random'> {
  readonly lists: Lists;
  readonly takenIds: TakenIds;
  readonly store: UserStore;
}

/** Creates the users service. */
export function createUsers(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'hashing' | 'sealing' | 'config' | 'egress' | 'log'>,
  { lists, takenIds }: { lists: Lists; takenIds: TakenIds },
): Users {
  const { db, sql, random } = runtime;
  const store = createUserStore(sql);
  const deps: Deps = { db, random, lists, takenIds, store };
  return {
    ...createPasswords(runtime, store),
    ...bind(deps, { find, get, getByIdOrEmail, list, isIdTaken, requireFreeId }),
    ...bind(deps, { create, update, markVerified, remove }),
    findByEmail: (reader, projectId, email) => decoded(reader, store.findByEmail({ projectId, email })),
    findByPhone: (reader, projectId, phone) => decoded(reader, store.findByPhone({ projectId, phone })),
    lockById: (unit, projectId, id) => decoded(unit, store.lockById({ projectId, id })),
    lockByContact: (unit, projectId, contact, value) => decoded(unit, store.lockByContact(projectId, contact, value)),
    changeEmail: (unit, projectId, user, email, change = {}) =>
      changeContact(deps, unit, projectId, { user, contact: 'email', change: { ...change, email } }),
    changePhone: (unit, projectId, user, phone) =>
      changeContact(deps, unit, projectId, { user, contact: 'phone', change: { phone } }),
    idOf: (requested) => (requested === uniqueId ? random.id() : requested),
    touchAccess: async (unit, projectId, id) =>
      (await unit.run(store.touchAccess({ projectId, id, now: unit.now }))) > 0,
    lockAndTouch: (unit, projectId, id) => decoded(unit, store.lockAndTouch({ projectId, id, now: unit.now })),
  };
}

async function decoded(reader: Reader, query: Query): Promise<UserRecord | undefined> {
  const row = await reader.one(query);
  return row && userTable.decode(row);
}

function find({ store }: Deps, reader: Reader, projectId: string, id: string): Promise<UserRecord | undefined> {
  return decoded(reader, store.find({ projectId, id }));
}

async function get(deps: Deps, reader: Reader, projectId: string, id: string): Promise<UserRecord> {
  const user = await find(deps, reader, projectId, id);
  if (user === undefined) throw new Failure('user_not_found');
  return user;
}

async function getByIdOrEmail(deps: Deps, projectId: string, idOrEmail: string): Promise<UserRecord> {
  const { db, store } = deps;
  const email = asciiAddress(idOrEmail) ?? '';
  const user =
    (await find(deps, db, projectId, idOrEmail)) ?? (await decoded(db, store.findByEmail({ projectId, email })));
  if (user === undefined) throw new Failure('user_not_found');
  return user;
}

function list({ db, lists, store }: Deps, projectId: string, request: ListRequest) {
  return readAnswer(db, request, async (snapshot) => {
    const search = ['id', 'name', 'email', 'phone'];
    const searchIndex = { table: 'users', scope: ['project_id', projectId], texts: search } as const;
    const listing = {
      rows: store.rows(projectId),
      select: userTable.row,
      fields: userFields,
      search,
      searchIndex,
      isLarge: true,
    } as const;
    const { total, rows } = await lists.page(snapshot, listing, request);
    return { total, users: rows.map((row) => userTable.decode(row)) };
  });
}

async function isIdTaken(deps: Deps, reader: Reader, projectId: string, id: string): Promise<boolean> {
  const isUsed = (await find(deps, reader, projectId, id)) !== undefined;
  return isUsed || deps.takenIds.has(reader, { projectId, kind: 'user', id });
}

async function requireFreeId(deps: Deps, unit: Unit, projectId: string, id: string): Promise<void> {
  if (id !== uniqueId && (await isIdTaken(deps, unit, projectId, id))) throw new Failure('user_already_exists');
}

async function create({ random, takenIds, store }: Deps, unit: Unit, projectId: string, input: NewUser) {
  const user = newUser(unit, random, { ...input, id: input.id === uniqueId ? random.id() : input.id });
  const { id, name } = user;
  if ((await unit.one(store.insert(projectId, user))) === undefined) throw new Failure('user_already_exists');
  if (input.id !== uniqueId && (await takenIds.has(unit, { projectId, kind: 'user', id }))) {
    // The caller may catch the Failure and continue with the unit.
    await unit.run(store.remove(projectId, id));
    throw new Failure('user_already_exists');
  }
  unit.record('accountCreated', accountRecord(id, { email: input.email ?? '', name }));
  return user;
}

async function update({ store }: Deps, unit: Unit, projectId: string, user: UserRecord, change: UserChange) {
  const changed = { ...change, updatedAt: unit.now };
  const rows = await unit.run(store.update(projectId, user.id, changed));
  if (rows === 0) throw new Failure('user_not_found');
  const after = { ...user, ...changed };
  // Rehashing the same password is not announced.
  if (Object.keys(change).some((name) => name !== 'passwordHash')) announceUser(unit, after, change);
  return after;
}

/** Members whose change has its own event name on sockets. */
const namedChanges = {
  name: 'name',
  email: 'email',
  phone: 'phone',
  prefs: 'prefs',
  status: 'status',
  mfa: 'mfa',
  passwordUpdate: 'password',
} as const satisfies Partial<Record<keyof UserRecord, string>>;

/** Announces the current account to the user's sockets and to backends that read the feed. */
function announceUser(unit: Unit, user: UserRecord, change: UserChange): void {
  unit.announce('accountUpdated', {
    resource: `users/${user.id}`,
    data: printJson(toUser(user)),
    audience: { users: [user.id] },
    changed: Object.entries(namedChanges).flatMap(([member, name]) => (member in change ? [name] : [])),
  });
}

interface ContactChange {
  readonly user: UserRecord;
  readonly contact: Contact;
  readonly change: UserChange;
}

/** Replaces the address or the number together with its target. */
async function changeContact(deps: Deps, unit: Unit, projectId: string, { user, contact, change }: ContactChange) {
  const { random, store } = deps;
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
    return await update(deps, unit, projectId, user, { ...change, ...flags, targets });
  } catch (error) {
    // If two users take one address at the same time, the unique index decides.
    if (error instanceof DatabaseError && error.kind === 'unique') throw new Failure(taken);
    throw error;
  }
}

async function markVerified(deps: Deps, unit: Unit, projectId: string, user: UserRecord, contact: Contact) {
  const { id, email, phone } = user;
  const flag = `${contact}Verification` as const;
  if (user[flag] || user[contact] === null) return user;
  if (contact === 'email') unit.record('accountEmailVerified', accountRecord(id, { email: email ?? '' }));
  else unit.record('accountPhoneVerified', accountRecord(id, { phone: phone ?? '' }));
  return update(deps, unit, projectId, user, { [flag]: true });
}

async function remove({ store, takenIds }: Deps, unit: Unit, projectId: string, id: string): Promise<void> {
  await unit.run(store.remove(projectId, id));
  await takenIds.keep(unit, { projectId, kind: 'user', id });
}
