import type { Runtime } from '#src/platform/index.js';

/** The measurements of sockets. */
export function createRealtimeMetrics({ metrics }: Pick<Runtime, 'metrics'>) {
  const sockets = metrics.gauge({ name: 'svc_realtime_sockets', help: 'Open sockets' });
  const messages = metrics.counter({ name: 'svc_realtime_messages_total', help: 'Events sent to sockets' });
  const closed = metrics.counter({
    name: 'svc_realtime_closed_total',
    help: 'Closed sockets, by the code of the close',
    labelNames: ['code'],
  });
  return {
    opened: (): void => sockets.inc(),
    closed: (code: number): void => {
      sockets.dec();
      closed.inc({ code: String(code) });
    },
    sent: (): void => messages.inc(),
  };
}
