import type { Random } from '../crypto/random.js';
import { byJob } from '../db/outbox.js';
import { pruneInBatches } from '../db/prune.js';
import type { Query } from '../db/query.js';
import type { Database } from '../db/unit.js';
import type { Job } from './scheduler.js';

/** Creates a job of one process at a time that deletes old rows in batches. */
export function createPruningJob(
  { db, random }: { readonly db: Pick<Database, 'work'>; readonly random: Random },
  described: Pick<Job, 'name' | 'schedule' | 'summary'>,
  deleteSome: (limit: number) => Query,
): Job {
  const run: Job['run'] = (signal) => pruneInBatches(db, byJob(described.name, random.id()), signal, deleteSome);
  return { ...described, lease: 'database', run };
}
