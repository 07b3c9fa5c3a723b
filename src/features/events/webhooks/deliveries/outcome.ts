import { webhookLimits } from '#src/contract/limits.js';
import type { EgressResponse } from '#src/platform/egress-client.js';
import { describeNetworkError } from '#src/platform/network-errors.js';

/** How an attempt ended. */
export interface Outcome {
  /** 0 where nothing was answered. */
  readonly statusCode: number;
  readonly ok: boolean;
  /** Why it failed, in words; empty where it did not. */
  readonly error: string;
  /** The beginning of the answer's body. */
  readonly response: string;
  readonly durationMs: number;
  readonly retryAfter: string | undefined;
}

/** What an answer means: only 2xx acknowledges. */
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

/** What the absence of an answer means, in words that name no internals. */
export function failureOf(error: unknown, durationMs: number): Outcome {
  return {
    statusCode: 0,
    ok: false,
    error: describeNetworkError(error),
    response: '',
    durationMs,
    retryAfter: undefined,
  };
}

/** What it means that a secret of the webhook does not open. */
export const unreadable: Outcome = {
  statusCode: 0,
  ok: false,
  error: "the webhook's secret or password cannot be read; give it new ones",
  response: '',
  durationMs: 0,
  retryAfter: undefined,
};

/** The first KiB as text; Postgres keeps no NUL characters. */
function keptText(body: Buffer): string {
  return body
    .subarray(0, webhookLimits.keptBytes)
    .toString('utf8')
    .replaceAll('\0', '')
    .slice(0, webhookLimits.keptBytes);
}
