import { webhookLimits } from '#src/contract/limits.js';
import { byJob, byService } from '#src/platform/db/outbox.js';
import { pruneInBatches } from '#src/platform/db/prune.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job, Settle } from '#src/platform/jobs/scheduler.js';
import type { Worker } from '#src/platform/jobs/worker.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import type { EventStore } from './deliveries/event-store.js';
import type { DeliveryStore } from './deliveries/store.js';
import { type WebhookStore, webhooks } from './model/store.js';

/** Deliveries made due per unit. */
const settledAtOnce = 500;

/** Makes deliveries due that were delayed before the clock was set back. */
export function createDeliverySettling(
  { db, clock }: Pick<Runtime, 'db' | 'clock'>,
  deliveries: DeliveryStore,
): Settle {
  const by = byJob('clock.settle');
  return async (signal) => {
    // Continues until none is left: a batch may be smaller if deliveries end concurrently.
    for (let moved = settledAtOnce; moved > 0; ) {
      signal.throwIfAborted();
      moved = await db.work(by, (unit) => unit.run(deliveries.bringForward(instantOf(clock.now()), settledAtOnce)));
    }
  };
}

/** Periodic jobs: start due deliveries, delete old ones. */
export function createWebhookJobs(
  { db, clock }: Pick<Runtime, 'db' | 'clock'>,
  worker: Worker,
  { store, deliveries, events }: { store: WebhookStore; deliveries: DeliveryStore; events: EventStore },
): readonly Job[] {
  const prune = async (signal: AbortSignal): Promise<void> => {
    const by = byService('webhooks');
    const before = instantOf(clock.now() - webhookLimits.retentionDays * 86_400_000);
    for (const row of await db.all(store.all())) {
      const webhook = webhooks.decode(row);
      await pruneInBatches(db, by, signal, (limit) => deliveries.prune(webhook, before, limit));
    }
    for (const { project_id } of await db.all(events.sequences()))
      await pruneInBatches(db, by, signal, (limit) => events.prune(String(project_id), before, limit));
  };
  return [
    {
      name: 'webhooks.deliver',
      schedule: '* * * * * *',
      summary: 'Fans events out and begins the deliveries that are due',
      lease: 'process',
      run: async () => worker.nudge(),
    },
    {
      name: 'webhooks.prune',
      schedule: '0 17 3 * * *',
      summary: `Removes deliveries and events older than ${webhookLimits.retentionDays} days`,
      lease: 'database',
      run: prune,
    },
  ];
}
