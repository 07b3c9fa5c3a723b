import { Failure } from '#src/contract/errors.js';
import { corsRequestHeaders, corsResponseHeaders } from '#src/contract/headers.js';
import type { Declaration } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { isBelow } from '#src/contract/web-address.js';
import type { Projects } from '#src/features/index.js';
import type { Runtime } from '#src/platform/index.js';
import { hasBody, isJson } from './body.js';
import type { RequestContext } from './request-context.js';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);
const preflightSeconds = 600;
/** The number of granted origins that are cached, and the length of one. */
const maxCached = { origins: 1000, characters: 300 };
/** Errors after which no query is made: the database is unavailable, or the caller has used up its limit. */
const withoutQuery = new Set<string | undefined>(['general_unavailable', 'general_rate_limit_exceeded']);

/** Checks the origins of browsers' requests (CORS and cross-site request forgery). */
export function createOrigins({ db, config }: Pick<Runtime, 'db' | 'config'>, projects: Projects) {
  const allowHeaders = corsRequestHeaders(config.headerAliases).join(', ');
  const exposeHeaders = corsResponseHeaders(config.headerAliases).join(', ');

  const base = new URL(config.baseUrl);
  const granted = new Set<string>();

  const grant = ({ response }: RequestContext, origin: string) => {
    response.set('Access-Control-Allow-Origin', origin);
    response.set('Access-Control-Allow-Credentials', 'true');
    if (origin.length > maxCached.characters || granted.has(origin)) return;
    if (granted.size >= maxCached.origins) granted.clear();
    granted.add(origin);
  };
  /** Whether a preflight would be granted to the origin. */
  const isSomePlatform = async (context: RequestContext, origin: string): Promise<boolean> => {
    if (projects.isOwnOrigin(origin)) return true;
    if (withoutQuery.has(context.errorType)) return granted.has(origin);
    // The response stands without these headers too; the page only cannot read it.
    return projects.anyAllowsOrigin(db, origin).catch(() => granted.has(origin));
  };
  return {
    /** Answers a preflight. It names no project, so a platform of any project is granted; the request itself is checked by its project. */
    preflight: async (context: RequestContext): Promise<void> => {
      const { ctx, req, response } = context;
      const { origin } = req.headers;
      ctx.status = 204;
      response.body = [];
      response.set('Vary', 'Origin');
      if (origin === undefined || !(await projects.anyAllowsOrigin(db, origin))) return;
      grant(context, origin);
      response.set('Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE');
      response.set('Access-Control-Allow-Headers', allowHeaders);
      response.set('Access-Control-Max-Age', String(preflightSeconds));
    },
    /** Adds the CORS headers where the project allows the origin. */
    admit: (context: RequestContext): void => {
      const { origin } = context.req.headers;
      context.response.set('Vary', 'Origin');
      if (origin === undefined || context.project === undefined || !projects.allowsOrigin(context.project, origin))
        return;
      context.allowedOrigin = origin;
      grant(context, origin);
      context.response.set('Access-Control-Expose-Headers', exposeHeaders);
    },
    /**
     * Adds the CORS headers to a response without a project: an error before the project was found, or an operation that takes none. Without
     * them a browser shows a mistyped project id as a failed fetch.
     */
    admitWithoutProject: async (context: RequestContext): Promise<void> => {
      const { req, response } = context;
      if (response.get('Access-Control-Allow-Origin') !== undefined) return;
      response.set('Vary', 'Origin');
      const { origin } = req.headers;
      if (origin === undefined || !(await isSomePlatform(context, origin))) return;
      grant(context, origin);
      response.set('Access-Control-Expose-Headers', exposeHeaders);
    },
    /**
     * Refuses foreign pages, scripts and forms alike, for operations that set the session cookie: they would log the browser in (login CSRF).
     * Other clients than browsers send neither header. Throws Failure.
     */
    demandForSession: ({ req, allowedOrigin }: RequestContext, { session, form }: Declaration): void => {
      // A foreign form brings no cookie of another site, but the response could still clear it.
      if (session === undefined || (session === 'closes' && form !== true)) return;
      if (allowedOrigin !== undefined) return;
      if (req.headers.origin !== undefined || req.headers['sec-fetch-site'] === 'cross-site')
        throw new Failure('general_unknown_origin');
    },
    /** Leads errors of an operation that a browser opens to the page that its address names as `failure`, if that is the project's. */
    leadErrors: (context: RequestContext, project: Project): void => {
      const { failure } = context.ctx.query;
      if (typeof failure === 'string') context.failurePage = projects.ownUrl(project, failure);
    },
    /**
     * Whether a page of the project has opened the address in the browser: the cookie comes along whoever has. Browsers tell by Fetch Metadata, and
     * by the referrer, which a page can withhold but not choose. The service's own pages are for logins and never lead to a link.
     */
    isOwnNavigation: ({ req, project }: RequestContext): boolean => {
      const { 'sec-fetch-site': site, referer } = req.headers;
      const page = referer !== undefined && URL.canParse(referer) ? new URL(referer) : undefined;
      if (page !== undefined && isBelow(page, base)) return false;
      if (site === 'same-origin') return true;
      return project !== undefined && page !== undefined && projects.allowsOrigin(project, page.origin);
    },
    /** Whether a page of the service or of the project has sent the form; browsers tell by the headers of both. */
    isOwnForm: ({ req, allowedOrigin }: RequestContext): boolean =>
      allowedOrigin !== undefined || req.headers['sec-fetch-site'] === 'same-origin',
    /** Lets every page read a public document, for which credentials are ignored. */
    admitAnybody: ({ response }: RequestContext): void => response.set('Access-Control-Allow-Origin', '*'),
    /**
     * Browsers send a cookie whatever page makes the request, so the origin must be one of the project's. Unsafe methods also need what no
     * foreign form can send: the project header, and JSON where there is a body. Throws Failure.
     */
    demandOwn: (context: RequestContext, projectInHeader: boolean): void => {
      const { ctx, allowedOrigin, project } = context;
      const { origin } = ctx.req.headers;
      const strict = project?.settings['cookie.sameSite'] === 'none';
      if (origin !== undefined && allowedOrigin === undefined) throw new Failure('general_unknown_origin');
      if (safeMethods.has(ctx.method) && !strict) return;
      const sameOrigin = ctx.get('Sec-Fetch-Site') === 'same-origin';
      if (allowedOrigin === undefined && !sameOrigin) {
        throw new Failure('general_unknown_origin', {
          message: 'A request that carries the session cookie must come from a page of a platform of the project.',
        });
      }
      if (safeMethods.has(ctx.method)) return;
      if (!projectInHeader)
        throw new Failure('general_unknown_origin', {
          message: 'With a session cookie the project must be named in a header.',
        });
      // A foreign form cannot send the project header, whatever its media type is.
      if (context.operation?.declaration.upload) return;
      if (hasBody(ctx.req) && !isJson(ctx.get('Content-Type'))) throw new Failure('general_media_type_unsupported');
    },
  };
}

/** The origin rules of an installation. */
export type Origins = ReturnType<typeof createOrigins>;
