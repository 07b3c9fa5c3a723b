import type { Runtime } from '#src/platform/index.js';

/** Gauge of the requests that wait for events or stream them. */
export function createReaderGauge({ metrics }: Pick<Runtime, 'metrics'>, count: () => number): void {
  const readers = metrics.gauge({
    name: 'svc_feed_readers',
    help: 'Requests that wait for events, and streams of them',
  });
  metrics.beforeRender(async () => readers.set(count()));
}
