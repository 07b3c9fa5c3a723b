import type { Runtime } from '#src/platform/index.js';
import { durationBuckets } from '#src/platform/runtime/metrics.js';

/** Metrics of deliveries. */
export interface DeliveryMetrics {
  attempt(outcome: 'ok' | 'failed', seconds: number): void;
  backlog(count: number, oldestSeconds: number, dueSeconds: number): void;
}

/** Metrics of deliveries. */
export function createDeliveryMetrics({ metrics }: Pick<Runtime, 'metrics'>): DeliveryMetrics {
  const labelNames = ['outcome'] as const;
  const attempts = metrics.counter({
    name: 'svc_webhook_attempts_total',
    help: 'Attempts to deliver an event to a webhook',
    labelNames,
  });
  const time = metrics.histogram({
    name: 'svc_webhook_attempt_duration_seconds',
    help: 'Time an attempt took',
    labelNames,
    buckets: [...durationBuckets, 15],
  });
  const waiting = metrics.gauge({
    name: 'svc_webhook_backlog',
    help: 'Deliveries that wait or are under way',
  });
  const oldest = metrics.gauge({
    name: 'svc_webhook_oldest_seconds',
    help: 'Age of the oldest event that a webhook still waits for',
  });
  const due = metrics.gauge({
    name: 'svc_webhook_due_seconds',
    help: 'Time for which an event has waited for its number, or a delivery for its turn, where the receiver does not fail',
  });
  return {
    attempt: (outcome, seconds) => {
      attempts.inc({ outcome });
      time.observe({ outcome }, seconds);
    },
    backlog: (count, oldestSeconds, dueSeconds) => {
      due.set(dueSeconds);
      waiting.set(count);
      oldest.set(oldestSeconds);
    },
  };
}
