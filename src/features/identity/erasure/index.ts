import { setTimeout as sleep } from 'node:timers/promises';
import { asciiAddress } from '#src/contract/email-address.js';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { PersonErasure } from '../../events/index.js';
import { type Installation, keysOfUser } from '../../installation/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import type { TakenIds } from '../taken-ids/index.js';
import type { UserChanges, Users } from '../users/index.js';

/** Maximum time to wait for deliveries in progress, until the receiver's response is stored and can be erased. */
const responseWaitMs = 20_000;
const lookMs = 500;

/** Tables that lose personal data. */
const touched = [
  'users',
  'sessions',
  'identities',
  'passkeys',
  'memberships',
  'messages',
  'one_time_secrets',
  'login_transactions',
  'limit_counters',
  'idempotent_requests',
  'audit_subjects',
  'events',
  'deliveries',
  'delivery_attempts',
  'files',
  'file_tokens',
  'transaction_operations',
] as const;

/** Numbers of erased items. */
interface Erased {
  readonly userId: string;
  readonly messages: number;
  readonly auditValues: number;
  readonly events: number;
  readonly files: number;
}

/** A user, or the id of a deleted one. */
interface Found {
  readonly id: string;
  readonly account: UserRecord | undefined;
}

export interface FileErasure {
  /** Deletes the files and returns their number. */
  erase(by: AuditContext, projectId: string, userId: string): Promise<number>;
  /** Removes the bytes of deleted files. Throws Failure if the file store fails. */
  removeBytes(): Promise<void>;
}

interface ErasureDeps extends Pick<Installation, 'courier' | 'idempotency' | 'limits'> {
  readonly users: Users;
  readonly userChanges: UserChanges;
  readonly takenIds: TakenIds;
  readonly secrets: OneTimeSecrets;
  readonly recorded: PersonErasure;
  /** Ends all open invitations to the recipients. */
  withdrawAll(unit: Unit, project: Project, recipients: readonly string[]): Promise<void>;
}

/**
 * Erases a person: the account and all data stored about it elsewhere. This takes several units of work; after an interruption, erasing the
 * same id again continues. Data found by the person's addresses is erased first, because the addresses themselves are erased last.
 */
interface Erasure {
  /** Registers the deletion of a person's files. */
  withFiles(files: FileErasure): void;
  /**
   * The user with this id or address, or the id of the deleted user that had it. Throws Failure `user_not_found`, and
   * `general_argument_invalid` if several deleted users had the address.
   */
  find(project: Project, idOrEmail: string): Promise<Found>;
  /** Erases a user, or the remaining data of a deleted one. */
  run(by: AuditContext, project: Project, userId: string): Promise<Erased>;
  /** The user of a deleted project by the id or address in the audit log. Throws Failure like `find`. */
  findInDeleted(projectId: string, idOrEmail: string): Promise<string>;
  /** Erases the remaining data of a user of a deleted project. */
  runInDeleted(by: AuditContext, projectId: string, userId: string): Promise<Erased>;
  /** Removes remains of the erased data from free pages of the database. Throws DatabaseError. */
  scrub(): Promise<void>;
}

interface Deps extends ErasureDeps, Pick<Runtime, 'db' | 'clock'> {
  files: FileErasure;
}

/** Creates the erasure service. */
export function createErasure(runtime: Pick<Runtime, 'db' | 'driver' | 'clock'>, given: ErasureDeps): Erasure {
  const { db, driver, clock } = runtime;
  const deps: Deps = { ...given, db, clock, files: { erase: async () => 0, removeBytes: async () => {} } };
  return {
    ...bind(deps, { find, run, findInDeleted, runInDeleted }),
    withFiles: (files) => {
      deps.files = files;
    },
    scrub: () => driver.scrub(touched),
  };
}

async function find({ db, users, takenIds, recorded }: Deps, project: Project, idOrEmail: string): Promise<Found> {
  try {
    const account = await users.getByIdOrEmail(project.id, idOrEmail);
    return { id: account.id, account };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (await takenIds.has(db, { projectId: project.id, kind: 'user', id: idOrEmail }))
      return { id: idOrEmail, account: undefined };
    const address = asciiAddress(idOrEmail) ?? idOrEmail.toLowerCase();
    const [id, ...others] = await recorded.subjects.deletedWith(project.id, address);
    if (id === undefined) throw error;
    if (others.length === 0) return { id, account: undefined };
    const message = `Several deleted users had this address. Name one by its id: ${[id, ...others].join(', ')}.`;
    throw new Failure('general_argument_invalid', { message });
  }
}

async function run(deps: Deps, by: AuditContext, project: Project, userId: string): Promise<Erased> {
  const { db, users, userChanges, secrets, limits, courier, idempotency, recorded, files } = deps;
  const account = await db.work(by, (unit) => users.lockById(unit, project.id, userId));
  const contacts = await contactsOf(deps, project, userId, account);
  const addresses = await recorded.subjects.addressesOf(project.id, userId);
  const messages = await courier.erase(by, project, { userId, recipients: contacts });
  const ofContacts = await recorded.subjects.ofContacts(by, contacts);
  await db.work(by, async (unit) => {
    const user = await users.lockById(unit, project.id, userId);
    await deps.withdrawAll(unit, project, contacts);
    for (const recipient of contacts) await secrets.void(unit, project, 'every', { recipient });
    await idempotency.forgetUser(unit, project.id, userId);
    await limits.forget(unit, project.id, keysOfUser(userId, contacts), addresses);
    if (user !== undefined) await userChanges.remove(unit, project, user);
    unit.record('accountErased', { resource: `users/${userId}`, payload: { userId } });
  });
  const erasedFiles = await files.erase(by, project.id, userId);
  // Data left by requests that were running when the account was deleted.
  const late = await courier.erase(by, project, { userId, recipients: contacts });
  await db.work(by, (unit) => idempotency.forgetUser(unit, project.id, userId));
  const events = await eraseEvents(deps, by, userId, contacts);
  const values = await recorded.subjects.ofUser(by, userId);
  // Last, because the file store may be unavailable: everything else is then erased, and a job removes the bytes later.
  await files.removeBytes();
  return { userId, messages: messages + late, auditValues: ofContacts + values, events, files: erasedFiles };
}

/** Contacts of this person, except those that now belong to another user. */
async function contactsOf(
  { db, users, recorded }: Deps,
  project: Project,
  userId: string,
  account: UserRecord | undefined,
): Promise<string[]> {
  const known = await recorded.subjects.contactsOf(project.id, userId);
  const targets = account?.targets.map(({ identifier }) => identifier) ?? [];
  const all = [...known, ...targets, account?.email, account?.phone].filter((value) => typeof value === 'string');
  const own: string[] = [];
  for (const value of new Set(all)) {
    const holders = [await users.findByEmail(db, project.id, value), await users.findByPhone(db, project.id, value)];
    if (holders.every((holder) => holder === undefined || holder.id === userId)) own.push(value);
  }
  return own;
}

async function eraseEvents({ clock, recorded }: Deps, by: AuditContext, userId: string, contacts: readonly string[]) {
  const until = clock.monotonic() + responseWaitMs;
  let { events, underWay } = await recorded.events.run(by, userId, contacts);
  while (underWay.length > 0 && clock.monotonic() < until) {
    await sleep(lookMs);
    underWay = await recorded.events.eraseResponses(by, underWay);
  }
  return events;
}

/** Accounts, messages and events were deleted with the project, so only the audit log remains, with the contacts that identify users in it. */
async function findInDeleted({ recorded }: Deps, projectId: string, idOrEmail: string): Promise<string> {
  const { subjects } = recorded;
  if (await subjects.knows(projectId, idOrEmail)) return idOrEmail;
  const [id, ...others] = await subjects.heldBy(projectId, asciiAddress(idOrEmail) ?? idOrEmail.toLowerCase());
  if (id === undefined) throw new Failure('user_not_found');
  if (others.length === 0) return id;
  const message = `Several users had this address. Name one by its id: ${[id, ...others].join(', ')}.`;
  throw new Failure('general_argument_invalid', { message });
}

/** Erases the personal values of a user. Values needed to find the user go last. */
async function runInDeleted({ db, recorded, files }: Deps, by: AuditContext, projectId: string, userId: string) {
  const { subjects } = recorded;
  const ofContacts = await subjects.ofContacts(by, await subjects.contactsOf(projectId, userId));
  await db.work(by, async (unit) => {
    unit.record('accountErased', { resource: `users/${userId}`, payload: { userId } });
  });
  const auditValues = ofContacts + (await subjects.ofUser(by, userId));
  await files.removeBytes();
  return { userId, messages: 0, auditValues, events: 0, files: 0 };
}
