import Router from '@koa/router';
import type { Context, Middleware, Next } from 'koa';
import type { Declaration, Operation } from '#src/contract/operation.js';

/** The path below which the interface answers. */
export const basePath = '/v1';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Finds the operation of a request. */
interface Routes {
  /** Runs the operation's route; resolves to false where there is none. */
  dispatch(ctx: Context): Promise<boolean>;
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
 * and first segment below the base: a handful of routes each, however many there are in all.
 */
export function mount(
  operations: readonly Operation[],
  run: (ctx: Context, operation: Operation) => Promise<void>,
): Routes {
  const routers = new Map<string, { readonly router: Router; readonly middleware: Middleware }>();
  for (const operation of operations) {
    for (const path of pathsOf(operation.declaration)) {
      const key = bucket(operation.declaration.method, path);
      const router = routers.get(key)?.router ?? new Router({ strict: true });
      router.register(path, [operation.declaration.method], (ctx: Context) => run(ctx, operation));
      routers.set(key, { router, middleware: router.routes() as unknown as Middleware });
    }
  }
  const methodOf = (ctx: Context) => (ctx.method === 'HEAD' ? 'GET' : ctx.method);
  return {
    dispatch: async (ctx) => {
      const found = routers.get(bucket(methodOf(ctx), ctx.path));
      if (found === undefined) return false;
      let missed = false;
      const next: Next = async () => {
        missed = true;
      };
      await found.middleware(ctx, next);
      return !missed;
    },
    allowed: (path) =>
      methods.filter((method) => routers.get(bucket(method, path))?.router.match(path, method).route === true),
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
