// A browser as far as a login at an identity provider needs one: cookies for each host, redirects that can be looked at one by one.
import assert from 'node:assert/strict';
import type { TestAppliance } from '../harness/appliance.js';

/** The page of the application; no server is there, so that following redirects ends. */
export const app = 'http://localhost:3000';

/** Where the service believes to be. */
const base = 'http://localhost:8080';

/** An answer on the way. */
export interface Step {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly location: string | null;
}

/** Whether an address is that of the application: its page, or one of its own scheme. */
const leadsToApp = (url: string) => url.startsWith(app) || url.startsWith('appwrite-callback-');

/** A browser with cookies of its own. */
export interface Browser {
  readonly cookies: Map<string, Map<string, string>>;
  /** Opens an address and follows redirects until one leads to the application, or none follows. */
  open(url: string, headers?: Readonly<Record<string, string>>): Promise<Step>;
  /** Opens an address and stops there. */
  step(url: string, init?: RequestInit): Promise<Step>;
  /** Follows redirects until one leads to an address that begins so, which is not opened. */
  until(url: string, prefix: string): Promise<string>;
  /** The value of a cookie of the service. */
  cookie(name: string): string | undefined;
}

/** Creates a browser; the service is reached where it really listens. */
export function createBrowser(target: Pick<TestAppliance, 'origin' | 'verifyAnswers'>): Browser {
  const cookies = new Map<string, Map<string, string>>();
  const jarOf = (url: URL) => {
    const jar = cookies.get(url.host) ?? new Map<string, string>();
    cookies.set(url.host, jar);
    return jar;
  };
  const step: Browser['step'] = async (text, init = {}) => {
    const url = new URL(text);
    const jar = jarOf(url);
    const real = text.startsWith(base) ? target.origin + text.slice(base.length) : text;
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie === '' ? {} : { Cookie: cookie }), ...(init.headers as Record<string, string>) };
    const response = await fetch(real, { ...init, redirect: 'manual', headers });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '' || /max-age=0\b|expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    const location = response.headers.get('location');
    const body = await response.text();
    target.verifyAnswers();
    return {
      url: text,
      status: response.status,
      headers: response.headers,
      text: body,
      location: location === null ? null : new URL(location, text).href,
    };
  };
  const until: Browser['until'] = async (first, prefix) => {
    let url = first;
    for (let steps = 0; steps < 20; steps++) {
      const { location, status, text } = await step(url);
      assert.ok(location !== null, `${url} leads nowhere: ${status} ${text.slice(0, 300)}`);
      if (location.startsWith(prefix)) return location;
      url = location;
    }
    throw new Error(`${first} does not lead to ${prefix}`);
  };
  return {
    cookies,
    step,
    until,
    open: async (first, headers = {}) => {
      let at = await step(first, { headers });
      for (let steps = 0; steps < 20 && at.location !== null && !leadsToApp(at.location); steps++)
        at = await step(at.location, { headers });
      return at;
    },
    cookie: (name) => cookies.get('localhost:8080')?.get(name),
  };
}

/** The address that begins a login. */
export function startUrl(
  flow: 'sessions' | 'tokens',
  provider: string,
  given: Readonly<Record<string, string>> = { success: `${app}/done`, failure: `${app}/failed` },
  project = 'main',
): string {
  const query = new URLSearchParams({ project, ...given });
  return `${base}/v1/account/${flow}/oauth2/${provider}?${query}`;
}

/** Where a login has ended: the page, and what its address says. */
export function endOf({ location, status, text }: Step): {
  page: string;
  error?: Record<string, unknown>;
  query: URLSearchParams;
} {
  assert.ok(location !== null, `no redirect: ${status} ${text}`);
  const { origin, pathname, searchParams } = new URL(location);
  const error = searchParams.get('error');
  return { page: origin + pathname, query: searchParams, ...(error === null ? {} : { error: JSON.parse(error) }) };
}

/** Fails unless a login has led to the failure page with this error. */
export function assertFailed(end: Step, code: number, type: string): void {
  const { page, error } = endOf(end);
  assert.deepEqual([page, error?.code, error?.type], [`${app}/failed`, code, type]);
}
