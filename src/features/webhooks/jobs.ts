import { webhookLimits } from '#src/contract/limits.js';
import { instantOf } from '#src/platform/clock.js';
import type { Platform } from '#src/platform/index.js';
import type { Job } from '#src/platform/scheduler.js';
import type { Worker } from '#src/platform/worker.js';
import type { EventStore } from './deliveries/event-store.js';
import type { DeliveryStore } from './deliveries/store.js';
import { type WebhookStore, webhooks } from './store.js';

/** Rows removed in one unit. */
const prunedAtOnce = 500;

/** What is done again and again: looking for what is due, and removing what is old. */
export function createWebhookJobs(
  { db, clock }: Pick<Platform, 'db' | 'clock'>,
  worker: Worker,
  { store, deliveries, events }: { store: WebhookStore; deliveries: DeliveryStore; events: EventStore },
): readonly Job[] {
  /** Removes in small units until there is nothing more, or the job is to end. */
  const removeAll = async (
    signal: AbortSignal,
    some: (before: string) => Parameters<typeof db.all>[0],
  ): Promise<void> => {
    const before = instantOf(clock.now() - webhookLimits.retentionDays * 86_400_000);
    const by = { projectId: null, actor: { kind: 'service', id: 'webhooks' }, requestId: '' };
    let removed = prunedAtOnce;
    while (removed === prunedAtOnce) {
      signal.throwIfAborted();
      removed = await db.work(by, (unit) => unit.run(some(before)));
    }
  };
  const prune = async (signal: AbortSignal): Promise<void> => {
    for (const row of await db.all(store.all())) {
      const webhook = webhooks.decode(row);
      await removeAll(signal, (before) => deliveries.prune(webhook, before, prunedAtOnce));
    }
    for (const { project_id } of await db.all(events.sequences()))
      await removeAll(signal, (before) => events.prune(String(project_id), before, prunedAtOnce));
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
