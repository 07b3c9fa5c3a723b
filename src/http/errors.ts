import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import Koa from 'koa';
import { Failure } from '#src/contract/errors.js';
import type { Features } from '#src/features/index.js';
import { DatabaseError, failureOf } from '#src/platform/db/database-error.js';
import { isGone } from '#src/platform/db/list-slots.js';
import { FileStoreError } from '#src/platform/file-store/index.js';
import type { Runtime } from '#src/platform/index.js';
import { millisecondsOf } from '#src/platform/runtime/clock.js';
import type { Cookies } from './cookies.js';
import type { RequestLimit } from './limit.js';
import type { OriginChecks } from './origins.js';
import { writePage } from './reply.js';
import type { Middleware, RequestContext } from './request-context.js';
import type { ResultPages } from './result-pages.js';

/** The version in every error response. */
export const wireVersion = '1.0.0';

/** nginx's status for a client that closed the connection. It appears in the log and the metrics only. */
const clientGoneStatus = 499;

/** Status of redirects. Unlike a 301, caches must not store it. */
const redirectStatus = 302;

interface Given {
  readonly cookies: Cookies;
  readonly limit: RequestLimit;
  readonly origins: OriginChecks;
  readonly resultPages: ResultPages;
  readonly refusals: Features['refusals'];
}

type Deps = Given & Pick<Runtime, 'log' | 'metrics' | 'clock'>;

/**
 * Answers errors with the envelope and lets allowed origins read it. Logs unexpected errors. Errors of `ctx.throw` are answered as Koa does
 * it.
 */
export function createErrors(runtime: Pick<Runtime, 'log' | 'metrics' | 'clock'>, given: Given): Middleware {
  const { log, metrics, clock } = runtime;
  const deps: Deps = { ...given, log, metrics, clock };
  const { limit, origins, refusals } = given;
  const note = (context: RequestContext, error?: unknown) =>
    refusals.note(context.project?.id ?? null, error, { ip: context.ip, origin: context.refusedOrigin });
  return async (ctx, next) => {
    const { context } = ctx.state;
    try {
      await next();
      // The request succeeded, but the browser does not let the page read the response.
      if (context.refusedOrigin !== undefined) note(context);
    } catch (error) {
      await limit.giveBack(context, error);
      const { deferredRefusal } = context;
      note(context, deferredRefusal ?? error);
      if (error instanceof Koa.HttpError && error.expose) {
        ctx.status = error.status;
        ctx.body = error.message;
      } else await write(deps, context, deferredRefusal ?? error);
      if (context.project === undefined) await origins.admitWithoutProject(context);
    }
  };
}

/** Answers a client that has no response object, and closes the connection. `headers` are whole lines. */
export function endWithError(
  socket: Duplex,
  { status, type, message }: Pick<Failure, 'status' | 'type' | 'message'>,
  headers: string,
): void {
  const body = JSON.stringify({ message, code: status, type, version: wireVersion });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n${headers}Connection: close\r\n\r\n${body}`,
  );
}

/** Answers with the error. A client that closed the connection is not an error. */
async function write(deps: Deps, context: RequestContext, error: unknown): Promise<void> {
  const { metrics, clock, cookies, resultPages } = deps;
  const { ctx, response } = context;
  if (isGone(error)) {
    ctx.status = clientGoneStatus;
    response.body = [];
    return;
  }
  const failure = asFailure(deps, error, context.requestId);
  context.errorType = failure.type;
  context.missing = failure.missing;
  metrics.failure(failure.type);
  ctx.status = failure.status;
  if (failure.retryAfter !== undefined) response.set('Retry-After', String(failure.retryAfter));
  if (failure.type === 'general_body_too_large' || failure.type === 'general_request_timeout')
    response.set('Connection', 'close');
  const { message, type, status, pendingSession } = failure;
  if (pendingSession !== undefined && context.project !== undefined) {
    const life = Math.floor((millisecondsOf(pendingSession.expire) - clock.now()) / 1000);
    cookies.open(context, context.project, pendingSession.secret, Math.max(0, life));
  }
  for (const [name, value] of Object.entries(failure.headers)) response.set(name, value);
  if (context.errorPage !== undefined) {
    writePage(response, context.errorPage);
    return;
  }
  const page = context.failurePage ?? resultPages.failed(context);
  if (page !== undefined) {
    ctx.status = redirectStatus;
    response.set('Location', resultPages.errorAddress(page, failure));
    response.body = [];
    return;
  }
  const unshown = await resultPages.unshown(context, failure);
  if (unshown !== undefined) {
    writePage(response, unshown);
    return;
  }
  response.set('Content-Type', 'application/json; charset=utf-8');
  const members = { ...failure.members, ...(pendingSession === undefined ? {} : { pendingSession }) };
  response.body = [JSON.stringify({ message, code: status, type, version: wireVersion, ...members })];
}

function asFailure({ log }: Deps, error: unknown, requestId: string): Failure {
  if (error instanceof Failure) return error;
  const failure = unavailabilityOf(error);
  if (failure !== undefined) {
    log.warn('request.unavailable', {
      requestId,
      error: nameOf(error),
      code: error instanceof DatabaseError || error instanceof FileStoreError ? error.code : undefined,
    });
    return failure;
  }
  // Error messages may contain personal data. The class, the driver's code and the stack frames do not.
  const lines = error instanceof Error ? (error.stack ?? '').split('\n') : [];
  log.error('request.failed', {
    requestId,
    error: error instanceof DatabaseError ? error.message : nameOf(error),
    stack: lines
      .filter((line) => /^\s+at /.test(line))
      .slice(0, 8)
      .join('\n'),
  });
  return new Failure('general_unknown', { cause: error });
}

/** The Failure for an error of the database or the file store; undefined if the error is a bug. */
function unavailabilityOf(error: unknown): Failure | undefined {
  if (error instanceof DatabaseError) return failureOf(error);
  if (!(error instanceof FileStoreError)) return undefined;
  return new Failure('general_unavailable', { cause: error });
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
