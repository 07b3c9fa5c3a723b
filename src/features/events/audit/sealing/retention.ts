import { Failure } from '#src/contract/errors.js';
import { instantOf } from '#src/platform/clock.js';
import type { Runtime } from '#src/platform/index.js';
import { auditEntries } from '../../outbox/index.js';
import { firstHash } from '../chain/entry.js';
import { type SignedSegment, signSegment } from '../chain/statement.js';
import { createChainVerifier } from '../chain/verifier.js';
import { type AuditStore, auditHeads } from '../store.js';
import type { AuditKeys } from './keys.js';
import { sealerContext } from './sealer.js';
import type { Verification } from './verification.js';

const dayMs = 86_400_000;

/** Removes old entries from the beginning of the chain, after a signed statement of what they were. */
export function createRetention(
  { db, clock, log }: Pick<Runtime, 'db' | 'clock' | 'log'>,
  store: AuditStore,
  { keys, verification }: { readonly keys: AuditKeys; readonly verification: Verification },
) {
  /** The number of the last entry that may go: all up to it are older than that many days. */
  const lastOld = async (days: number): Promise<number> => {
    const first = await db.one(store.firstSince(instantOf(clock.now() - days * dayMs)));
    if (first !== undefined) return Number(first.seq) - 1;
    const head = await db.one(store.head());
    return head === undefined ? 0 : auditHeads.decode(head).seq;
  };
  const refused = (): false => {
    log.error('audit.prune.refused', { reason: 'svc audit verify finds a bad entry' });
    return false;
  };
  /** States what the entries up to a number are, if they and the statements before are what was recorded. */
  const state = async (before: readonly SignedSegment[], upTo: number): Promise<boolean> => {
    const publicKeys = await keys.publicKeys(db);
    const verifier = createChainVerifier({ keys: publicKeys, isSigned: () => true });
    for (const segment of before) verifier.segment(segment);
    if (verifier.isBroken()) return refused();
    const stated = before.at(-1)?.lastSeq ?? 0;
    if (upTo <= stated) return true;
    await verification.checkRange(verifier, stated, upTo);
    const last = await db.one(store.sealed(upTo - 1, 1));
    const { seq, hash } = last === undefined ? { seq: null, hash: null } : auditEntries.decode(last);
    if (verifier.isBroken() || seq !== upTo || hash === null) return refused();
    await db.work(sealerContext, async (unit) => {
      const segment = signSegment(await keys.signing(unit), {
        firstSeq: stated + 1,
        lastSeq: upTo,
        previousHash: before.at(-1)?.hash ?? firstHash,
        hash,
        at: unit.now,
      });
      await unit.run(store.insertSegment(segment));
      const entries = upTo - stated;
      unit.record('auditPruned', {
        resource: `audit/${upTo}`,
        payload: { firstSeq: stated + 1, lastSeq: upTo, entries },
      });
    });
    return true;
  };
  return {
    /** Removes what is older; a run that was killed between statement and removal is continued. Throws Failure where the chain is broken. */
    run: async (days: number, signal: AbortSignal): Promise<void> => {
      const upTo = await lastOld(days);
      const before = await verification.segments();
      const stated = before.at(-1)?.lastSeq ?? 0;
      if (!(await state(before, upTo))) throw new Failure('general_unavailable');
      const last = Math.max(upTo, stated);
      if (last === 0) return;
      for (;;) {
        signal.throwIfAborted();
        const removed = await db.work(sealerContext, async (unit) => {
          await unit.run(store.pruneSubjects(last, batch));
          return unit.run(store.pruneEntries(last, batch));
        });
        if (removed < batch) return;
      }
    },
  };
}

/** Entries that are removed in one unit of work. */
const batch = 200;

/** Removes old entries. */
export type Retention = ReturnType<typeof createRetention>;
