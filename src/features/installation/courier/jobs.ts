import { courierLimits } from '#src/contract/limits.js';
import { pruneInBatches } from '#src/platform/db/prune.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import type { MessageStore } from './model/store.js';

/** Periodic jobs: send due messages, delete old ones. */
export function createCourierJobs(
  { db, clock, random }: Pick<Runtime, 'db' | 'clock' | 'random'>,
  store: MessageStore,
  sendAll: Job['run'],
): readonly Job[] {
  const prune: Job['run'] = async (signal) => {
    const by = { projectId: null, actor: { kind: 'job', id: 'courier.prune' }, requestId: random.id() };
    const before = instantOf(clock.now() - courierLimits.retentionDays * 86_400_000);
    await pruneInBatches(db, by, signal, (limit) => store.prune(before, limit));
  };
  return [
    {
      name: 'courier.send',
      schedule: '*/10 * * * * *',
      summary: 'Sends the mails and SMS that are due',
      lease: 'database',
      run: sendAll,
    },
    {
      name: 'courier.prune',
      schedule: '0 40 3 * * *',
      summary: `Deletes messages older than ${courierLimits.retentionDays} days`,
      lease: 'database',
      run: prune,
    },
  ];
}
