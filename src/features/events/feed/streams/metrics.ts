import type { Runtime } from '#src/platform/index.js';

/** Measures how many read the feed for longer than a moment. */
export function createReaderGauge({ metrics }: Pick<Runtime, 'metrics'>, count: () => number): void {
  const readers = metrics.gauge({
    name: 'svc_feed_readers',
    help: 'Requests that wait for events, and streams of them',
  });
  metrics.beforeRender(async () => readers.set(count()));
}
