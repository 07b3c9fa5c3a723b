import { requestIdPattern } from '#src/contract/headers.js';
import type { Random } from '#src/platform/random.js';

/** The caller's request id where it is well formed, else a new one. */
export function requestId(given: string | undefined, random: Random): string {
  return given !== undefined && requestIdPattern.test(given) ? given : random.id();
}
