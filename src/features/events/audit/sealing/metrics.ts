import { millisecondsOf } from '#src/platform/clock.js';
import type { Runtime } from '#src/platform/index.js';
import { type AuditStore, auditHeads } from '../store.js';
import { signedHeadOf } from './sealer.js';

/** How far entries that wait are counted. */
const maxCounted = 10_000;

/** The measurements of the chain. */
export function createAuditMetrics({ metrics }: Pick<Runtime, 'metrics'>) {
  return {
    unsealed: metrics.gauge({ name: 'svc_audit_unsealed', help: 'Entries of the audit log that are not sealed yet' }),
    oldest: metrics.gauge({
      name: 'svc_audit_oldest_unsealed_seconds',
      help: 'Age of the oldest entry of the audit log that is not sealed yet, 0 where all are',
    }),
    headAge: metrics.gauge({
      name: 'svc_audit_head_age_seconds',
      help: 'Age of the signed head of the audit log; it grows while nothing is recorded',
    }),
  };
}

/** Measures before each rendering how far the chain lies behind. */
export function measureSealing(
  { db, clock, metrics }: Pick<Runtime, 'db' | 'clock' | 'metrics'>,
  store: AuditStore,
): void {
  const { unsealed, oldest, headAge } = createAuditMetrics({ metrics });
  const age = (at: string) => Math.max(0, clock.now() - millisecondsOf(at)) / 1000;
  const measure = async (): Promise<void> => {
    const count = await db.one(store.countWaiting(maxCounted));
    const waiting = await db.one(store.oldestWaiting());
    const head = await db.one(store.head());
    unsealed.set(Number(count?.total ?? 0));
    oldest.set(waiting === undefined ? 0 : age(String(waiting.at)));
    const at = head === undefined ? '' : signedHeadOf(auditHeads.decode(head)).at;
    headAge.set(at === '' ? 0 : age(at));
  };
  // While the database is away the last values stand; that it is away is a metric of its own.
  metrics.beforeRender(() => measure().catch(() => {}));
}
