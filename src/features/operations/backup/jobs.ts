import { createHash } from 'node:crypto';
import { decrypted } from '#src/platform/archive/encryption.js';
import { DamagedArchiveError, entriesOf } from '#src/platform/archive/reader.js';
import { parseKeep } from '#src/platform/config/backup-settings.js';
import { openDatabase } from '#src/platform/db/index.js';
import { type AuditContext, byJob } from '#src/platform/db/outbox.js';
import { FileStoreError, ObjectNotFoundError } from '#src/platform/file-store/index.js';
import type { Runtime } from '#src/platform/index.js';
import { createTimetable, type Job, JobError } from '#src/platform/jobs/scheduler.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { whyUnreadable, whyUnwritable } from '#src/platform/runtime/system-errors.js';
import { backupArchive, type MadeBackup } from './archive.js';
import { hashed } from './manifest.js';
import type { BackupMetrics } from './metrics.js';
import { isOwnName, newBackupName } from './names.js';
import { type BackupPlace, defaultLocation, openPlace } from './place.js';
import { tooOld } from './retention.js';
import type { Backups } from './service.js';
import { BackupError } from './tables.js';

/** Name of the job of scheduled backups. */
export const backupJob = 'backup.create';

/** Remains of killed backups are removed after this time. */
const remainMs = 86_400_000;

type Deps = Pick<
  Runtime,
  'config' | 'clock' | 'random' | 'log' | 'metrics' | 'files' | 'migrator' | 'db' | 'sql' | 'driver'
>;

/** The job of scheduled backups; none without `SVC_BACKUP_CRON`. */
export function createBackupJobs(
  runtime: Deps,
  backups: Backups,
  { failures }: Pick<BackupMetrics, 'failures'>,
): readonly Job[] {
  const { config, log } = runtime;
  if (config.backupCron === undefined) return [];
  const run: Job['run'] = async (signal) => {
    const place = openPlace(defaultLocation(config), config, { log });
    try {
      await backUp(runtime, backups, place, signal);
    } catch (error) {
      if (!signal.aborted) failures.inc();
      throw error;
    } finally {
      await place.store.close();
    }
  };
  const summary = 'Makes a backup, reads it again, and deletes old ones; SVC_BACKUP_CRON is its schedule';
  return [{ name: backupJob, schedule: config.backupCron, summary, lease: 'database', run }];
}

/** The time before which the last backup is too old: the scheduled time before the last one. Undefined without `SVC_BACKUP_CRON`. */
export function backupDueSince({ config, clock }: Pick<Runtime, 'config' | 'clock'>): number | undefined {
  if (config.backupCron === undefined) return undefined;
  const { previous } = createTimetable(config.backupCron);
  return previous(previous(clock.now()) - 1);
}

/** Removes remains of killed backups. Call it before a new one is made. */
export async function removeRemains({ store }: BackupPlace, nowMs: number): Promise<void> {
  await store.removeRemains(({ key, modifiedAt }) => isOwnName(key) && modifiedAt < nowMs - remainMs);
}

async function backUp(runtime: Deps, backups: Backups, place: BackupPlace, signal: AbortSignal): Promise<void> {
  const { config, clock, log } = runtime;
  const at = clock.now();
  const passphrase = config.backupPassphrase?.reveal();
  const name = newBackupName(at, passphrase !== undefined);
  const file = place.fileOf(name);
  const by = byJob(backupJob, runtime.random.id());
  const writing = <T>(body: () => Promise<T>) => explained(file, whyUnwritable, 'cannot be written', body);
  const reading = <T>(body: () => Promise<T>) => explained(file, whyUnreadable, 'cannot be read', body);
  const made = await writing(async () => {
    await removeRemains(place, at);
    if ((await place.store.size(name)) !== undefined) throw new JobError(`${file} exists already.`);
    return write(runtime, place, { at, name, by, passphrase, signal });
  });
  const createdAt = instantOf(at);
  await backups.add(by, { file, createdAt, bytes: made.bytes });
  const isWhole = await reading(() => sameBytes(place, { name, made, passphrase, signal }));
  if (!isWhole) {
    await backups.remove(by, file);
    throw new JobError(`${file} has other bytes than were written.`);
  }
  await backups.verified(by, { file, createdAt, bytes: made.bytes });
  log.info('backup.created', { file, bytes: made.bytes, ms: Math.round(clock.now() - at) });
  await writing(() => removeOld(runtime, backups, place, by, signal));
}

interface Writing {
  readonly at: number;
  readonly name: string;
  readonly by: AuditContext;
  readonly passphrase: string | undefined;
  readonly signal: AbortSignal;
}

/** Writes an archive. Its snapshot has connections of its own, so that requests do not wait for one. */
async function write(
  runtime: Deps,
  { store }: BackupPlace,
  { at, name, by, passphrase, signal }: Writing,
): Promise<MadeBackup> {
  const { config, clock, metrics } = runtime;
  const reports = { onChange: () => {}, onWritable: () => {}, onUnprepared: () => {}, onStandby: () => {} };
  const { driver } = await openDatabase({ ...config, databaseReadUrl: undefined }, { clock, metrics, ...reports });
  try {
    let made: MadeBackup | undefined;
    const options = { at: new Date(at), by, passphrase, onProgress: () => {} };
    const bytes = backupArchive({ ...runtime, driver }, options, (all) => {
      made = all;
    });
    await store.write(name, untilAborted(bytes, signal), { isNew: true });
    return made ?? (await Promise.reject(new TypeError('the archive was not read to its end')));
  } finally {
    await driver.close();
  }
}

async function* untilAborted(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    signal.throwIfAborted();
    yield piece;
  }
}

interface Written extends Pick<Writing, 'name' | 'passphrase' | 'signal'> {
  readonly made: MadeBackup;
}

/** Reads an archive again, decrypts it, and compares its digests. */
async function sameBytes({ store }: BackupPlace, { name, passphrase, signal, made }: Written): Promise<boolean> {
  const digest = createHash('sha256');
  try {
    const bytes = hashed(untilAborted(await store.read(name), signal), digest);
    for await (const entry of entriesOf(decrypted(bytes, passphrase))) for await (const _ of entry.bytes);
    return digest.digest('hex') === made.sha256;
  } catch (error) {
    if (error instanceof DamagedArchiveError || error instanceof ObjectNotFoundError) return false;
    throw error;
  }
}

async function removeOld(
  { config, log }: Deps,
  backups: Backups,
  place: BackupPlace,
  by: AuditContext,
  signal: AbortSignal,
): Promise<void> {
  const keep = config.backupKeep === undefined ? undefined : parseKeep(config.backupKeep);
  if (keep === undefined) return;
  const own = (await backups.list(place)).filter(({ isOwn }) => isOwn);
  for (const { name, file } of tooOld(own, keep)) {
    signal.throwIfAborted();
    await place.store.remove(name);
    await backups.remove(by, file);
    log.info('backup.removed', { file });
  }
}

/** Runs a body. Converts errors that operators can correct to JobError. */
async function explained<T>(
  file: string,
  reasonOf: (error: unknown) => string,
  what: string,
  body: () => Promise<T>,
): Promise<T> {
  try {
    return await body();
  } catch (cause) {
    if (cause instanceof FileStoreError) throw new JobError(`${file} ${what}: ${reasonOf(cause.reason)}.`, { cause });
    if (cause instanceof BackupError) throw new JobError(`No backup was made: ${cause.message}.`, { cause });
    throw cause;
  }
}
