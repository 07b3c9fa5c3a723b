// Speaks HTTP to a server under test; every answer is compared with the served OpenAPI document before the test sees it.
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorType } from '#src/contract/errors.js';
import { decoded } from './answers.js';
import type { TestAppliance } from './appliance.js';

type Json = Record<string, unknown>;
type Headers = Readonly<Record<string, string>>;

/** What a client sends with each request. */
export interface ClientOptions {
  /** The project header; the test's own project where absent, none where null. */
  readonly project?: string | null;
  /** The brand of the headers: the service's own where absent, or an alias. */
  readonly brand?: string;
  readonly session?: string;
  readonly key?: string;
  readonly jwt?: string;
  /** Keeps cookies like a browser and sends this origin with every request. */
  readonly browser?: string;
  readonly headers?: Headers;
}

/** An answer with the assertions tests make about it. */
export class Answer {
  readonly status: number;
  readonly headers: globalThis.Headers;
  readonly text: string;
  readonly #what: string;

  constructor(what: string, response: Pick<Response, 'status' | 'headers'>, text: string) {
    this.#what = what;
    this.status = response.status;
    this.headers = response.headers;
    this.text = text;
  }

  /** The body as JSON; an empty object where there is none. */
  get body(): Json {
    return this.text === '' ? {} : JSON.parse(this.text);
  }

  /** A member of the body that must be text. */
  string(member: string): string {
    const value = this.body[member];
    assert.equal(typeof value, 'string', `${this.#what}: ${member} of ${this.text}`);
    return String(value);
  }

  /** A member of the body that must be a list of objects. */
  list(member: string): Json[] {
    const value = this.body[member];
    assert.ok(Array.isArray(value), `${this.#what}: ${member} of ${this.text}`);
    return value;
  }

  /** Fails unless the status is this one. */
  expect(status: number): this {
    assert.equal(this.status, status, `${this.#what} answers ${this.status} ${this.text}`);
    return this;
  }

  /** Fails unless this is the error envelope of that status and type. */
  refused(status: number, type: ErrorType): this {
    const { message, code, type: given, version } = this.body;
    const seen = { status: this.status, type: given, code, version, message: typeof message };
    assert.deepEqual(seen, { status, type, code: status, version: '1.0.0', message: 'string' }, this.#what);
    return this;
  }
}

/** A caller of the server. */
export interface Client {
  /** The project it names. */
  readonly project: string | null;
  request(method: string, path: string, body?: unknown, headers?: Headers): Promise<Answer>;
  get(path: string, headers?: Headers): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Headers): Promise<Answer>;
  put(path: string, body?: unknown, headers?: Headers): Promise<Answer>;
  patch(path: string, body?: unknown, headers?: Headers): Promise<Answer>;
  delete(path: string, headers?: Headers): Promise<Answer>;
  /** The same caller with further options, and cookies of its own. */
  with(options: ClientOptions): Client;
}

/** A request as it is sent: the body is complete. */
type Sent = { readonly method: string; readonly headers: Headers; readonly body?: string | Uint8Array };

/** What a response holds once it is there. */
type Received = { readonly status: number; readonly headers: globalThis.Headers; readonly text: string };

/** What fetch() of Node sends with every request. */
const ofFetch = {
  Accept: '*/*',
  'Accept-Language': '*',
  'Sec-Fetch-Mode': 'cors',
  'User-Agent': 'node',
  'Accept-Encoding': 'gzip, deflate',
};
const agent = new Agent({ keepAlive: true });

/**
 * Sends a request as fetch() would, which takes four times as much of the processor. On a busy machine a kept connection may have idled until
 * the server closes it, just as it is used: then once more, as browsers do.
 */
async function send(url: string, sent: Sent): Promise<Received> {
  try {
    return await sendOnce(url, sent);
  } catch (error) {
    if (Object(error).code !== 'ECONNRESET') throw error;
    // The other kept connections are noticed to be closed meanwhile.
    await sleep(100);
    return sendOnce(url, sent);
  }
}

function sendOnce(url: string, { method, headers, body }: Sent): Promise<Received> {
  const bytes = body === undefined ? undefined : Buffer.from(body);
  // As fetch() reads them: names in any case, values that fit a header.
  const lines = new globalThis.Headers(headers);
  for (const [name, value] of Object.entries(ofFetch)) if (!lines.has(name)) lines.set(name, value);
  if (bytes !== undefined) lines.set('Content-Length', String(bytes.length));
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, method, headers: Object.fromEntries(lines) }, (incoming) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('error', (cause) => reject(new Error('the response was cut off', { cause })));
      incoming.once('end', () => {
        const { statusCode: status = 0, rawHeaders } = incoming;
        const body = decoded(Buffer.concat(parts), incoming.headers['content-encoding']);
        resolve({ status, headers: receivedHeaders(rawHeaders), text: new TextDecoder().decode(body) });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(bytes);
  });
}

/** Headers from names and values in turn. */
function receivedHeaders(raw: readonly string[]): globalThis.Headers {
  const headers = new globalThis.Headers();
  for (let at = 0; at < raw.length; at += 2) headers.append(raw[at] ?? '', raw[at + 1] ?? '');
  return headers;
}

/** Creates a caller. Paths are below /v1 unless they begin with two slashes, which stand for the root. */
export function createClient(target: TestAppliance, options: ClientOptions = {}): Client {
  const cookies = new Map<string, string>();
  const fixed = headersOf(target, options);

  const ask: Client['request'] = async (method, path, body, headers = {}) => {
    const url = target.origin + (path.startsWith('//') ? path.slice(1) : `/v1${path}`);
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await send(url, {
      method,
      headers: {
        ...(body === undefined && options.browser === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(cookie === '' ? {} : { Cookie: cookie }),
        ...fixed,
        ...headers,
      },
      ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
    });
    const answer = new Answer(`${method} ${path}`, response, response.text);
    if (options.browser !== undefined) keepCookies(cookies, response);
    target.verifyAnswers();
    return answer;
  };
  return {
    project: options.project === undefined ? target.project.id : options.project,
    request: ask,
    get: (path, headers) => ask('GET', path, undefined, headers),
    post: (path, body, headers) => ask('POST', path, body, headers),
    put: (path, body, headers) => ask('PUT', path, body, headers),
    patch: (path, body, headers) => ask('PATCH', path, body, headers),
    delete: (path, headers) => ask('DELETE', path, undefined, headers),
    with: (further) => createClient(target, { ...options, ...further }),
  };
}

function headersOf(target: TestAppliance, options: ClientOptions): Headers {
  const { brand = 'Service', session, key, jwt, browser, headers } = options;
  const project = options.project === undefined ? target.project.id : options.project;
  const given = { Project: project, Session: session, Key: key, JWT: jwt };
  const credentials = Object.entries(given).flatMap(([role, value]) =>
    value === undefined || value === null ? [] : [[`X-${brand}-${role}`, value]],
  );
  return { ...Object.fromEntries(credentials), ...(browser === undefined ? {} : { Origin: browser }), ...headers };
}

/** Names and values only: that a cookie may travel is what the tests of cookies look at. */
function keepCookies(cookies: Map<string, string>, response: Received): void {
  for (const line of response.headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (/max-age=0\b/i.test(line)) cookies.delete(name);
    else cookies.set(name, value);
  }
}
