import { Failure } from '#src/contract/errors.js';
import { linkTo } from '#src/features/index.js';
import { millisecondsOf } from '#src/platform/clock.js';
import { DatabaseError, failureOf } from '#src/platform/db/database-error.js';
import { isGone } from '#src/platform/db/lane.js';
import { FileStoreError } from '#src/platform/file-store/index.js';
import type { Runtime } from '#src/platform/index.js';
import type { Cookies } from './cookies.js';
import type { RequestContext } from './request-context.js';
import type { ResultPages } from './result-pages.js';

/** The version in every error. */
export const wireVersion = '1.0.0';

/** In the log and the metrics, as in those of nginx: nobody is there whom an answer could reach. */
const clientGoneStatus = 499;

/** Of redirects; a cache must not keep them, as it may a 301. */
const redirectStatus = 302;

/** Formats errors for clients, and logs those that are defects of the service. */
export function createEnvelope(
  { log, metrics, clock }: Pick<Runtime, 'log' | 'metrics' | 'clock'>,
  { cookies, resultPages }: { readonly cookies: Cookies; readonly resultPages: ResultPages },
) {
  const asFailure = (error: unknown, requestId: string): Failure => {
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
    // The message of an error may hold personal data; its class, the driver's code and the stack frames do not.
    const frames =
      error instanceof Error
        ? (error.stack ?? '')
            .split('\n')
            .filter((line) => /^\s+at /.test(line))
            .slice(0, 8)
            .join('\n')
        : '';
    log.error('request.failed', {
      requestId,
      error: error instanceof DatabaseError ? error.message : nameOf(error),
      stack: frames,
    });
    return new Failure('general_unknown', { cause: error });
  };
  return {
    /** Answers with the error. That a client went away before its answer is none. */
    write: (context: RequestContext, error: unknown): void => {
      const { ctx, response } = context;
      if (isGone(error)) {
        ctx.status = clientGoneStatus;
        response.body = [];
        return;
      }
      const failure = asFailure(error, context.requestId);
      context.errorType = failure.type;
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
      const page = context.failurePage ?? resultPages.failed(context);
      if (page !== undefined) {
        // What the page learns is in its address, where a secret must not stand: the pending session is in the cookie alone.
        ctx.status = redirectStatus;
        const error = JSON.stringify({ message, type, code: status });
        response.set('Location', linkTo(page, { error }));
        response.body = [];
        return;
      }
      const html = resultPages.unshown(context, failure);
      if (html !== undefined) {
        response.set('Content-Type', 'text/html; charset=utf-8');
        response.body = [html];
        return;
      }
      response.set('Content-Type', 'application/json; charset=utf-8');
      const members = { ...failure.members, ...(pendingSession === undefined ? {} : { pendingSession }) };
      response.body = [JSON.stringify({ message, code: status, type, version: wireVersion, ...members })];
    },
  };
}

/** The answer for an error of the database or the file store; undefined where it is a defect of ours. */
function unavailabilityOf(error: unknown): Failure | undefined {
  if (error instanceof DatabaseError) return failureOf(error);
  if (!(error instanceof FileStoreError)) return undefined;
  return new Failure('general_unavailable', { cause: error });
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
