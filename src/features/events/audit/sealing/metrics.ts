import type { Runtime } from '#src/platform/index.js';
import { millisecondsOf } from '#src/platform/runtime/clock.js';
import { headIn } from '../model/head.js';
import type { AuditStore } from '../model/store.js';

/** Maximum number of unsealed entries that are counted. */
const maxCounted = 10_000;

/** Metrics of the chain. */
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

/** Updates the metrics of the chain before each rendering. */
export function measureSealing(
  { db, clock, metrics }: Pick<Runtime, 'db' | 'clock' | 'metrics'>,
  store: AuditStore,
): void {
  const { unsealed, oldest, headAge } = createAuditMetrics({ metrics });
  const age = (at: string) => Math.max(0, clock.now() - millisecondsOf(at)) / 1000;
  metrics.beforeRender(async () => {
    const count = await db.one(store.countWaiting(maxCounted));
    const waiting = await db.one(store.oldestWaiting());
    const at = (await headIn(db, store.head()))?.at ?? '';
    unsealed.set(Number(count?.total ?? 0));
    oldest.set(waiting === undefined ? 0 : age(String(waiting.at)));
    headAge.set(at === '' ? 0 : age(at));
  });
}
