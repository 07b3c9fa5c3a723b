import { Failure } from '#src/contract/errors.js';
import { checkOf, fingerprintOf, type StoredKeys } from '#src/platform/crypto/key-ring.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Database, Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import { createMasterKeyStore, type MasterKeyStore, wrappedColumns } from './store.js';

/** How often a process looks for another master key, in milliseconds. */
export const followMs = 2000;
/** How long after a rotation all processes know the new master key, in milliseconds. */
const knownMs = 60_000;
const page = 500;

/** Fingerprints of two master keys that differ. */
export interface OtherMasterKey {
  readonly database: string;
  readonly settings: string;
}

/** Result of a rotation. */
export interface RotatedMasterKey {
  readonly from: string;
  readonly to: string;
  /** Number of keys that were wrapped again. */
  readonly keys: number;
}

/** The master key of the installation. */
export interface MasterKeys {
  /** Loads what the database holds about the master key; the first call of all stores it. Undefined if the key fits. */
  open(db: Pick<Database, 'all' | 'one' | 'work'>, by: AuditContext): Promise<OtherMasterKey | undefined>;
  /** Loads what the database holds about the master key, if it does. Stores nothing. Undefined unless the key is another one. */
  other(reader: Reader): Promise<OtherMasterKey | undefined>;
  /** Waits for a rotation under way. Call it before a key is wrapped in the same unit. Throws Failure if the key is unknown. */
  requireCurrent(unit: Unit): Promise<void>;
  /** True if the database has this master key. */
  isCurrent(reader: Reader, masterKey: Buffer): Promise<boolean>;
  /** True if the copy of the former key was not removed yet, because the rotation was interrupted. */
  isUnfinished(reader: Reader): Promise<boolean>;
  /** Number of keys that a rotation wraps again. */
  count(reader: Reader): Promise<number>;
  /** Wraps every key with another master key, in one transaction. */
  rotate(by: AuditContext, masterKey: Buffer, onProgress: (keys: number) => void): Promise<RotatedMasterKey>;
  /** Ends a rotation, after the copy of the former key was removed. */
  finish(by: AuditContext): Promise<void>;
  /** Looks for another master key from now on. */
  follow(): void;
  /** True if the database has another master key than the file of this process. */
  isLost(): boolean;
  stop(): void;
}

interface Deps extends Pick<Runtime, 'db' | 'sealing' | 'log'> {
  readonly store: MasterKeyStore;
  readonly state: { timer?: NodeJS.Timeout; isLost: boolean };
}

/** Creates the service of the master key. */
export function createMasterKey({
  db,
  sql,
  sealing,
  log,
}: Pick<Runtime, 'db' | 'sql' | 'sealing' | 'log'>): MasterKeys {
  const state: Deps['state'] = { isLost: false };
  const deps: Deps = { db, sealing, log, store: createMasterKeyStore(sql), state };
  return {
    ...bind(deps, { open, other, requireCurrent, isCurrent, isUnfinished, count, rotate, finish, follow }),
    isLost: () => state.isLost,
    stop: () => clearInterval(state.timer),
  };
}

async function factsIn({ store }: Deps, reader: Reader) {
  return new Map((await reader.all(store.facts())).map(({ name, value }) => [String(name), String(value)]));
}

async function stored(deps: Deps, reader: Reader): Promise<StoredKeys | undefined> {
  const facts = await factsIn(deps, reader);
  const check = facts.get('key_check');
  return check === undefined ? undefined : { check, roots: facts.get('key_roots') };
}

function loaded({ sealing }: Deps, keys: StoredKeys | undefined): OtherMasterKey | undefined {
  if (keys === undefined || sealing.load(keys)) return undefined;
  return { database: fingerprintOf(keys.check), settings: fingerprintOf(sealing.keyCheck()) };
}

async function other(deps: Deps, reader: Reader): Promise<OtherMasterKey | undefined> {
  return loaded(deps, await stored(deps, reader));
}

async function open(
  deps: Deps,
  db: Pick<Database, 'all' | 'one' | 'work'>,
  by: AuditContext,
): Promise<OtherMasterKey | undefined> {
  const { sealing, store } = deps;
  const keys = await stored(deps, db);
  if (keys !== undefined) return loaded(deps, keys);
  return db.work(by, async (unit) => {
    await unit.run(store.insert('key_check', sealing.keyCheck()));
    return other(deps, unit);
  });
}

async function requireCurrent(deps: Deps, unit: Unit): Promise<void> {
  if ((await unit.one(deps.store.hold('key_check'))) === undefined) return;
  if ((await other(deps, unit)) !== undefined) throw new Failure('general_unavailable', { retryAfter: 1 });
}

async function isCurrent(deps: Deps, reader: Reader, masterKey: Buffer): Promise<boolean> {
  return (await stored(deps, reader))?.check === checkOf(masterKey);
}

async function isUnfinished(deps: Deps, reader: Reader): Promise<boolean> {
  return (await factsIn(deps, reader)).has('key_former');
}

async function count({ store }: Deps, reader: Reader): Promise<number> {
  let keys = 0;
  for (const { table } of wrappedColumns) keys += Number((await reader.one(store.count(table)))?.count);
  return keys;
}

async function finish({ db, store }: Deps, by: AuditContext): Promise<void> {
  await db.work(by, async (unit) => void (await unit.run(store.remove('key_former'))));
}

async function rotate(
  deps: Deps,
  by: AuditContext,
  masterKey: Buffer,
  onProgress: (keys: number) => void,
): Promise<RotatedMasterKey> {
  const { db, sealing, store } = deps;
  return db.work(by, async (unit) => {
    const from = sealing.keyCheck();
    const rotation = sealing.rotate(masterKey, instantOf(millisecondsOf(unit.now) + knownMs));
    // Locks the row first: keys that others wrap at the same time are either seen below, or refused.
    if ((await unit.run(store.replace('key_check', from, rotation.check))) !== 1)
      throw new Failure('general_unavailable', { retryAfter: 1 });
    await unit.run(store.set('key_roots', rotation.roots));
    await unit.run(store.set('key_former', from));
    let keys = 0;
    for (const { table, owner } of wrappedColumns) {
      for (let after = ''; ; ) {
        const rows = await unit.all(store.wrapped(table, after, page));
        for (const { id, data_key: wrapped } of rows) {
          after = String(id);
          await unit.run(store.rewrap(table, after, sealing.rewrap(rotation, owner ?? after, String(wrapped))));
          keys += 1;
        }
        onProgress(keys);
        if (rows.length < page) break;
      }
    }
    const fingerprints = { from: fingerprintOf(from), to: fingerprintOf(rotation.check) };
    unit.record('masterKeyRotated', { resource: 'installation', payload: fingerprints });
    return { ...fingerprints, keys };
  });
}

function follow(deps: Deps): void {
  const { db, log, state } = deps;
  const look = async () => {
    const found = await other(deps, db);
    if (found !== undefined && !state.isLost)
      log.error('master-key.unknown', { ...found, next: 'restart the server with the new master key' });
    state.isLost = found !== undefined;
  };
  clearInterval(state.timer);
  // If the database is unavailable, the next look tries again.
  state.timer = setInterval(() => void look().catch(() => {}), followMs);
  state.timer.unref();
}
