import type { Appliance } from '#src/appliance.js';
import { defaultLocation, openPlace } from '#src/features/index.js';
import { FileStoreError } from '#src/platform/file-store/index.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import { whyUnreadable } from '#src/platform/runtime/system-errors.js';
import { type DoctorFinding, found } from './finding.js';

/** Checks scheduled backups. Without a schedule, backups may be made by other programs. */
export async function backupFindings({ features: { backups, jobs } }: Appliance): Promise<DoctorFinding[]> {
  const due = backups.dueSince();
  if (due === undefined) return [];
  const fix = `svc cron run ${backups.job}`;
  const lastError = (await jobs.list()).find(({ name }) => name === backups.job)?.lastError ?? null;
  const failed =
    lastError === null ? [] : [found('backup_failed', `The last scheduled backup failed: ${lastError}`, fix)];
  const last = await backups.lastBackup();
  if (last === undefined) {
    const message = 'SVC_BACKUP_CRON is set, but no backup was made yet.';
    return [...failed, ...(lastError === null ? [found('backup_missing', message, fix)] : [])];
  }
  if (millisecondsOf(last.createdAt) >= due) return failed;
  const message = `The last backup is of ${last.createdAt}, and a newer one was due at ${instantOf(due)}.`;
  return [...failed, found('backup_old', message, fix)];
}

/** Finds recorded backups that are missing from the configured place. */
export async function placeFindings({ runtime: { config, log }, features }: Appliance): Promise<DoctorFinding[]> {
  if (config.backupTo === undefined && (await features.backups.lastBackup()) === undefined) return [];
  const location = defaultLocation(config);
  const place = openPlace(location, config, { log });
  try {
    const missing = await features.backups.missing(place);
    if (missing.length === 0) return [];
    const message = `Backups of this installation are gone (${missing.length}), the newest is ${missing[0]}.`;
    return [found('backup_gone', message, 'mount its disk; if it was deleted, svc backup create')];
  } catch (error) {
    if (!(error instanceof FileStoreError)) throw error;
    // The check of the settings reports directories.
    if (location.kind === 'disk') return [];
    const message = `The place of backups cannot be used: ${whyUnreadable(error.reason)}.`;
    return [found('backup_place_unusable', message, 'svc config check')];
  } finally {
    await place.store.close();
  }
}
