import { Failure } from '#src/contract/errors.js';
import { passkeyLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Factors } from '../factors/index.js';
import { accountRecord } from '../users/index.js';
import { type PasskeyRow, type PasskeyStore, passkeys } from './store.js';
import type { NewCredential } from './verify.js';

/** Stored passkeys of users. */
export interface PasskeyService {
  /** The passkeys of a user, oldest first. */
  list(reader: Reader, project: Project, userId: string): Promise<PasskeyRow[]>;
  /** True if the account has a passkey. */
  leadsTo(reader: Reader, project: Project, account: UserRecord): Promise<boolean>;
  /** The passkey with a credential id, which is unique in the project. */
  findByCredential(reader: Reader, project: Project, credentialId: string): Promise<PasskeyRow | undefined>;
  /** Throws Failure `user_passkey_limit_exceeded`, and `user_passkey_already_exists` if any user has the credential. */
  add(unit: Unit, project: Project, account: UserRecord, input: NewCredential & { name: string }): Promise<PasskeyRow>;
  /** Records a login with a passkey; false if it was removed or a parallel login has changed the counter. */
  use(unit: Unit, passkey: PasskeyRow, counter: number): Promise<boolean>;
  /** Throws Failure `user_passkey_not_found`. */
  rename(unit: Unit, project: Project, userId: string, id: string, name: string): Promise<PasskeyRow>;
  /** Throws Failure `user_passkey_not_found`. */
  remove(unit: Unit, project: Project, account: UserRecord, id: string): Promise<void>;
  /** Throws Failure `user_passkey_limit_exceeded` if the user has reached the limit. */
  requireRoom(reader: Reader, project: Project, userId: string): Promise<void>;
}

const factor = 'passkey';
const defaultName = 'Passkey';

/** Creates the service for stored passkeys. */
export function createPasskeyService(
  { random }: Pick<Runtime, 'random'>,
  { store, factors }: { readonly store: PasskeyStore; readonly factors: Factors },
): PasskeyService {
  const list: PasskeyService['list'] = async (reader, project, userId) =>
    (await reader.all(store.ofUser({ projectId: project.id, userId }))).map((row) => passkeys.decode(row));
  const get = async (unit: Unit, project: Project, userId: string, id: string): Promise<PasskeyRow> => {
    const found = (await list(unit, project, userId)).find((passkey) => passkey.id === id);
    if (found === undefined) throw new Failure('user_passkey_not_found');
    return found;
  };
  const requireRoom: PasskeyService['requireRoom'] = async (reader, project, userId) => {
    if ((await list(reader, project, userId)).length >= passkeyLimits.perUser)
      throw new Failure('user_passkey_limit_exceeded');
  };
  return {
    list,
    requireRoom,
    leadsTo: async (reader, project, { id }) => (await list(reader, project, id)).length > 0,
    findByCredential: async (reader, project, credentialId) => {
      const row = await reader.one(store.byCredential({ projectId: project.id, credentialId }));
      return row && passkeys.decode(row);
    },
    add: async (unit, project, account, { name, credentialId, publicKey, counter, backupEligible, transports }) => {
      await requireRoom(unit, project, account.id);
      const row: PasskeyRow = {
        id: random.id(),
        projectId: project.id,
        userId: account.id,
        credentialId,
        publicKey,
        counter,
        backupEligible,
        transports,
        name: name.trim() === '' ? defaultName : name,
        accessedAt: null,
        createdAt: unit.now,
        updatedAt: unit.now,
      };
      if ((await unit.one(store.insert(row))) === undefined) throw new Failure('user_passkey_already_exists');
      unit.record('factorAdded', accountRecord(account.id, { factor }));
      factors.notify(unit, project, account, 'factor-added', factor);
      return row;
    },
    use: async (unit, passkey, counter) => (await unit.run(store.use(passkey, counter, unit.now))) === 1,
    rename: async (unit, project, userId, id, name) => {
      const passkey = await get(unit, project, userId, id);
      await unit.run(store.rename(project.id, id, name, unit.now));
      return { ...passkey, name, updatedAt: unit.now };
    },
    remove: async (unit, project, account, id) => {
      await get(unit, project, account.id, id);
      await unit.run(store.remove(project.id, id));
      unit.record('factorRemoved', accountRecord(account.id, { factor }));
      factors.notify(unit, project, account, 'factor-removed', factor);
    },
  };
}
