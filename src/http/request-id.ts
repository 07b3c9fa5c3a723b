import { requestIdPattern } from '#src/contract/headers.js';
import type { Random } from '#src/platform/crypto/random.js';

/** Returns the request id from the caller's header if it is well-formed, otherwise a new one. */
export function requestId(header: string | string[] | undefined, random: Random): string {
  return typeof header === 'string' && requestIdPattern.test(header) ? header : random.id();
}
