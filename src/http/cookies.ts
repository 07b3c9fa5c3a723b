import { sessionCookieName } from '#src/contract/headers.js';
import type { Project } from '#src/contract/project.js';
import type { RequestContext } from './request-context.js';

const fallbackHeader = 'X-Fallback-Cookies';
const fallbackRequestHeader = fallbackHeader.toLowerCase();

/** Session cookies, and the header that the Appwrite web SDK uses instead where browsers block third-party cookies. */
export function createCookies(baseUrl: string) {
  const base = new URL(baseUrl);
  const secure = base.protocol === 'https:';

  const set = ({ response }: RequestContext, project: Project, value: string, maxAgeSeconds: number) => {
    const crossSite = project.settings['cookie.sameSite'] === 'none' && secure;
    const parts = [
      `${sessionCookieName(project.id, secure)}=${value}`,
      'Path=/',
      `Max-Age=${maxAgeSeconds}`,
      'HttpOnly',
      `SameSite=${crossSite ? 'None' : 'Lax'}`,
      ...(secure ? ['Secure'] : []),
    ];
    response.append('Set-Cookie', parts.join('; '));
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
        const value: unknown = JSON.parse(header)?.[sessionCookieName(projectId, secure)];
        return typeof value === 'string' ? value : undefined;
      } catch {
        return undefined;
      }
    },
    /** Sets the session cookie. */
    open: (context: RequestContext, project: Project, secret: string, lifeSeconds: number): void => {
      set(context, project, secret, lifeSeconds);
      if (!keepsCookie(context)) {
        context.response.set(fallbackHeader, JSON.stringify({ [sessionCookieName(project.id, secure)]: secret }));
      }
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
