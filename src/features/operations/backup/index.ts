import type { Runtime } from '#src/platform/index.js';
import { backupDueSince, backupJob, createBackupJobs } from './jobs.js';
import { createBackupMetrics } from './metrics.js';
import { createBackups } from './service.js';

export { backupArchive, type MadeBackup } from './archive.js';
export { backupEntries } from './create.js';
export { removeRemains } from './jobs.js';
export { type LoadedBackup, readHead, UnknownFormatError } from './load.js';
export type { BackupHead } from './manifest.js';
export { newBackupName } from './names.js';
export { type BackupPlace, backupKey, defaultLocation, openPlace } from './place.js';
export { restoreBackup, UnknownSchemaError } from './restore.js';
export { createBackups } from './service.js';
export {
  BackupError,
  collectionStorages,
  createCollectionTables,
  isDocuments,
  isOfCollection,
  shapesIn,
  storedTables,
} from './tables.js';

/** Creates the records of backups, their metrics and the job of scheduled ones. */
export function createBackupFeature(runtime: Runtime) {
  const backups = createBackups(runtime);
  const metrics = createBackupMetrics(runtime);
  // A metric without a value is 0.
  metrics.lastSuccess.remove();
  metrics.due.remove();
  runtime.metrics.beforeRender(async () => {
    const due = backupDueSince(runtime);
    if (due !== undefined) metrics.due.set(due / 1000);
    const last = await backups.lastBackup();
    if (last !== undefined) metrics.lastSuccess.set(Date.parse(last.createdAt) / 1000);
  });
  return {
    backups: {
      ...backups,
      /** Name of the job of scheduled backups. */
      job: backupJob,
      /** The time before which the last backup is too old; undefined if none is scheduled. */
      dueSince: () => backupDueSince(runtime),
    },
    operations: [],
    jobs: createBackupJobs(runtime, backups, metrics),
  };
}
