import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { auditEntries } from '../../outbox/index.js';
import { type ChainEntry, digestOf, hashOf, recordedText } from '../chain/entry.js';
import { isHeadGenuine, type SignedHead, signHead } from '../chain/statement.js';
import { type AuditRow, type AuditStore, auditHeads, type Seal } from '../store.js';
import type { AuditKeys } from './keys.js';

/** What came of an attempt: all that waited is sealed, there may be more, or another process is at it. */
type Sealed = 'all' | 'some' | 'held';

/** How long another process may take for its batch, and how often it is looked at. */
const heldMs = 1000;
const lookMs = 20;
/** Entries that are sealed in one unit of work. */
const batch = 500;

/** The chain cannot be continued: its head was changed or removed, or entries have numbers beyond it. */
export class BrokenChainError extends Error {
  readonly code: string;

  constructor(code: 'head-missing' | 'head-changed' | 'numbers-taken') {
    super(`the audit log cannot be sealed: ${code}`);
    this.name = 'BrokenChainError';
    this.code = code;
  }
}

/** Who seals, in the log of units. */
export const sealerContext: AuditContext = {
  projectId: null,
  actor: { kind: 'service', id: 'audit' },
  requestId: '',
};

/** The head with its signature; before anything is sealed there is none. */
export function signedHeadOf(row: ReturnType<typeof auditHeads.decode>): SignedHead {
  return { seq: row.seq, hash: row.hash, at: row.at ?? '', keyId: row.keyId ?? '', signature: row.signature ?? '' };
}

/**
 * Gives entries their numbers and continues the chain. The row of the head is the lease: whoever holds it seals, for the time of one unit, and
 * the head moves only from where it stood. So a process that stalls or dies leaves all of a batch or nothing of it, and none is sealed twice.
 */
export function createSealer(
  { db, clock, log, sealing }: Pick<Runtime, 'db' | 'clock' | 'log' | 'sealing'>,
  store: AuditStore,
  keys: AuditKeys,
) {
  /** Undefined where another process is at it. */
  const lockHead = async (unit: Unit): Promise<SignedHead | undefined> => {
    const row = await unit.one(store.lockHead());
    if (row !== undefined) return signedHeadOf(auditHeads.decode(row));
    if ((await unit.one(store.head())) === undefined) throw new BrokenChainError('head-missing');
    return undefined;
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
      // It is sealed all the same: a log that stops at a forged entry would be worse.
      if (sealing.auditMac(recordedText(row)) !== row.mac) log.error('audit.forged', { entry: row.id, seq });
    }
    return { seals, seq, hash };
  };
  /** The oldest entries that wait are sealed; those of units that commit later are found by the next call, whatever their ids. */
  const sealSome = async (unit: Unit): Promise<Sealed> => {
    const head = await lockHead(unit);
    if (head === undefined) return 'held';
    // Only a log that was never sealed has a head without a signature.
    const isGenuine = head.seq === 0 ? !(await keys.exist(unit)) : isHeadGenuine(await keys.publicKeys(unit), head);
    if (!isGenuine) throw new BrokenChainError('head-changed');
    const rows = (await unit.all(store.waiting(batch))).map((row) => auditEntries.decode(row));
    if (rows.length === 0) return 'all';
    if ((await unit.one(store.sealed(head.seq, 1))) !== undefined) throw new BrokenChainError('numbers-taken');
    const { seals, seq, hash } = chain(head, rows);
    const next = signHead(await keys.signing(unit), { seq, hash, at: unit.now });
    const sealed = await unit.run(store.seal(seals));
    const moved = await unit.run(store.moveHead(head.seq, next));
    if (sealed !== seals.length || moved !== 1) throw new Error('the audit log changed while it was sealed');
    return rows.length === batch ? 'some' : 'all';
  };

  const attempt = async (): Promise<Sealed> =>
    (await db.one(store.oldestWaiting())) === undefined ? 'all' : db.work(sealerContext, sealSome);
  return {
    /** Seals a batch, if any entry waits, and tells whether there may be more. Throws BrokenChainError. */
    run: async (): Promise<boolean> => (await attempt()) === 'some',
    /** Seals everything that waits; what another process holds is waited for, but not for long. Throws BrokenChainError. */
    runAll: async (): Promise<void> => {
      for (const until = clock.monotonic() + heldMs; ; ) {
        const sealed = await attempt();
        if (sealed === 'all' || (sealed === 'held' && clock.monotonic() > until)) return;
        if (sealed === 'held') await sleep(lookMs);
      }
    },
  };
}

/** Seals the audit log. */
export type Sealer = ReturnType<typeof createSealer>;
