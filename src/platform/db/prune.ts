import { jobLimits } from '#src/contract/limits.js';
import type { AuditContext } from './outbox.js';
import type { Query } from './query.js';
import type { Database } from './unit.js';

/** Deletes rows in small units of work until a batch is not full. Throws if the signal is aborted before that. */
export async function pruneInBatches(
  db: Pick<Database, 'work'>,
  by: AuditContext,
  signal: AbortSignal,
  deleteSome: (limit: number) => Query,
): Promise<void> {
  let removed: number;
  do {
    signal.throwIfAborted();
    removed = await db.work(by, (unit) => unit.run(deleteSome(jobLimits.batch)));
  } while (removed === jobLimits.batch);
}
