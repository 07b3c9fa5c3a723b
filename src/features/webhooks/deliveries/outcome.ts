import { webhookLimits } from '#src/contract/limits.js';
import type { EgressResponse } from '#src/platform/egress-client.js';
import { EgressRefused } from '#src/platform/egress-rules.js';

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

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the receiver closed the connection',
  UND_ERR_SOCKET: 'the receiver closed the connection',
  EPIPE: 'the receiver closed the connection',
  ENOTFOUND: 'the host name does not resolve',
  EAI_AGAIN: 'the host name could not be resolved',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too long',
};
/** Codes of OpenSSL's verification and of Node's own, which begin differently. */
const tlsCode = /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO|EPROTO|CRL/;

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
  return { statusCode: 0, ok: false, error: describe(error), response: '', durationMs, retryAfter: undefined };
}

function describe(error: unknown): string {
  if (error instanceof EgressRefused) return error.message;
  if (!(error instanceof Error)) return 'the call failed';
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return 'no complete answer within the time limit';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const known = words[code];
  if (known !== undefined) return known;
  if (tlsCode.test(code)) return `TLS failed (${code})`;
  return error.name === 'HTTPParserError' ? 'the answer is not HTTP' : `the call failed (${code || error.name})`;
}

/** The first KiB as text; Postgres keeps no NUL characters. */
function keptText(body: Buffer): string {
  return body
    .subarray(0, webhookLimits.keptBytes)
    .toString('utf8')
    .replaceAll('\0', '')
    .slice(0, webhookLimits.keptBytes);
}
