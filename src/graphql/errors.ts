import { GraphQLError } from 'graphql';
import { Failure } from '#src/contract/errors.js';
import { by } from '#src/contract/operation.js';
import { DatabaseError, failureOf } from '#src/platform/db/database-error.js';
import type { Platform } from '#src/platform/index.js';
import type { Caller } from './resolvers.js';

/** What a client sees of an error: those of the catalog and of its own query; everything else is masked and logged. */
export function describe(error: GraphQLError, caller: Caller, log: Platform['log']) {
  const { originalError, locations, path } = error;
  const place = { ...(locations === undefined ? {} : { locations }), ...(path === undefined ? {} : { path }) };
  const shown = (message: string, extensions: Readonly<Record<string, unknown>>) => ({ message, ...place, extensions });
  const known = originalError instanceof DatabaseError ? failureOf(originalError) : originalError;
  if (known instanceof Failure) return shown(known.message, { code: known.status, type: known.type });
  if (originalError !== undefined && !(originalError instanceof GraphQLError)) {
    const { requestId } = by(caller);
    log.error('graphql.failed', {
      requestId,
      error: originalError instanceof DatabaseError ? originalError.message : originalError.name,
    });
    return shown('Internal error', { code: 500, type: 'general_unknown', requestId });
  }
  // Suggestions would spell out the schema to whoever guesses.
  const message = error.message.replace(/ Did you mean .*\?$/s, '');
  return shown(message, { code: 400, type: 'general_argument_invalid', ...error.extensions });
}
