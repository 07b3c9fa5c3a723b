import { providerLimits } from '#src/contract/limits.js';
import { Lru } from '#src/platform/cache/lru.js';
import type { Runtime } from '#src/platform/index.js';
import { type Members, members, stated } from '../providers/profile.js';
import { faultOf } from './errors.js';

/** Request options passed by the client library. */
interface RequestOptions {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}

/** The calls of one login, which share a time limit. */
interface ProviderCalls {
  readonly fetch: (url: string, options: RequestOptions) => Promise<Response>;
  /** Caches the discovery document that was read, after it has been validated. */
  keepDocument(): void;
}

/** Calls of logins to their providers. */
export interface Transport {
  /** Starts the calls of a login; `fix` corrects responses of the token endpoint. */
  begin(fix?: (answer: Members) => Members): ProviderCalls;
}

/** Makes a call for a login. */
export type ProviderFetch = ProviderCalls['fetch'];

/** Asymmetric algorithms of RFC 7518 §3.1 and RFC 9864. */
const asymmetric = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const cacheBounds = { bytes: 8_388_608, entries: 500, largest: providerLimits.answerBytes + 1024 } as const;

/** Calls identity providers through the egress guard: one time limit for all calls of a login, limited response sizes, no redirects. */
export function createTransport({ egress, clock }: Pick<Runtime, 'egress' | 'clock'>): Transport {
  /** Cache of discovery documents, because every login starts with one. */
  const documents = new Lru<{ readonly body: Buffer; readonly until: number }>(cacheBounds);

  const call = async (url: string, { method, headers, body }: RequestOptions, until: number) => {
    const timeoutMs = Math.floor(until - clock.monotonic());
    if (timeoutMs <= 0) throw faultOf('no complete answer within the time limit');
    const { answerBytes } = providerLimits;
    const answer = await egress.request({
      method: method === 'POST' ? 'POST' : 'GET',
      url,
      headers,
      ...(body === undefined || body === null ? {} : { body: String(body) }),
      purpose: 'oauth2',
      timeoutMs,
      maxBytes: answerBytes + 1,
    });
    if (answer.body.length > answerBytes) throw faultOf('an answer is too large');
    return answer;
  };
  const json = (body: Buffer | string) => new Response(body, { headers: { 'content-type': 'application/json' } });

  return {
    begin: (fix = (answer) => answer) => {
      const until = clock.monotonic() + providerLimits.timeoutMs;
      let read: { readonly url: string; readonly body: Buffer } | undefined;
      const fetch: ProviderFetch = async (url, options) => {
        const isDocument = options.method === 'GET' && new URL(url).pathname.includes('/.well-known/');
        const cached = isDocument ? documents.get(url) : undefined;
        if (cached !== undefined && cached.until > clock.monotonic()) return json(cached.body);
        const { status, headers, body } = await call(url, options, until);
        if (isDocument && status === 200) {
          read = { url, body: Buffer.from(fixed(body, withUserinfoAlgorithms)) };
          return json(read.body);
        }
        // Only the token endpoint is called by POST.
        if (options.method === 'POST' && status === 200) return json(fixed(body, (answer) => fix(tokenAnswer(answer))));
        return new Response(hasNoBody(status) ? null : body, { status, headers: headersOf(headers) });
      };
      const keepDocument = (): void => {
        if (read === undefined) return;
        const until = clock.monotonic() + providerLimits.metadataMs;
        documents.set(read.url, { body: read.body, until }, read.body.length);
      };
      return { fetch, keepDocument };
    },
  };
}

/** True for statuses whose responses must not have a body. */
function hasNoBody(status: number): boolean {
  return [204, 205, 304].includes(status);
}

function headersOf(headers: Readonly<Record<string, string | string[] | undefined>>): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
}

function fixed(body: Buffer, fix: (answer: Members) => Members): string {
  try {
    return JSON.stringify(fix(members(JSON.parse(body.toString('utf8')))));
  } catch {
    return '';
  }
}

/**
 * Converts a token response to the form of RFC 6749 §5.1. Some providers send null or an empty text for a token that they do not issue, a list of
 * scopes, or no `token_type`; the library rejects each of these.
 */
function tokenAnswer(given: Members): Members {
  const { scope, ...answer } = stated(given);
  return { token_type: 'Bearer', ...answer, scope: Array.isArray(scope) ? scope.join(' ') : scope };
}

/** If a provider does not state how it signs userinfo responses, any asymmetric algorithm is allowed. */
function withUserinfoAlgorithms(document: Members): Members {
  return { userinfo_signing_alg_values_supported: asymmetric, ...document };
}
