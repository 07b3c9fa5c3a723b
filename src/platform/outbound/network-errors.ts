import { EgressRefused } from './egress-rules.js';

const closed = 'the other side closed the connection';
const unresolved = 'the host name could not be resolved';
const late = 'no complete answer within the time limit';

/** Meanings of the codes of Node, undici and nodemailer. */
const descriptions: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: closed,
  EPIPE: closed,
  ECONNECTION: closed,
  UND_ERR_SOCKET: closed,
  ENOTFOUND: 'the host name does not resolve',
  EAI_AGAIN: unresolved,
  EDNS: unresolved,
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'no answer in time',
  EABORT: late,
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too long',
};
/** Codes of OpenSSL's verification and of Node's own, which begin differently. */
const tlsCode = /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO|EPROTO|CRL/;

/** Describes why an outbound call failed, without naming internals. */
export function describeNetworkError(error: unknown): string {
  if (error instanceof EgressRefused) return error.message;
  if (!(error instanceof Error)) return 'the call failed';
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return late;
  if (error.name === 'HTTPParserError') return 'the answer is not HTTP';
  const codes = codesOf(error);
  const tls = codes.find((code) => tlsCode.test(code));
  if (tls !== undefined) return `TLS failed (${tls})`;
  const described = codes.find((code) => descriptions[code] !== undefined);
  return descriptions[described ?? ''] ?? `the call failed (${codes.find(Boolean) ?? error.name})`;
}

/** The system's code comes first; nodemailer stores it beside its own. */
function codesOf(error: Error): string[] {
  const { originalCode, code, cause } = error as Error & { originalCode?: unknown; code?: unknown };
  const inner = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return [originalCode, code, inner].filter((one) => typeof one === 'string');
}
