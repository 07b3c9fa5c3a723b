import { Failure } from '#src/contract/errors.js';
import { DatabaseError, failureOf } from '#src/platform/db/database-error.js';
import { isGone } from '#src/platform/db/list-slots.js';
import { FileStoreError } from '#src/platform/file-store/index.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { millisecondsOf } from '#src/platform/runtime/clock.js';
import type { Cookies } from './cookies.js';
import { writePage } from './reply.js';
import type { RequestContext } from './request-context.js';
import type { ResultPages } from './result-pages.js';

/** The version in every error response. */
export const wireVersion = '1.0.0';

/** nginx's status for a client that closed the connection. It appears in the log and the metrics only. */
const clientGoneStatus = 499;

/** Status of redirects. Unlike a 301, caches must not store it. */
const redirectStatus = 302;

interface Given {
  readonly cookies: Cookies;
  readonly resultPages: ResultPages;
}

type Deps = Given & Pick<Runtime, 'log' | 'metrics' | 'clock'>;

/** Formats errors for clients. Logs unexpected errors. */
export function createEnvelope({ log, metrics, clock }: Pick<Runtime, 'log' | 'metrics' | 'clock'>, given: Given) {
  const deps: Deps = { ...given, log, metrics, clock };
  return bind(deps, { write });
}

/** Answers with the error. A client that closed the connection is not an error. */
function write(deps: Deps, context: RequestContext, error: unknown): void {
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
  const unshown = resultPages.unshown(context, failure);
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
