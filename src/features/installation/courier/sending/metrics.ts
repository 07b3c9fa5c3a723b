import type { Runtime } from '#src/platform/index.js';

/** Queued messages of a channel, from all processes. */
interface ChannelBacklog {
  readonly channel: string;
  readonly waiting: number;
  readonly oldestSeconds: number;
}

/** Metrics of messages. */
export interface MessageMetrics {
  outcome(channel: string, outcome: string, count: number): void;
  backlog(channels: readonly ChannelBacklog[]): void;
}

/** Metrics of messages. */
export function createMessageMetrics({ metrics }: Pick<Runtime, 'metrics'>): MessageMetrics {
  const labelNames = ['channel'] as const;
  const outcomes = metrics.counter({
    name: 'svc_messages_total',
    help: 'Attempts to send a mail or an SMS, by what came of the message',
    labelNames: ['channel', 'outcome'],
  });
  // Starts every series at zero: Prometheus sees no increase in a series that starts with its first message.
  for (const channel of ['email', 'sms'])
    for (const outcome of ['sent', 'retrying', 'failed', 'expired']) outcomes.inc({ channel, outcome }, 0);
  const waiting = metrics.gauge({ name: 'svc_messages_backlog', help: 'Messages that wait', labelNames });
  const oldest = metrics.gauge({
    name: 'svc_messages_oldest_seconds',
    help: 'Age of the oldest message that waits',
    labelNames,
  });
  return {
    outcome: (channel, outcome, count) => outcomes.inc({ channel, outcome }, count),
    backlog: (channels) => {
      waiting.reset();
      oldest.reset();
      for (const { channel, waiting: count, oldestSeconds } of channels) {
        waiting.set({ channel }, count);
        oldest.set({ channel }, oldestSeconds);
      }
    },
  };
}
