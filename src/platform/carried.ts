/** What came of handing a message over. */
export interface Carried {
  readonly ok: boolean;
  /** Trying again cannot help: the message or whom it is for was refused. */
  readonly isFinal: boolean;
  /** Whether there was an answer at all. */
  readonly isAnswered: boolean;
  /** Why it failed, in words of ours, without addresses; empty where it did not. */
  readonly error: string;
  /** What was answered, word for word; it may quote addresses, so it is for the operator's screen only. */
  readonly answer: string;
}

/** It was accepted. */
export function accepted(answer: string): Carried {
  return { ok: true, isFinal: false, isAnswered: true, error: '', answer };
}

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  ECONNECTION: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  ENOTFOUND: 'the host name does not resolve',
  EAI_AGAIN: 'the host name could not be resolved',
  EDNS: 'the host name could not be resolved',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'no answer in time',
  EABORT: 'no complete answer within the time limit',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  ETLS: 'TLS failed',
};
/** Codes of OpenSSL's verification and of Node's own, which begin differently. */
const tlsCode = /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO|EPROTO|CRL/;

/** Nobody answered, or not in a way that can be understood. */
export function unanswered(error: unknown): Carried {
  return { ok: false, isFinal: false, isAnswered: false, error: describe(error), answer: '' };
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'the call failed';
  if (['TimeoutError', 'AbortError'].includes(error.name)) return words.EABORT ?? '';
  if (error.name === 'EgressRefused') return error.message;
  const codes = codesOf(error);
  const known = codes.find((code) => words[code] !== undefined);
  const tls = codes.find((code) => tlsCode.test(code));
  if (tls !== undefined) return `TLS failed (${tls})`;
  return known === undefined ? `the call failed (${codes.find(Boolean) ?? error.name})` : (words[known] ?? '');
}

/** What the system said comes first; nodemailer keeps it beside its own word for it. */
function codesOf(error: Error): string[] {
  const { originalCode, code, cause } = error as Error & { originalCode?: unknown; code?: unknown };
  const inner = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return [originalCode, code, inner].filter((one) => typeof one === 'string');
}
