import { Failure } from '#src/contract/errors.js';
import { millisecondsOf } from '#src/platform/clock.js';
import { DatabaseError, failureOf } from '#src/platform/db/database-error.js';
import type { Platform } from '#src/platform/index.js';
import type { Cookies } from './cookies.js';
import type { Exchange } from './exchange.js';

/** The version every error names. */
export const wireVersion = '1.0.0';

/** Turns whatever was thrown into the one form of error, and logs what is a defect of ours. */
export function createEnvelope({ log, metrics, clock }: Pick<Platform, 'log' | 'metrics' | 'clock'>, cookies: Cookies) {
  const asFailure = (error: unknown, requestId: string): Failure => {
    if (error instanceof Failure) return error;
    const known = error instanceof DatabaseError ? failureOf(error) : undefined;
    if (known !== undefined) {
      log.warn('request.unavailable', {
        requestId,
        error: nameOf(error),
        code: error instanceof DatabaseError ? error.code : undefined,
      });
      return known;
    }
    // The text of an error may hold values of a person; its class, the driver's code and our own frames may not.
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
    /** Writes the error answer. */
    write: (exchange: Exchange, error: unknown): void => {
      const { answer } = exchange;
      const failure = asFailure(error, exchange.requestId);
      exchange.errorType = failure.type;
      metrics.failure(failure.type);
      answer.status = failure.status;
      if (failure.retryAfter !== undefined) answer.set('Retry-After', String(failure.retryAfter));
      if (failure.type === 'general_body_too_large' || failure.type === 'general_request_timeout')
        answer.set('Connection', 'close');
      const { message, type, status, pendingSession } = failure;
      if (pendingSession !== undefined && exchange.project !== undefined) {
        const life = Math.floor((millisecondsOf(pendingSession.expire) - clock.now()) / 1000);
        cookies.open(exchange, exchange.project, pendingSession.secret, Math.max(0, life));
      }
      answer.set('Content-Type', 'application/json; charset=utf-8');
      for (const [name, value] of Object.entries(failure.headers)) answer.set(name, value);
      const members = { ...failure.members, ...(pendingSession === undefined ? {} : { pendingSession }) };
      answer.body = [JSON.stringify({ message, code: status, type, version: wireVersion, ...members })];
    },
  };
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
