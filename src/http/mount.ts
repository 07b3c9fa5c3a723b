import Router from '@koa/router';
import type { Context } from 'koa';
import type { Declaration, Operation } from '#src/contract/operation.js';

/** The path below which the interface answers. */
export const basePath = '/v1';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** An operation and what the path says to it. */
interface Found {
  readonly operation: Operation;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds the operation of a request. */
interface Routes {
  find(ctx: Context): Found | undefined;
  /** Methods that the path of a request answers to. */
  allowed(path: string): string[];
}

/** Every path of an operation, with and without the base. */
export function pathsOf(declaration: Declaration): string[] {
  const paths = [declaration.path, ...(declaration.aliases ?? [])];
  return paths.flatMap((path) => [`${basePath}${path}`, ...(declaration.atRoot ? [path] : [])]);
}

/**
 * Puts the operations into routers. A router looks through its routes one by one, so there is one for each method, number of segments
 * and first segment below the base: a handful of routes each, however many there are in all. Paths without parameters are at hand besides.
 */
export function mount(operations: readonly Operation[]): Routes {
  const routers = new Map<string, Router>();
  const operationOf = new Map<unknown, Operation>();
  const match = (method: string, path: string): Found | undefined => {
    const layer = routers.get(bucket(method, path))?.match(path, method).pathAndMethod[0];
    const operation = operationOf.get(layer);
    if (layer === undefined || operation === undefined) return undefined;
    return { operation, params: layer.params(path, layer.captures(path)) };
  };
  const fixed = new Map<string, Map<string, Found>>(methods.map((method) => [method, new Map()]));
  for (const operation of operations) {
    const { method } = operation.declaration;
    for (const path of pathsOf(operation.declaration)) {
      const key = bucket(method, path);
      const router = routers.get(key) ?? new Router({ strict: true });
      operationOf.set(router.register(path, [method], []), operation);
      routers.set(key, router);
      const found = match(method, path);
      if (found !== undefined && !path.includes(':')) fixed.get(method)?.set(path, found);
    }
  }
  return {
    find: (ctx) => {
      const method = ctx.req.method === 'HEAD' ? 'GET' : (ctx.req.method ?? '');
      return fixed.get(method)?.get(ctx.req.url ?? '') ?? match(method, ctx.path);
    },
    allowed: (path) => methods.filter((method) => match(method, path) !== undefined),
  };
}

/** Operations of one bucket share method, number of segments, and the first segment below the base. */
function bucket(method: string, path: string): string {
  const below = path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path;
  let segments = 0;
  for (let at = 0; at < path.length; at++) if (path.charCodeAt(at) === 47) segments += 1;
  const end = below.indexOf('/', 1);
  return `${method} ${segments} ${end === -1 ? below : below.slice(0, end)}`;
}
