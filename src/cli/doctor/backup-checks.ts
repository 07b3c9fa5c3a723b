import type { Appliance } from '#src/appliance.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
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
