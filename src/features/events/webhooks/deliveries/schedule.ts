import { deliveryDelays } from '#src/contract/limits.js';
import { type Random, withJitter } from '#src/platform/crypto/random.js';

/** Parts of a response that affect the next attempt. */
interface Answered {
  readonly statusCode: number;
  readonly retryAfter: string | undefined;
}

/**
 * Milliseconds until the next attempt after a number of failed ones; undefined after the last. Varies by a fifth at random, so that
 * deliveries that failed together are not retried together. `Retry-After` in a 429 or 503 can double the delay.
 */
export function delayAfter(attempts: number, answered: Answered, random: Random, now: number): number | undefined {
  const seconds = deliveryDelays[attempts - 1];
  if (seconds === undefined) return undefined;
  const delay = withJitter(seconds * 1000, random);
  const requested = [429, 503].includes(answered.statusCode) ? askedDelay(answered.retryAfter, now) : 0;
  return Math.max(delay, Math.min(requested, 2 * delay));
}

/** `Retry-After` in milliseconds: seconds or a date (RFC 9110, section 10.2.3). 0 if it is invalid. */
function askedDelay(text = '', now: number): number {
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const until = Date.parse(text);
  return Number.isNaN(until) ? 0 : until - now;
}
