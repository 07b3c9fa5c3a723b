import { Failure } from '#src/contract/errors.js';
import { fileLimits, jobLimits } from '#src/contract/limits.js';
import { instantOf } from '#src/platform/clock.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import { FileStoreError } from '#src/platform/file-store/index.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/scheduler.js';
import type { BucketStore, Buckets } from '../../buckets/index.js';
import type { Previews } from '../previews/index.js';
import { type FileStatements, files as fileTable } from '../store.js';
import { giveUp } from '../uploads/giving-up.js';

type Deps = Pick<Runtime, 'db' | 'files' | 'clock' | 'random'>;

/** What is removed step by step: files of deleted buckets, uploads that were given up, and bytes that no file names any more. */
export function createFileJobs(
  { db, files, clock, random }: Deps,
  {
    buckets,
    bucketStore,
    statements,
    previews,
  }: {
    readonly buckets: Buckets;
    readonly bucketStore: BucketStore;
    readonly statements: FileStatements;
    readonly previews: Pick<Previews, 'forget'>;
  },
) {
  const context = (): AuditContext => ({
    projectId: null,
    actor: { kind: 'job', id: 'files.sweep' },
    requestId: random.id(),
  });
  const ago = (seconds: number) => instantOf(clock.now() - seconds * 1000);
  /** Removes the files of a bucket; their events are that of the bucket. */
  const emptyBucket = async (by: AuditContext, key: string, signal?: AbortSignal): Promise<void> => {
    for (let isMore = true; isMore && !signal?.aborted; )
      isMore = await db.work(by, async (unit) => {
        const ids = (await unit.all(statements.some(key, jobLimits.batch))).map(({ id }) => String(id));
        if (ids.length === 0) return false;
        // The files first: this waits for chunks that are being added, whose objects are then left too.
        await unit.run(statements.removeSome(key, ids));
        await unit.run(statements.leaveObjects(key, ids, unit.now));
        return true;
      });
  };
  const removeBuckets = async (signal: AbortSignal): Promise<void> => {
    for (const row of await db.all(bucketStore.deleted(jobLimits.batch))) {
      await emptyBucket(context(), String(row.key), signal);
      if (signal.aborted) return;
      await db.work(context(), (unit) => unit.run(bucketStore.remove(String(row.key))));
    }
  };
  const giveUpUploads = async (signal: AbortSignal): Promise<void> => {
    const before = ago(fileLimits.abandonedSeconds);
    for (let isMore = true; isMore && !signal.aborted; )
      isMore = await db.work(context(), async (unit) => {
        const rows = await unit.all(statements.abandoned(before, jobLimits.batch));
        for (const row of rows) await giveUp(unit, { buckets, statements }, fileTable.decode(row), before);
        return rows.length === jobLimits.batch;
      });
  };
  let lookedUntil = '';
  /** Leaves objects that are stored for a file that is gone; each run looks at some, and begins anew after the last. */
  const leaveStrays = async (): Promise<void> => {
    const rows = await db.all(statements.strays(lookedUntil, fileLimits.lookedAt));
    lookedUntil = rows.length < fileLimits.lookedAt ? '' : String(rows.at(-1)?.key);
    const keys = rows.filter(({ is_stray: isStray }) => Number(isStray) === 1).map(({ key }) => String(key));
    if (keys.length > 0) await db.work(context(), (unit) => unit.run(statements.leaveStrays(keys, unit.now)));
  };
  const removeObjects = async (state: 'writing' | 'removed', signal: AbortSignal): Promise<void> => {
    const before = state === 'writing' ? ago(fileLimits.writingSeconds) : ago(0);
    while (!signal.aborted) {
      const keys = (await db.all(statements.left(state, before, jobLimits.batch))).map(({ key }) => String(key));
      if (keys.length === 0) return;
      await db.work(context(), (unit) => unit.run(statements.claim(keys, unit.now)));
      for (const key of keys) {
        await previews.forget(key);
        await files.remove(key);
      }
      await db.work(context(), (unit) => unit.run(statements.forget(keys)));
    }
  };
  const sweep: Job['run'] = async (signal) => {
    await removeBuckets(signal);
    await giveUpUploads(signal);
    await leaveStrays();
    await removeObjects('writing', signal);
    await removeObjects('removed', signal);
  };
  const jobs: readonly Job[] = [
    {
      name: 'files.sweep',
      schedule: '20 * * * * *',
      summary: 'Removes files of deleted buckets, uploads without a chunk for a day, and bytes of deleted files',
      lease: 'database',
      run: sweep,
    },
  ];
  return {
    jobs,
    /** Removes the bytes of deleted files now. Throws Failure `general_unavailable` where the store does not let it. */
    removeBytes: async (): Promise<void> => {
      try {
        await removeObjects('removed', new AbortController().signal);
      } catch (error) {
        if (!(error instanceof FileStoreError)) throw error;
        throw new Failure('general_unavailable', {
          message: 'The file store does not answer. The bytes of deleted files are removed when it does.',
          cause: error,
        });
      }
    },
    /** Removes the files of a project, in several transactions. */
    emptyProject: async (by: AuditContext, projectId: string): Promise<void> => {
      for (const { key } of await db.all(bucketStore.ofProject(projectId))) await emptyBucket(by, String(key));
    },
  };
}
