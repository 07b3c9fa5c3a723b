import { Failure } from '#src/contract/errors.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { auditEntries } from '../../outbox/index.js';
import { firstHash } from '../chain/entry.js';
import { type SignedSegment, signStatement } from '../chain/statement.js';
import { createChainVerifier } from '../chain/verifier.js';
import { headIn } from '../model/head.js';
import type { AuditStore } from '../model/store.js';
import type { AuditKeys } from './keys.js';
import { sealerContext } from './sealer.js';
import type { Verification } from './verification.js';

const dayMs = 86_400_000;
/** Entries removed per unit of work. */
const batch = 200;

interface Deps extends Pick<Runtime, 'db' | 'clock' | 'log'> {
  readonly store: AuditStore;
  readonly keys: AuditKeys;
  readonly verification: Verification;
}

/**
 * Removes entries older than this number of days from the start of the chain, after signing a segment that describes them. Continues a run
 * that was killed after signing. Throws Failure if the chain is broken.
 */
export async function removeOldEntries(deps: Deps, days: number, signal: AbortSignal): Promise<void> {
  const { db, store, verification } = deps;
  const upTo = await lastOld(deps, days);
  const before = await verification.segments();
  const stated = before.at(-1)?.lastSeq ?? 0;
  if (!(await state(deps, before, upTo))) throw new Failure('general_unavailable');
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
}

/** The number of the last removable entry: all entries up to it are older than this number of days. */
async function lastOld({ db, clock, store }: Deps, days: number): Promise<number> {
  const first = await db.one(store.firstSince(instantOf(clock.now() - days * dayMs)));
  if (first !== undefined) return Number(first.seq) - 1;
  return (await headIn(db, store.head()))?.seq ?? 0;
}

/** Signs a segment of the entries up to a number, if they and the earlier segments are intact. */
async function state(deps: Deps, before: readonly SignedSegment[], upTo: number): Promise<boolean> {
  const { db, store, keys, verification } = deps;
  const publicKeys = await keys.publicKeys(db);
  const verifier = createChainVerifier({ keys: publicKeys, isSigned: () => true });
  for (const segment of before) verifier.segment(segment);
  if (verifier.isBroken()) return refused(deps);
  const stated = before.at(-1)?.lastSeq ?? 0;
  if (upTo <= stated) return true;
  await verification.checkRange(verifier, stated, upTo);
  const last = await db.one(store.sealed(upTo - 1, 1));
  const { seq, hash } = last === undefined ? { seq: null, hash: null } : auditEntries.decode(last);
  if (verifier.isBroken() || seq !== upTo || hash === null) return refused(deps);
  await db.work(sealerContext, async (unit) => {
    const segment = signStatement(await keys.signing(unit), {
      firstSeq: stated + 1,
      lastSeq: upTo,
      previousHash: before.at(-1)?.hash ?? firstHash,
      hash,
      at: unit.now,
    });
    await unit.run(store.insertSegment(segment));
    const payload = { firstSeq: stated + 1, lastSeq: upTo, entries: upTo - stated };
    unit.record('auditPruned', { resource: `audit/${upTo}`, payload });
  });
  return true;
}

function refused({ log }: Deps): false {
  log.error('audit.prune.refused', { reason: 'svc audit verify finds a bad entry' });
  return false;
}
