import { Failure } from '#src/contract/errors.js';
import { providerLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import { Lru } from '#src/platform/lru.js';
import { type Members, members } from '../providers/profile.js';

/** What the client library hands over with a request. */
interface RequestOptions {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}

/** The calls of one login, which all end in time. */
interface ProviderCalls {
  readonly fetch: (url: string, options: RequestOptions) => Promise<Response>;
  /** Keeps the discovery document that was read, once it has turned out to be one. */
  keepDocument(): void;
}

/** Makes a call of a login. */
export type ProviderFetch = ProviderCalls['fetch'];

const cacheBounds = { bytes: 8_388_608, entries: 500, largest: providerLimits.answerBytes + 1024 } as const;

/** Calls identity providers by the guarded way out: one time limit for all calls of a login, bounded answers, no redirects. */
export function createTransport({ egress, clock }: Pick<Runtime, 'egress' | 'clock'>) {
  /** Discovery documents, which every login begins with. */
  const documents = new Lru<{ readonly body: Buffer; readonly until: number }>(cacheBounds);

  const call = async (url: string, { method, headers, body }: RequestOptions, until: number) => {
    const timeoutMs = Math.floor(until - clock.monotonic());
    if (timeoutMs <= 0) throw new Failure('user_oauth2_provider_error');
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
    if (answer.body.length > answerBytes) throw new Failure('user_oauth2_provider_error');
    return answer;
  };
  const json = (body: Buffer | string) => new Response(body, { headers: { 'content-type': 'application/json' } });

  return {
    /** The calls of a login that begins now; `fix` puts answers of the token endpoint right. */
    begin: (tokenEndpoint?: string, fix?: (answer: Members) => Members): ProviderCalls => {
      const until = clock.monotonic() + providerLimits.timeoutMs;
      let read: { readonly url: string; readonly body: Buffer } | undefined;
      const fetch: ProviderFetch = async (url, options) => {
        const isDocument = options.method === 'GET' && new URL(url).pathname.includes('/.well-known/');
        const cached = isDocument ? documents.get(url) : undefined;
        if (cached !== undefined && cached.until > clock.monotonic()) return json(cached.body);
        const { status, headers, body } = await call(url, options, until);
        if (isDocument && status === 200) read = { url, body };
        if (fix !== undefined && url === tokenEndpoint && status === 200) return json(fixed(body, fix));
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

/** Statuses with which a response must have no body. */
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
