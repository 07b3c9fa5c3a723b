import { setTimeout as sleep } from 'node:timers/promises';
import { byService } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { auditEntries } from '../../outbox/index.js';
import { type ChainEntry, digestOf, hashOf, recordedText } from '../chain/entry.js';
import { isGenuine, type SignedHead, signStatement } from '../chain/statement.js';
import { headIn } from '../model/head.js';
import type { AuditRow, AuditStore, Seal } from '../model/store.js';
import type { AuditKeys } from './keys.js';

/** Result of an attempt: no entry waits, there may be more, or another process is sealing. */
type Sealed = 'all' | 'some' | 'held';

/** Maximum wait for another process's batch, and the time between two attempts, in milliseconds. */
const heldMs = 1000;
const lookMs = 20;
/** Entries sealed per unit of work. */
const batch = 500;

/** Error for a chain that cannot be continued: its head was changed or removed, or entries have numbers beyond it. */
export class BrokenChainError extends Error {
  readonly code: string;

  constructor(code: 'head-missing' | 'head-changed' | 'numbers-taken') {
    super(`the audit log cannot be sealed: ${code}`);
    this.name = 'BrokenChainError';
    this.code = code;
  }
}

/** Audit context of the sealer. */
export const sealerContext = byService('audit');

/** Seals the audit log. */
export interface Sealer {
  /** Seals a batch. Returns true if there may be more entries. Throws BrokenChainError. */
  run(): Promise<boolean>;
  /** Seals all waiting entries. Waits for another process, with a timeout. Throws BrokenChainError. */
  runAll(): Promise<void>;
}

/**
 * Numbers entries and continues the chain. The locked row of the head is the lease: its holder seals for one unit of work, and the head
 * only moves from the position that was read. So a process that stalls or dies leaves a whole batch or nothing, and no entry is sealed
 * twice.
 */
export function createSealer(
  { db, clock, log, sealing }: Pick<Runtime, 'db' | 'clock' | 'log' | 'sealing'>,
  store: AuditStore,
  keys: AuditKeys,
): Sealer {
  /** Undefined if another process is sealing. */
  const lockHead = async (unit: Unit): Promise<SignedHead | undefined> => {
    const head = await headIn(unit, store.lockHead());
    if (head === undefined && (await unit.one(store.head())) === undefined) throw new BrokenChainError('head-missing');
    return head;
  };
  const chain = (from: SignedHead, rows: readonly AuditRow[]): { seals: Seal[]; seq: number; hash: string } => {
    const seals: Seal[] = [];
    let { seq, hash } = from;
    for (const row of rows) {
      const before = hash;
      const entry: ChainEntry = { ...row, seq: seq + 1 };
      seq = entry.seq;
      hash = hashOf(before, digestOf(entry));
      seals.push([row.id, seq, before, hash]);
      // Seals a forged entry too: an attacker must not be able to stop the log with one.
      if (sealing.auditMac(recordedText(row), row.at) !== row.mac) log.error('audit.forged', { entry: row.id, seq });
    }
    return { seals, seq, hash };
  };
  /** Seals the oldest waiting entries. The next call seals those of units that commit later, whatever their ids are. */
  const sealSome = async (unit: Unit): Promise<Sealed> => {
    const head = await lockHead(unit);
    if (head === undefined) return 'held';
    // The head has no signature only before the first seal.
    const isIntact = head.seq === 0 ? !(await keys.exist(unit)) : isGenuine(await keys.publicKeys(unit), head);
    if (!isIntact) throw new BrokenChainError('head-changed');
    const rows = (await unit.all(store.waiting(batch))).map((row) => auditEntries.decode(row));
    if (rows.length === 0) return 'all';
    if ((await unit.one(store.sealed(head.seq, 1))) !== undefined) throw new BrokenChainError('numbers-taken');
    const { seals, seq, hash } = chain(head, rows);
    const next = signStatement(await keys.signing(unit), { seq, hash, at: unit.now });
    const sealed = await unit.run(store.seal(seals));
    const moved = await unit.run(store.moveHead(head.seq, next));
    if (sealed !== seals.length || moved !== 1) throw new Error('the audit log changed while it was sealed');
    return rows.length === batch ? 'some' : 'all';
  };

  const attempt = async (): Promise<Sealed> =>
    (await db.one(store.oldestWaiting())) === undefined ? 'all' : db.work(sealerContext, sealSome);
  return {
    run: async () => (await attempt()) === 'some',
    runAll: async () => {
      for (const until = clock.monotonic() + heldMs; ; ) {
        const sealed = await attempt();
        if (sealed === 'all' || (sealed === 'held' && clock.monotonic() > until)) return;
        if (sealed === 'held') await sleep(lookMs);
      }
    },
  };
}
