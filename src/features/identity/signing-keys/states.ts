import { signingKeyLife } from '#src/contract/limits.js';
import type { SigningAlgorithm } from '#src/contract/signing-key.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/runtime/clock.js';
import type { SigningKey } from './store.js';

/** `next`: published but not signing yet. `current`: signing. `retired`: still published because its tokens may still be valid. */
export type SigningKeyState = 'next' | 'current' | 'retired';

type KeyTime = 'signsFrom' | 'signsUntil' | 'publishedUntil';

const isPast = (instant: string | null, nowMs: number) => instant !== null && millisecondsOf(instant) <= nowMs;

/** Keys that have not expired. */
export function living(keys: readonly SigningKey[], nowMs: number): SigningKey[] {
  return keys.filter(({ publishedUntil }) => !isPast(publishedUntil, nowMs));
}

/** The key that signs: the newest whose time has come, otherwise the first to come. `keys` must be sorted by generation. */
export function currentOf(keys: readonly SigningKey[], alg: SigningAlgorithm, nowMs: number): SigningKey | undefined {
  const able = keys.filter((key) => key.alg === alg && !isPast(key.signsUntil, nowMs));
  return able.findLast(({ signsFrom }) => isPast(signsFrom, nowMs)) ?? able[0];
}

/** The key that will sign after the current one. */
export function nextOf(keys: readonly SigningKey[], alg: SigningAlgorithm, nowMs: number): SigningKey | undefined {
  return keys.findLast((key) => key.alg === alg && stateOf(keys, key, nowMs) === 'next');
}

/**
 * Corrected times of a key rotated before the clock was set back, as if it were rotated now: its successor signs soon, and its tokens are
 * accepted for the same overlap after that. Undefined if the times need no correction.
 */
export function settled(key: SigningKey, nowMs: number): Pick<SigningKey, KeyTime> | undefined {
  const change = nowMs + signingKeyLife.publishSeconds * 1000;
  const latest = latestPast(change);
  const isLate = (instant: string | null) => instant !== null && millisecondsOf(instant) > latest;
  const { signsFrom, signsUntil, publishedUntil } = key;
  if (!isLate(signsFrom) && !isLate(signsUntil)) return undefined;
  const overlap = signsUntil && publishedUntil ? millisecondsOf(publishedUntil) - millisecondsOf(signsUntil) : 0;
  return {
    signsFrom: isLate(signsFrom) ? instantOf(signsUntil === null ? change : nowMs) : signsFrom,
    signsUntil: isLate(signsUntil) ? instantOf(change) : signsUntil,
    publishedUntil: isLate(signsUntil) ? instantOf(change + overlap) : publishedUntil,
  };
}

/** The state of a key among `keys`. */
export function stateOf(keys: readonly SigningKey[], key: SigningKey, nowMs: number): SigningKeyState {
  if (currentOf(keys, key.alg, nowMs)?.kid === key.kid) return 'current';
  return isPast(key.signsFrom, nowMs) ? 'retired' : 'next';
}
