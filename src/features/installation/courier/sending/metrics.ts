import type { Runtime } from '#src/platform/index.js';

/** What waits in a channel, of all processes. */
interface ChannelBacklog {
  readonly channel: string;
  readonly waiting: number;
  readonly oldestSeconds: number;
}

/** The measurements of messages. */
export function createMessageMetrics({ metrics }: Pick<Runtime, 'metrics'>) {
  const labelNames = ['channel'] as const;
  const outcomes = metrics.counter({
    name: 'svc_messages_total',
    help: 'Attempts to send a mail or an SMS, by what came of the message',
    labelNames: ['channel', 'outcome'],
  });
  // From the start, as Prometheus sees no increase in a series that begins with its first message.
  for (const channel of ['email', 'sms'])
    for (const outcome of ['sent', 'retrying', 'failed', 'expired']) outcomes.inc({ channel, outcome }, 0);
  const waiting = metrics.gauge({ name: 'svc_messages_backlog', help: 'Messages that wait', labelNames });
  const oldest = metrics.gauge({
    name: 'svc_messages_oldest_seconds',
    help: 'Age of the oldest message that waits',
    labelNames,
  });
  return {
    outcome: (channel: string, outcome: string, count: number): void => outcomes.inc({ channel, outcome }, count),
    backlog: (channels: readonly ChannelBacklog[]): void => {
      waiting.reset();
      oldest.reset();
      for (const { channel, waiting: count, oldestSeconds } of channels) {
        waiting.set({ channel }, count);
        oldest.set({ channel }, oldestSeconds);
      }
    },
  };
}

/** The measurements of messages. */
export type MessageMetrics = ReturnType<typeof createMessageMetrics>;
