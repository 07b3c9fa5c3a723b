import { absentService, isAbsentPost } from '#src/contract/absent-services.js';
import { Failure } from '#src/contract/errors.js';
import type { Operation } from '#src/contract/operation.js';
import type { RequestLimit } from './limit.js';
import type { OriginChecks } from './origins.js';
import { basePath, isRealtime } from './paths.js';
import type { Middleware, RequestContext } from './request-context.js';
import { createRoutes, knownMethods } from './routes.js';

/** Finds the operation of a request. Answers preflights. Throws Failure for unknown paths and methods. */
export function createRouting(
  operations: readonly Operation[],
  { limit, origins }: { limit: RequestLimit; origins: OriginChecks },
): Middleware {
  const routes = createRoutes(operations);
  const isServed = (path: string) => isRealtime(path) || routes.allowed(path).length > 0;
  const refuseMethod = ({ ctx, response }: RequestContext): never => {
    const allowed = isRealtime(ctx.path) ? ['GET'] : routes.allowed(ctx.path);
    response.set('Allow', [...allowed, ...(allowed.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', '));
    throw new Failure('general_method_unsupported');
  };
  const refuseWithoutUpgrade = (context: RequestContext): never => {
    const { method, res } = context.ctx;
    limit.requireOperation(context);
    if (method !== 'GET' && method !== 'HEAD') return refuseMethod(context);
    // RFC 9110 §7.8 and §15.5.22. Since `Connection` is set here, Node closes at the client's request only if its value contains `close`.
    const Connection = res.shouldKeepAlive ? 'Upgrade' : 'Upgrade, close';
    throw new Failure('general_upgrade_required', { headers: { Connection, Upgrade: 'websocket' } });
  };
  const answerUnrouted = async (context: RequestContext): Promise<void> => {
    const { ctx } = context;
    if (!knownMethods.has(ctx.method)) return refuseMethod(context);
    if (ctx.method === 'OPTIONS') {
      limit.requireOperation(context);
      return origins.preflight(context);
    }
    if (isRealtime(ctx.path)) return refuseWithoutUpgrade(context);
    const path = ctx.path.startsWith(basePath) ? ctx.path.slice(basePath.length) : '';
    if (routes.allowed(ctx.path).length > 0 && !(ctx.method === 'POST' && isAbsentPost(path)))
      return refuseMethod(context);
    limit.requireFewRefused(context);
    const absent = absentService(path);
    if (absent !== undefined)
      throw new Failure('general_feature_unsupported', { message: `This service does not have ${absent}.` });
    throw new Failure('general_route_not_found', missedBy(ctx.path, isServed));
  };
  return (ctx, next) => {
    const { context } = ctx.state;
    const route = routes.find(ctx);
    if (route === undefined) return answerUnrouted(context);
    context.operation = route.operation;
    context.params = route.params;
    return next();
  };
}

/** Explains an unknown path that would exist with the base path or without extra slashes. The set of paths is not secret. */
function missedBy(path: string, isServed: (path: string) => boolean): { readonly message?: string } {
  const single = path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
  if (isServed(single))
    return { message: 'There is no such route: the path has a slash too many. Check the end of the endpoint.' };
  if (!single.startsWith(`${basePath}/`) && isServed(`${basePath}${single}`))
    return {
      message: `There is no such route: paths begin with ${basePath}. Use an endpoint that ends in ${basePath}.`,
    };
  return {};
}
