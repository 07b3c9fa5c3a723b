import type { Binding } from '#src/contract/browser.js';
import { bindingCookieName, fallbackSessionName, sessionCookieName } from '#src/contract/headers.js';
import type { Project } from '#src/contract/project.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import type { RequestContext } from './request-context.js';

const fallbackHeader = 'X-Fallback-Cookies';
const fallbackRequestHeader = fallbackHeader.toLowerCase();

/** Session cookies, and the header that the Appwrite web SDK uses instead where browsers block third-party cookies. */
export function createCookies(baseUrl: string) {
  const base = new URL(baseUrl);
  const secure = base.protocol === 'https:';
  const isLocal = isOnLocalhost(baseUrl);

  const append = (
    { response }: RequestContext,
    name: string,
    value: string,
    maxAgeSeconds: number,
    isCrossSite: boolean,
    canBeSecure = secure,
  ) => {
    const isNone = isCrossSite && canBeSecure;
    const parts = [
      `${name}=${value}`,
      'Path=/',
      `Max-Age=${maxAgeSeconds}`,
      'HttpOnly',
      `SameSite=${isNone ? 'None' : 'Lax'}`,
      ...(secure || isNone ? ['Secure'] : []),
    ];
    response.append('Set-Cookie', parts.join('; '));
  };
  const set = (context: RequestContext, project: Project, value: string, maxAgeSeconds: number) => {
    const isCrossSite = project.settings['cookie.sameSite'] === 'none';
    append(context, sessionCookieName(project.id, secure), value, maxAgeSeconds, isCrossSite);
  };
  /**
   * Pages of the same site keep the cookie, and a secret that scripts can read would only weaken it. Browsers report the site themselves
   * (Fetch Metadata, `Sec-Fetch-Site`): host names alone, without a list of public suffixes, do not show whether app. and api. are one site.
   */
  const keepsCookie = ({ ctx }: RequestContext): boolean => {
    const site = ctx.get('Sec-Fetch-Site');
    if (site !== '') return site === 'same-origin' || site === 'same-site';
    const { origin } = ctx.req.headers;
    if (origin === undefined || !URL.canParse(origin)) return false;
    const { hostname } = new URL(origin);
    return (
      hostname === base.hostname || hostname.endsWith(`.${base.hostname}`) || base.hostname.endsWith(`.${hostname}`)
    );
  };
  return {
    /** The session secret in the request's cookie. */
    read: ({ req }: RequestContext, projectId: string): string | undefined => {
      const { cookie } = req.headers;
      return cookie === undefined ? undefined : cookieValue(cookie, sessionCookieName(projectId, secure));
    },
    /** The session secret in the fallback header. */
    readFallback: ({ req }: RequestContext, projectId: string): string | undefined => {
      const header = req.headers[fallbackRequestHeader];
      if (typeof header !== 'string' || header.length > 4096) return undefined;
      try {
        const values: unknown = JSON.parse(header);
        const named = Object(values) as Readonly<Record<string, unknown>>;
        const value = named[sessionCookieName(projectId, secure)] ?? named[fallbackSessionName(projectId)];
        return typeof value === 'string' ? value : undefined;
      } catch {
        return undefined;
      }
    },
    /** Sets the session cookie. */
    open: (context: RequestContext, project: Project, secret: string, lifeSeconds: number): void => {
      set(context, project, secret, lifeSeconds);
      if (!keepsCookie(context)) {
        const names = [sessionCookieName(project.id, secure), fallbackSessionName(project.id)];
        const values = Object.fromEntries(names.map((name) => [name, secret]));
        context.response.set(fallbackHeader, JSON.stringify(values));
      }
    },
    /**
     * Sets the cookie of a login that leads through another site. Browsers send a cookie with a form of another site only if it is
     * `SameSite=None; Secure`, and keep such a one over http from this machine alone.
     */
    bind: (context: RequestContext, { id, secret, lifeSeconds, isPosted }: Binding): void =>
      append(context, bindingCookieName(id, secure), secret, lifeSeconds, isPosted, secure || isLocal),
    /** The secret in such a cookie, which is cleared. */
    takeBinding: (context: RequestContext, id: string): string | null => {
      const name = bindingCookieName(id, secure);
      const value = cookieValue(context.req.headers.cookie ?? '', name);
      if (value === undefined) return null;
      append(context, name, '', 0, false);
      return value;
    },
    /** Clears the session cookie. */
    close: (context: RequestContext, project: Project): void => {
      set(context, project, '', 0);
      context.response.set(fallbackHeader, '[]');
    },
  };
}

/** Session cookies of an installation. */
export type Cookies = ReturnType<typeof createCookies>;

function cookieValue(header: string, name: string): string | undefined {
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}
