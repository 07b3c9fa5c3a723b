import type { Binding } from '#src/contract/browser.js';
import { bindingCookieName, fallbackSessionName, sessionCookieName } from '#src/contract/headers.js';
import type { Project } from '#src/contract/project.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import { bind } from '#src/platform/runtime/bind.js';
import { readJson } from '#src/platform/text/json.js';
import type { RequestContext } from './request-context.js';

const fallbackHeader = 'X-Fallback-Cookies';
const fallbackRequestHeader = fallbackHeader.toLowerCase();

/** Reads and writes the session cookies of an installation. */
export interface Cookies {
  /** The session secret in the request's cookie. */
  read(context: RequestContext, projectId: string): string | undefined;
  /** The session secret in the fallback header. */
  readFallback(context: RequestContext, projectId: string): string | undefined;
  /** Sets the session cookie. Server keys get none, because a client with a cookie jar would then send both, which is refused. */
  open(context: RequestContext, project: Project, secret: string, lifeSeconds: number): void;
  /**
   * Sets the cookie that binds a login through another site to the browser. Browsers send a cookie with a form post from another site
   * only if it is `SameSite=None; Secure`. Over http they store such a cookie only for localhost.
   */
  bind(context: RequestContext, binding: Binding): void;
  /** Reads and clears the binding cookie; null if there is none. */
  takeBinding(context: RequestContext, id: string): string | null;
  /** Clears the session cookie. */
  close(context: RequestContext, project: Project): void;
}

interface Site {
  readonly base: URL;
  readonly secure: boolean;
  readonly isLocal: boolean;
}

/** Reads and writes session cookies, and the header that the Appwrite web SDK uses if the browser blocks third-party cookies. */
export function createCookies(baseUrl: string): Cookies {
  const base = new URL(baseUrl);
  const site: Site = { base, secure: base.protocol === 'https:', isLocal: isOnLocalhost(baseUrl) };
  return {
    ...bind(site, { read, readFallback, open, takeBinding, close }),
    bind: (context, { id, secret, lifeSeconds, isPosted }) => {
      const canBeSecure = site.secure || site.isLocal;
      append(site, context, bindingCookieName(id, site.secure), secret, lifeSeconds, isPosted && canBeSecure);
    },
  };
}

function read({ secure }: Site, { req }: RequestContext, projectId: string): string | undefined {
  const { cookie } = req.headers;
  return cookie === undefined ? undefined : cookieValue(cookie, sessionCookieName(projectId, secure));
}

function readFallback({ secure }: Site, { req }: RequestContext, projectId: string): string | undefined {
  const header = req.headers[fallbackRequestHeader];
  if (typeof header !== 'string' || header.length > 4096) return undefined;
  try {
    const values: unknown = readJson(header);
    const named = Object(values) as Readonly<Record<string, unknown>>;
    const value = named[sessionCookieName(projectId, secure)] ?? named[fallbackSessionName(projectId)];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

function open(site: Site, context: RequestContext, project: Project, secret: string, lifeSeconds: number): void {
  if (context.actor?.kind === 'key') return;
  set(site, context, project, secret, lifeSeconds);
  if (!keepsCookie(site, context)) {
    const names = [sessionCookieName(project.id, site.secure), fallbackSessionName(project.id)];
    const values = Object.fromEntries(names.map((name) => [name, secret]));
    context.response.set(fallbackHeader, JSON.stringify(values));
  }
}

function set(site: Site, context: RequestContext, project: Project, value: string, maxAgeSeconds: number): void {
  const isCrossSite = site.secure && project.settings['cookie.sameSite'] === 'none';
  append(site, context, sessionCookieName(project.id, site.secure), value, maxAgeSeconds, isCrossSite);
}

function append(
  { secure }: Site,
  { response }: RequestContext,
  name: string,
  value: string,
  maxAgeSeconds: number,
  isCrossSite: boolean,
): void {
  const parts = [
    `${name}=${value}`,
    'Path=/',
    `Max-Age=${maxAgeSeconds}`,
    'HttpOnly',
    `SameSite=${isCrossSite ? 'None' : 'Lax'}`,
    ...(secure || isCrossSite ? ['Secure'] : []),
  ];
  response.append('Set-Cookie', parts.join('; '));
}

/**
 * True if the browser accepts the cookie because the page is on the same site. Then the fallback header is left out: scripts can read it,
 * which only weakens the secret. Browsers report the site in `Sec-Fetch-Site` (Fetch Metadata). Without it, host names are compared; they
 * do not show if app. and api. are one site, as that needs a list of public suffixes.
 */
function keepsCookie({ base }: Site, { ctx }: RequestContext): boolean {
  const site = ctx.get('Sec-Fetch-Site');
  if (site !== '') return site === 'same-origin' || site === 'same-site';
  const { origin } = ctx.req.headers;
  if (origin === undefined || !URL.canParse(origin)) return false;
  const { hostname } = new URL(origin);
  return hostname === base.hostname || hostname.endsWith(`.${base.hostname}`) || base.hostname.endsWith(`.${hostname}`);
}

function takeBinding(site: Site, context: RequestContext, id: string): string | null {
  const name = bindingCookieName(id, site.secure);
  const value = cookieValue(context.req.headers.cookie ?? '', name);
  if (value === undefined) return null;
  append(site, context, name, '', 0, false);
  return value;
}

function close(site: Site, context: RequestContext, project: Project): void {
  set(site, context, project, '', 0);
  context.response.set(fallbackHeader, '[]');
}

function cookieValue(header: string, name: string): string | undefined {
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}
