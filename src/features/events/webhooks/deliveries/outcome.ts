import { webhookLimits } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import type { EgressResponse } from '#src/platform/outbound/egress-client.js';
import { describeNetworkError } from '#src/platform/outbound/network-errors.js';
import type { Attempt, Delivery } from './tables.js';

/** Result of an attempt. */
export interface Outcome {
  /** 0 if there was no response. */
  readonly statusCode: number;
  readonly ok: boolean;
  /** Reason of a failure as text; empty for a success. */
  readonly error: string;
  /** Start of the response body. */
  readonly response: string;
  readonly durationMs: number;
  readonly retryAfter: string | undefined;
}

/** The outcome of a response. Only 2xx acknowledges a delivery. */
export function outcomeOf({ status, headers, body }: EgressResponse, durationMs: number): Outcome {
  const ok = status >= 200 && status < 300;
  const redirect = status >= 300 && status < 400;
  const { 'retry-after': retryAfter } = headers;
  return {
    statusCode: status,
    ok,
    error: ok ? '' : `answered ${status}${redirect ? '; redirects are not followed' : ''}`,
    response: keptText(body),
    durationMs,
    retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
  };
}

/** The outcome of a request without a response. Its text reveals no internals. */
export function failedOutcome(error: unknown, durationMs: number): Outcome {
  return {
    statusCode: 0,
    ok: false,
    error: describeNetworkError(error),
    response: '',
    durationMs,
    retryAfter: undefined,
  };
}

/** Outcome if a secret of the webhook cannot be opened. */
export const unreadableSecret: Outcome = {
  statusCode: 0,
  ok: false,
  error: "the webhook's secret or password cannot be read; give it new ones",
  response: '',
  durationMs: 0,
  retryAfter: undefined,
};

/** The outcome if the payload of the event cannot be opened. */
export const damaged: Outcome = { ...unreadableSecret, error: 'the data of the event is damaged in the database' };

/** The record of an attempt, with the number and the state of its delivery after it. */
export function attemptOf(
  { id: deliveryId, projectId, webhookId, eventId, event }: Delivery,
  { statusCode, ok, error, durationMs, response }: Outcome,
  own: { readonly id: string; readonly createdAt: Instant },
  { attempt, state, dueAt: nextAttemptAt }: Pick<Delivery, 'attempt' | 'state' | 'dueAt'>,
): Attempt {
  const of = { projectId, webhookId, deliveryId, eventId, event };
  return { ...own, ...of, attempt, state, statusCode, ok, error, durationMs, nextAttemptAt, response };
}

/** The first KiB as text. Removes NUL characters, which Postgres cannot store. */
function keptText(body: Buffer): string {
  return body
    .subarray(0, webhookLimits.keptBytes)
    .toString('utf8')
    .replaceAll('\0', '')
    .slice(0, webhookLimits.keptBytes);
}
