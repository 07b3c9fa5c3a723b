import { GraphQLError } from 'graphql';
import { Failure } from '#src/contract/errors.js';
import { auditContextOf } from '#src/contract/operation.js';
import { DatabaseError, failureOf } from '#src/platform/db/database-error.js';
import type { Runtime } from '#src/platform/index.js';
import type { GraphqlCaller } from './resolvers.js';

/** Formats an error for the client. Errors from the catalog and from the query are passed on; all others are masked and logged. */
export function formatError(error: GraphQLError, caller: GraphqlCaller, log: Runtime['log']) {
  const { originalError, locations, path } = error;
  const location = { ...(locations === undefined ? {} : { locations }), ...(path === undefined ? {} : { path }) };
  const format = (message: string, extensions: Readonly<Record<string, unknown>>) => ({
    message,
    ...location,
    extensions,
  });
  const cause = originalError instanceof DatabaseError ? failureOf(originalError) : originalError;
  if (cause instanceof Failure) return format(cause.message, { code: cause.status, type: cause.type });
  if (originalError !== undefined && !(originalError instanceof GraphQLError)) {
    const { requestId } = auditContextOf(caller);
    log.error('graphql.failed', {
      requestId,
      error: originalError instanceof DatabaseError ? originalError.message : originalError.name,
    });
    return format('Internal error', { code: 500, type: 'general_unknown', requestId });
  }
  // Suggestions would reveal names of the schema to clients that guess.
  const message = error.message.replace(/ Did you mean .*\?$/s, '');
  return format(message, { code: 400, type: 'general_argument_invalid', ...error.extensions });
}
