import type { Runtime } from '#src/platform/index.js';

/** Metrics of sockets. */
export interface RealtimeMetrics {
  opened(): void;
  closed(code: number): void;
  sent(): void;
}

/** Registers the metrics. */
export function createRealtimeMetrics({ metrics }: Pick<Runtime, 'metrics'>): RealtimeMetrics {
  const sockets = metrics.gauge({ name: 'svc_realtime_sockets', help: 'Open sockets' });
  const messages = metrics.counter({ name: 'svc_realtime_messages_total', help: 'Events sent to sockets' });
  const closed = metrics.counter({
    name: 'svc_realtime_closed_total',
    help: 'Closed sockets, by the code of the close',
    labelNames: ['code'],
  });
  return {
    opened: () => sockets.inc(),
    closed: (code) => {
      sockets.dec();
      closed.inc({ code: String(code) });
    },
    sent: () => messages.inc(),
  };
}
