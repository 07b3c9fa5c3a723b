import type { Runtime } from '#src/platform/index.js';
import { durationBuckets } from '#src/platform/runtime/metrics.js';

/** Creates the metrics of slow lists that no index serves. The result is called with the duration of a list in seconds. */
export function createScanMetrics({ metrics }: Pick<Runtime, 'metrics'>): (seconds: number) => void {
  const scans = metrics.counter({
    name: 'svc_list_scans_total',
    help: 'Slow lists of documents that no index serves',
  });
  const time = metrics.histogram({
    name: 'svc_list_scan_duration_seconds',
    help: 'Time such a list took in the database',
    buckets: durationBuckets.filter((seconds) => seconds >= 0.05),
  });
  return (seconds) => {
    scans.inc();
    time.observe(seconds);
  };
}
