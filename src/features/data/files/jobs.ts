import { Failure } from '#src/contract/errors.js';
import { fileLimits, jobLimits } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import { backupHold } from '#src/platform/db/backup-hold.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import { createSteps, type Steps } from '#src/platform/db/steps.js';
import { FileStoreError } from '#src/platform/file-store/index.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import type { BucketStore, Buckets } from '../buckets/index.js';
import { type FileStatements, files as fileTable } from './model/store.js';
import type { Previews } from './previews/index.js';
import { giveUp } from './uploads/rows.js';

interface Deps extends Pick<Runtime, 'db' | 'sql' | 'files' | 'clock' | 'random'> {
  readonly buckets: Buckets;
  readonly bucketStore: BucketStore;
  readonly statements: FileStatements;
  readonly previews: Pick<Previews, 'forget'>;
}

/** Cleanup in batches: files of deleted buckets, abandoned uploads, and bytes without a file. */
interface FileJobs {
  readonly jobs: readonly Job[];
  /** Removes the bytes of deleted files now. Throws Failure `general_unavailable` if the file store fails. */
  removeBytes(): Promise<void>;
  /** Deletes the files of a project, in several transactions. */
  emptyProject(by: AuditContext, projectId: string, steps: Steps): Promise<void>;
}

/** Creates the cleanup. Each sweep checks the objects that follow those of the sweep before. */
export function createFileJobs(
  { db, sql, files, clock, random }: Pick<Runtime, 'db' | 'sql' | 'files' | 'clock' | 'random'>,
  given: Pick<Deps, 'buckets' | 'bucketStore' | 'statements' | 'previews'>,
): FileJobs {
  const deps: Deps = { ...given, db, sql, files, clock, random };
  const checked = { until: '' };
  const sweep: Job = {
    name: 'files.sweep',
    schedule: '20 * * * * *',
    summary: 'Removes files of deleted buckets, uploads without a chunk for a day, and bytes of deleted files',
    lease: 'database',
    run: async (signal) => {
      await removeBuckets(deps, signal);
      await giveUpUploads(deps, signal);
      await leaveStrays(deps, checked);
      await removeObjects(deps, 'writing', ago(deps, fileLimits.writingSeconds), signal);
      // Read before the hold, so that nothing deleted after the start of a backup is removed.
      const now = ago(deps, 0);
      const held = await db.one(backupHold.find(sql, now));
      if (held === undefined) await removeObjects(deps, 'removed', now, signal);
    },
  };
  return { jobs: [sweep], ...bind(deps, { removeBytes, emptyProject }) };
}

async function removeBytes(deps: Deps): Promise<void> {
  try {
    await removeObjects(deps, 'removed', ago(deps, 0), new AbortController().signal);
  } catch (error) {
    if (!(error instanceof FileStoreError)) throw error;
    throw new Failure('general_unavailable', {
      message: 'The file store does not answer. The bytes of deleted files are removed when it does.',
      cause: error,
    });
  }
}

async function emptyProject(deps: Deps, by: AuditContext, projectId: string, steps: Steps): Promise<void> {
  for (const { key } of await deps.db.all(deps.bucketStore.ofProject(projectId)))
    await emptyBucket(deps, by, String(key), steps);
}

async function removeBuckets(deps: Deps, signal: AbortSignal): Promise<void> {
  const { db, bucketStore } = deps;
  for (const row of await db.all(bucketStore.deleted(jobLimits.batch))) {
    await emptyBucket(deps, contextOf(deps), String(row.key), createSteps({ signal }));
    await db.work(contextOf(deps), (unit) => unit.run(bucketStore.remove(String(row.key))));
  }
}

/** Deletes the files of a bucket without an event for each: `bucketDeleted` covers them. */
async function emptyBucket({ db, statements }: Deps, by: AuditContext, key: string, steps: Steps): Promise<void> {
  await steps.run('files', (limit) =>
    db.work(by, async (unit) => {
      const ids = (await unit.all(statements.some(key, limit))).map(({ id }) => String(id));
      if (ids.length === 0) return 0;
      // Deletes the files first: that waits for chunks being added, so that their objects are marked too.
      await unit.run(statements.removeSome(key, ids));
      await unit.run(statements.leaveObjects(key, ids, unit.now));
      return ids.length;
    }),
  );
}

async function giveUpUploads(deps: Deps, signal: AbortSignal): Promise<void> {
  const before = ago(deps, fileLimits.abandonedSeconds);
  for (let isMore = true; isMore && !signal.aborted; )
    isMore = await deps.db.work(contextOf(deps), async (unit) => {
      const rows = await unit.all(deps.statements.abandoned(before, jobLimits.batch));
      for (const row of rows) await giveUp(deps, unit, fileTable.decode(row), before);
      return rows.length === jobLimits.batch;
    });
}

/** Marks stored objects whose file is gone for removal. Each run checks one batch and starts over after the last object. */
async function leaveStrays(deps: Deps, checked: { until: string }): Promise<void> {
  const { db, statements } = deps;
  const rows = await db.all(statements.strays(checked.until, fileLimits.lookedAt));
  checked.until = rows.length < fileLimits.lookedAt ? '' : String(rows.at(-1)?.key);
  const keys = rows.filter(({ is_stray: isStray }) => Number(isStray) === 1).map(({ key }) => String(key));
  if (keys.length > 0) await db.work(contextOf(deps), (unit) => unit.run(statements.leaveStrays(keys, unit.now)));
}

async function removeObjects(
  deps: Deps,
  state: 'writing' | 'removed',
  before: Instant,
  signal: AbortSignal,
): Promise<void> {
  const { db, files, statements, previews } = deps;
  while (!signal.aborted) {
    const keys = (await db.all(statements.left(state, before, jobLimits.batch))).map(({ key }) => String(key));
    if (keys.length === 0) return;
    await db.work(contextOf(deps), (unit) => unit.run(statements.claim(keys, unit.now)));
    for (const key of keys) {
      await previews.forget(key);
      await files.remove(key);
    }
    await db.work(contextOf(deps), (unit) => unit.run(statements.forget(keys)));
  }
}

function ago({ clock }: Deps, seconds: number): Instant {
  return instantOf(clock.now() - seconds * 1000);
}

function contextOf({ random }: Deps): AuditContext {
  return { projectId: null, actor: { kind: 'job', id: 'files.sweep' }, requestId: random.id() };
}
