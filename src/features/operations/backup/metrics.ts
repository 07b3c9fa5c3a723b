import type { Runtime } from '#src/platform/index.js';

type Gauge = ReturnType<Runtime['metrics']['gauge']>;

/** Metrics of backups. */
export interface BackupMetrics {
  readonly lastSuccess: Gauge;
  readonly due: Gauge;
  readonly failures: ReturnType<Runtime['metrics']['counter']>;
}

/** Metrics of backups. */
export function createBackupMetrics({ metrics }: Pick<Runtime, 'metrics'>): BackupMetrics {
  return {
    lastSuccess: metrics.gauge({
      name: 'svc_backup_last_success_timestamp_seconds',
      help: 'When the last backup was made, in seconds since 1970',
    }),
    due: metrics.gauge({
      name: 'svc_backup_due_timestamp_seconds',
      help: 'Since when there should be a newer backup: the scheduled time before the last one, in seconds since 1970',
    }),
    failures: metrics.counter({
      name: 'svc_backup_failures_total',
      help: 'Scheduled backups of this process that failed',
    }),
  };
}
