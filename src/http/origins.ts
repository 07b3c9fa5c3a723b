import { Failure } from '#src/contract/errors.js';
import { corsRequestHeaders, corsResponseHeaders } from '#src/contract/headers.js';
import type { Projects } from '#src/features/index.js';
import type { Platform } from '#src/platform/index.js';
import type { Exchange } from './exchange.js';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);
const preflightSeconds = 600;

/** Judges where requests of browsers come from (CORS and cross-site request forgery). */
export function createOrigins({ db, config }: Pick<Platform, 'db' | 'config'>, projects: Projects) {
  const allowHeaders = corsRequestHeaders(config.headerAliases).join(', ');
  const exposeHeaders = corsResponseHeaders(config.headerAliases).join(', ');

  const grant = ({ answer }: Exchange, origin: string) => {
    answer.set('Access-Control-Allow-Origin', origin);
    answer.set('Access-Control-Allow-Credentials', 'true');
  };
  return {
    /** Answers a preflight. It names no project, so any project's platform will do; the request itself is judged by its own. */
    preflight: async (exchange: Exchange): Promise<void> => {
      const { req, answer } = exchange;
      const { origin } = req.headers;
      answer.status = 204;
      answer.set('Vary', 'Origin');
      if (origin === undefined || !(await projects.anyAllowsOrigin(db, origin))) return;
      grant(exchange, origin);
      answer.set('Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE');
      answer.set('Access-Control-Allow-Headers', allowHeaders);
      answer.set('Access-Control-Max-Age', String(preflightSeconds));
    },
    /** Adds the CORS headers where the project allows the origin. */
    admit: (exchange: Exchange): void => {
      const { origin } = exchange.req.headers;
      exchange.answer.set('Vary', 'Origin');
      if (origin === undefined || exchange.project === undefined || !projects.allowsOrigin(exchange.project, origin))
        return;
      exchange.allowedOrigin = origin;
      grant(exchange, origin);
      exchange.answer.set('Access-Control-Expose-Headers', exposeHeaders);
    },
    /** Lets every page read a public document; credentials do not count there, and are not asked for. */
    admitAnybody: ({ answer }: Exchange): void => answer.set('Access-Control-Allow-Origin', '*'),
    /**
     * A cookie travels without the page's doing, so with it the origin must be one of the project's. Unsafe methods must also show what no
     * foreign form can send: JSON and the project header. Throws Failure.
     */
    demandOwn: (exchange: Exchange, projectInHeader: boolean): void => {
      const { ctx, allowedOrigin, project } = exchange;
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
      if (!isJson(ctx.get('Content-Type'))) throw new Failure('general_media_type_unsupported');
    },
  };
}

/** The origin rules of an installation. */
export type Origins = ReturnType<typeof createOrigins>;

/** Whether a Content-Type is JSON in UTF-8. */
export function isJson(contentType: string): boolean {
  return /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(contentType);
}
