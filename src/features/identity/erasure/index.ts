import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { PersonErasure } from '../../events/index.js';
import { type Courier, type Idempotency, keysOfUser, type Limits } from '../../installation/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import type { TakenIds } from '../taken-ids/index.js';
import type { UserChanges, Users } from '../users/index.js';
import { createErasureOfDeleted } from './service.js';

/** How long a delivery that is under way may take until the response of its receiver is stored, and can be erased. */
const responseWaitMs = 20_000;
const lookMs = 500;

/** Tables from which personal values are removed. */
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

/** How much was erased. */
interface Erased {
  readonly userId: string;
  readonly messages: number;
  readonly auditValues: number;
  readonly events: number;
  readonly files: number;
}

/** Deletes the files of a person. */
interface FileErasure {
  /** Deletes the files; returns how many there were. */
  erase(by: AuditContext, projectId: string, userId: string): Promise<number>;
  /** Removes the bytes of deleted files. Throws Failure where the file store does not let it. */
  removeBytes(): Promise<void>;
}

interface ErasureDeps {
  readonly users: Users;
  readonly userChanges: UserChanges;
  readonly takenIds: TakenIds;
  readonly secrets: OneTimeSecrets;
  readonly limits: Limits;
  readonly courier: Courier;
  readonly idempotency: Idempotency;
  readonly recorded: PersonErasure;
  /** Ends every open invitation to one of the recipients. */
  withdrawAll(unit: Unit, project: Project, recipients: readonly string[]): Promise<void>;
}

/**
 * Erases a person: the account, and whatever is stored about it elsewhere. It takes several units of work; one that was interrupted is
 * continued by erasing the id again. What is found by addresses goes first, as the addresses themselves are erased last.
 */
export function createErasure(runtime: Pick<Runtime, 'db' | 'driver' | 'clock'>, deps: ErasureDeps) {
  const { db, driver, clock } = runtime;
  const { users, userChanges, takenIds, secrets, limits, courier, recorded } = deps;

  /** Addresses and numbers that are this person's alone: one may have become another user's. */
  const contactsOf = async (project: Project, userId: string, account: UserRecord | undefined): Promise<string[]> => {
    const known = await recorded.subjects.contactsOf(project.id, userId);
    const targets = account?.targets.map(({ identifier }) => identifier) ?? [];
    const all = [...known, ...targets, account?.email, account?.phone].filter((value) => typeof value === 'string');
    const isAnothers = async (value: string) => {
      const holders = [await users.findByEmail(db, project.id, value), await users.findByPhone(db, project.id, value)];
      return holders.some((holder) => holder !== undefined && holder.id !== userId);
    };
    const own: string[] = [];
    for (const value of new Set(all)) if (!(await isAnothers(value))) own.push(value);
    return own;
  };
  const eraseEvents = async (by: AuditContext, userId: string, contacts: readonly string[]): Promise<number> => {
    const until = clock.monotonic() + responseWaitMs;
    let { events, underWay } = await recorded.events.run(by, userId, contacts);
    while (underWay.length > 0 && clock.monotonic() < until) {
      await sleep(lookMs);
      underWay = await recorded.events.eraseResponses(by, underWay);
    }
    return events;
  };
  const ofDeleted = createErasureOfDeleted(runtime, recorded.subjects);
  let files: FileErasure = { erase: async () => 0, removeBytes: async () => {} };
  return {
    /** Registers what deletes the files of a person. */
    withFiles: (given: FileErasure): void => {
      files = given;
    },
    /**
     * The user with this id or address, or the id of the one who was deleted with it. Throws Failure `user_not_found`, and
     * `general_argument_invalid` where several were deleted with the address.
     */
    find: async (
      project: Project,
      idOrEmail: string,
    ): Promise<{ readonly id: string; readonly account: UserRecord | undefined }> => {
      try {
        const account = await users.getByIdOrEmail(project.id, idOrEmail);
        return { id: account.id, account };
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (await takenIds.has(db, { projectId: project.id, kind: 'user', id: idOrEmail }))
          return { id: idOrEmail, account: undefined };
        const [id, ...others] = await recorded.subjects.deletedWith(project.id, idOrEmail.toLowerCase());
        if (id === undefined) throw error;
        if (others.length === 0) return { id, account: undefined };
        const message = `Several deleted users had this address. Name one by its id: ${[id, ...others].join(', ')}.`;
        throw new Failure('general_argument_invalid', { message });
      }
    },
    /** Erases a user, or what is left of one who is deleted. */
    run: async (by: AuditContext, project: Project, userId: string): Promise<Erased> => {
      const account = await db.work(by, (unit) => users.lockById(unit, project.id, userId));
      const contacts = await contactsOf(project, userId, account);
      const addresses = await recorded.subjects.addressesOf(project.id, userId);
      const messages = await courier.erase(by, project, { userId, recipients: contacts });
      const ofContacts = await recorded.subjects.ofContacts(by, contacts);
      await db.work(by, async (unit) => {
        const user = await users.lockById(unit, project.id, userId);
        await deps.withdrawAll(unit, project, contacts);
        for (const recipient of contacts) await secrets.void(unit, project, 'every', { recipient });
        await deps.idempotency.forgetUser(unit, project.id, userId);
        await limits.forget(unit, project.id, keysOfUser(userId, contacts), addresses);
        if (user !== undefined) await userChanges.remove(unit, project, user);
        unit.record('accountErased', { resource: `users/${userId}`, payload: { userId } });
      });
      const erasedFiles = await files.erase(by, project.id, userId);
      // What requests have left that were under way when the account went.
      const late = await courier.erase(by, project, { userId, recipients: contacts });
      await db.work(by, (unit) => deps.idempotency.forgetUser(unit, project.id, userId));
      const events = await eraseEvents(by, userId, contacts);
      const values = await recorded.subjects.ofUser(by, userId);
      // Last, as the store may be away: everything else is erased then, and a job removes the bytes later.
      await files.removeBytes();
      return { userId, messages: messages + late, auditValues: ofContacts + values, events, files: erasedFiles };
    },
    /** The user of a deleted project whom the log knows by this id or address. Throws Failure like `find`. */
    findInDeleted: ofDeleted.find,
    /** Erases what is left of a user of a deleted project. */
    runInDeleted: async (by: AuditContext, projectId: string, userId: string): Promise<Erased> => {
      const auditValues = await ofDeleted.run(by, projectId, userId);
      await files.removeBytes();
      return { userId, messages: 0, auditValues, events: 0, files: 0 };
    },
    /** Leaves nothing of it in free pages of the database. */
    scrub: (): Promise<void> => driver.scrub(touched),
  };
}
