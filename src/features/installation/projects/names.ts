import { Failure } from '#src/contract/errors.js';
import { displayName } from '#src/contract/shapes.js';

/** Validates a name that did not pass through an API operation. Throws Failure. */
export function requireName(what: 'project' | 'platform' | 'server key', name: string): void {
  if (name.trim() === '')
    throw new Failure('general_argument_invalid', { message: `The name of a ${what} has at least one character.` });
  const problem = displayName.safeParse(name).error?.issues[0]?.message;
  if (problem !== undefined)
    throw new Failure('general_argument_invalid', { message: `The name of a ${what} is not valid: ${problem}.` });
}
