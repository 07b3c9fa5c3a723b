import type { Declaration } from '#src/contract/declaration.js';
import { Failure } from '#src/contract/errors.js';
import { corsRequestHeaders, corsResponseHeaders } from '#src/contract/headers.js';
import type { Project } from '#src/contract/project.js';
import { isBelow } from '#src/contract/web-address.js';
import type { Projects } from '#src/features/index.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { hasBody, isJson } from './body.js';
import { firstParameter } from './query.js';
import type { RequestContext } from './request-context.js';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);
const preflightSeconds = 600;
/** Bounds of the cache of granted origins: entries, and characters per origin. */
const maxCached = { origins: 1000, characters: 300 };
/** Errors that rule out a query: the database is unavailable, or the caller has exceeded its limit. */
const withoutQuery = new Set<string | undefined>(['general_unavailable', 'general_rate_limit_exceeded']);

/** The origin checks of an installation. */
export interface OriginChecks {
  /**
   * Answers a preflight. A preflight does not name a project, so the platforms of all projects are granted. The actual request is checked
   * against its own project.
   */
  preflight(context: RequestContext): Promise<void>;
  /** Adds the CORS headers if the project allows the origin. */
  admit(context: RequestContext): void;
  /**
   * Adds the CORS headers to a response without a project: an error before the project was found, or an operation without a project.
   * Without them, browsers show a mistyped project id as a failed fetch.
   */
  admitWithoutProject(context: RequestContext): Promise<void>;
  /**
   * Rejects scripts and forms of foreign pages for operations that set the session cookie (login CSRF). Clients other than browsers send
   * neither header. Throws Failure.
   */
  requireForSession(context: RequestContext, declaration: Declaration): void;
  /** Redirects errors of an operation opened in a browser to the page in the `failure` parameter, if the page belongs to the project. */
  leadErrors(context: RequestContext, project: Project): void;
  /**
   * True if a page of the project opened the URL. The cookie does not show this: browsers send it with any navigation. Checks Fetch
   * Metadata and the referrer, which a page can omit but not forge. The service's own pages do not count: they are for logins and never
   * link to such a URL.
   */
  isOwnNavigation(context: RequestContext): boolean;
  /** True if a page of the service or of the project submitted the form, by `Origin` or Fetch Metadata. */
  isOwnForm(context: RequestContext): boolean;
  /** Lets any page read a public document. Credentials are ignored there. */
  admitAnybody(context: RequestContext): void;
  /**
   * Requires an origin of the project for requests with a session cookie: browsers send the cookie whichever page makes the request.
   * Unsafe methods also require the project header, and JSON if there is a body; a foreign form can send neither. Programs that are no
   * browser send no origin, which `cookie.sameSite` `none` does not permit. Throws Failure.
   */
  requireOwn(context: RequestContext, projectInHeader: boolean): void;
}

interface Deps extends Pick<Runtime, 'db'> {
  readonly projects: Projects;
  readonly base: URL;
  readonly allowHeaders: string;
  readonly exposeHeaders: string;
  /** Origins granted before, for use while the database is unavailable. */
  readonly granted: Set<string>;
}

/** Checks the origins of browser requests (CORS and CSRF). */
export function createOriginChecks({ db, config }: Pick<Runtime, 'db' | 'config'>, projects: Projects): OriginChecks {
  const deps: Deps = {
    db,
    projects,
    base: new URL(config.baseUrl),
    allowHeaders: corsRequestHeaders(config.headerAliases).join(', '),
    exposeHeaders: corsResponseHeaders(config.headerAliases).join(', '),
    granted: new Set(),
  };
  return {
    ...bind(deps, { preflight, admit, admitWithoutProject, leadErrors, isOwnNavigation }),
    requireForSession,
    requireOwn,
    isOwnForm: ({ req, allowedOrigin }) =>
      allowedOrigin !== undefined || req.headers['sec-fetch-site'] === 'same-origin',
    admitAnybody: ({ response }) => response.set('Access-Control-Allow-Origin', '*'),
  };
}

async function preflight(deps: Deps, context: RequestContext): Promise<void> {
  const { ctx, req, response } = context;
  const { origin } = req.headers;
  ctx.status = 204;
  response.body = [];
  response.set('Vary', 'Origin');
  if (origin === undefined) return;
  if (!(await deps.projects.anyAllowsOrigin(deps.db, origin))) {
    context.refusedOrigin = origin;
    return;
  }
  grant(deps, context, origin);
  response.set('Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE');
  response.set('Access-Control-Allow-Headers', deps.allowHeaders);
  response.set('Access-Control-Max-Age', String(preflightSeconds));
}

function grant({ granted }: Deps, { response }: RequestContext, origin: string): void {
  response.set('Access-Control-Allow-Origin', origin);
  response.set('Access-Control-Allow-Credentials', 'true');
  if (origin.length > maxCached.characters || granted.has(origin)) return;
  if (granted.size >= maxCached.origins) granted.clear();
  granted.add(origin);
}

function admit(deps: Deps, context: RequestContext): void {
  const { req, response, project } = context;
  const { origin } = req.headers;
  response.set('Vary', 'Origin');
  if (origin === undefined || project === undefined) return;
  if (!deps.projects.allowsOrigin(project, origin)) {
    context.refusedOrigin = origin;
    return;
  }
  context.allowedOrigin = origin;
  grant(deps, context, origin);
  response.set('Access-Control-Expose-Headers', deps.exposeHeaders);
}

async function admitWithoutProject(deps: Deps, context: RequestContext): Promise<void> {
  const { req, response } = context;
  if (response.get('Access-Control-Allow-Origin') !== undefined) return;
  response.set('Vary', 'Origin');
  const { origin } = req.headers;
  if (origin === undefined || !(await isSomePlatform(deps, context, origin))) return;
  grant(deps, context, origin);
  response.set('Access-Control-Expose-Headers', deps.exposeHeaders);
}

/** True if a preflight from the origin would be granted. */
async function isSomePlatform({ db, projects, granted }: Deps, context: RequestContext, origin: string) {
  if (projects.isOwnOrigin(origin)) return true;
  if (withoutQuery.has(context.errorType)) return granted.has(origin);
  // Without these headers the response is still sent, but the page cannot read it.
  return projects.anyAllowsOrigin(db, origin).catch(() => granted.has(origin));
}

function leadErrors({ projects }: Deps, context: RequestContext, project: Project): void {
  const failure = firstParameter(context.ctx.querystring, 'failure');
  if (failure !== undefined) context.failurePage = projects.ownUrl(project, failure);
}

function isOwnNavigation({ projects, base }: Deps, { req, project }: RequestContext): boolean {
  const { 'sec-fetch-site': site, referer } = req.headers;
  const page = referer !== undefined && URL.canParse(referer) ? new URL(referer) : undefined;
  if (page !== undefined && isBelow(page, base)) return false;
  if (site === 'same-origin') return true;
  return project !== undefined && page !== undefined && projects.allowsOrigin(project, page.origin);
}

function requireForSession({ req, allowedOrigin }: RequestContext, { input, reply }: Declaration): void {
  // A foreign form does not send the cookie, but the response could still clear it.
  if (reply.session === undefined || (reply.session === 'closes' && input?.form !== true)) return;
  if (allowedOrigin !== undefined) return;
  if (req.headers.origin !== undefined || req.headers['sec-fetch-site'] === 'cross-site')
    throw new Failure('general_unknown_origin');
}

function requireOwn(context: RequestContext, projectInHeader: boolean): void {
  const { ctx, allowedOrigin, project } = context;
  const { origin } = ctx.req.headers;
  const strict = project?.settings['cookie.sameSite'] === 'none';
  if (origin !== undefined && allowedOrigin === undefined) throw new Failure('general_unknown_origin');
  if (safeMethods.has(ctx.method) && !strict) return;
  const site = ctx.get('Sec-Fetch-Site');
  // Every browser sends one of the two with an unsafe method, and none sends a `Lax` cookie with a foreign one.
  const isBrowser = origin !== undefined || site !== '';
  if (allowedOrigin === undefined && site !== 'same-origin' && (isBrowser || strict)) {
    throw new Failure('general_unknown_origin', {
      message: 'A request that carries the session cookie must come from a page of a platform of the project.',
    });
  }
  if (safeMethods.has(ctx.method)) return;
  if (!projectInHeader)
    throw new Failure('general_unknown_origin', {
      message: 'With a session cookie the project must be named in a header.',
    });
  // A foreign form cannot send the project header, so the media type does not matter.
  if (context.operation?.declaration.input?.upload) return;
  if (hasBody(ctx.req) && !isJson(ctx.get('Content-Type'))) throw new Failure('general_media_type_unsupported');
}
