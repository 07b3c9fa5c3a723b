import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { errorCode, readSmall } from '../runtime/files.js';
import { type GivenProblem, unreadableFile } from './config-error.js';
import type { Config } from './schema.js';

/** Most bytes of a file with certificates or a key. */
const pemBytes = 1_048_576;
const expiresSoonMs = 14 * 86_400_000;

/**
 * Problems that prevent serving https with the configured files; empty if there are none, or if no files are configured. Reads both files,
 * which only the server needs: other commands run without them.
 */
export function tlsFileProblems({ tlsCert, tlsKey, baseUrl }: Config): GivenProblem[] {
  if (tlsCert === undefined || tlsKey === undefined) return [];
  const problems: GivenProblem[] = [];
  if (new URL(baseUrl).protocol !== 'https:')
    problems.push(
      `SVC_BASE_URL begins with http:, but SVC_TLS_CERT makes the server speak https: write ${baseUrl.replace(/^http:/, 'https:')}`,
    );
  const cert = read('SVC_TLS_CERT', tlsCert, problems);
  const key = read('SVC_TLS_KEY', tlsKey, problems);
  if (cert !== undefined && !isCertificate(cert))
    problems.push(`SVC_TLS_CERT names a file that is no certificate in PEM: ${tlsCert}`);
  else if (cert !== undefined && key !== undefined) {
    const problem = pairProblem(cert, key);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

/** Validity period of a certificate, in milliseconds since 1970. */
export interface TlsValidity {
  readonly from: number;
  readonly until: number;
}

/** The validity of the configured certificate; undefined if it cannot be read. */
export function tlsValidity({ tlsCert }: Pick<Config, 'tlsCert'>): TlsValidity | undefined {
  if (tlsCert === undefined) return undefined;
  try {
    const { validFrom, validTo } = new X509Certificate(readSmall(tlsCert, pemBytes));
    return { from: Date.parse(validFrom), until: Date.parse(validTo) };
  } catch {
    return undefined;
  }
}

/** The problem of a certificate that is not valid at `now`, or expires within 14 days of it; undefined if neither. */
export function tlsTimeProblem({ from, until }: TlsValidity, now: number) {
  const isValid = from <= now && now < until;
  if (isValid && until - now > expiresSoonMs) return undefined;
  const [begin, end] = [new Date(from).toISOString(), new Date(until).toISOString()];
  return {
    code: isValid ? ('expires-soon' as const) : ('expired' as const),
    from: begin,
    until: end,
    message: `The certificate of SVC_TLS_CERT ${isValid ? 'expires soon' : 'is not valid now'}: ${begin} to ${end}`,
  };
}

function read(setting: string, file: string, problems: GivenProblem[]): Buffer | undefined {
  try {
    return readSmall(file, pemBytes);
  } catch (error) {
    problems.push(unreadableFile(setting, file, error));
    return undefined;
  }
}

function isCertificate(pem: Buffer): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

/** OpenSSL compares the public keys when it loads both. */
function pairProblem(cert: Buffer, key: Buffer): string | undefined {
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch (error) {
    return errorCode(error) === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH'
      ? 'SVC_TLS_KEY is not the key of the certificate in SVC_TLS_CERT'
      : `SVC_TLS_KEY names a file that holds no usable key (${errorCode(error)})`;
  }
}
