import type { SigningAlgorithm } from '#src/contract/signing-key.js';
import { millisecondsOf } from '#src/platform/clock.js';
import type { SigningKey } from './store.js';

/** Published and yet to sign, signing, or published because its tokens are still about. */
export type SigningKeyState = 'next' | 'current' | 'retired';

const isPast = (instant: string | null, nowMs: number) => instant !== null && millisecondsOf(instant) <= nowMs;

/** The keys whose time is not over. */
export function living(keys: readonly SigningKey[], nowMs: number): SigningKey[] {
  return keys.filter(({ publishedUntil }) => !isPast(publishedUntil, nowMs));
}

/** The key that signs: the newest whose time has come; where there is none, the first to come. The keys stand by generation. */
export function currentOf(keys: readonly SigningKey[], alg: SigningAlgorithm, nowMs: number): SigningKey | undefined {
  const able = keys.filter((key) => key.alg === alg && !isPast(key.signsUntil, nowMs));
  return able.findLast(({ signsFrom }) => isPast(signsFrom, nowMs)) ?? able[0];
}

/** The key that will sign after the current one. */
export function nextOf(keys: readonly SigningKey[], alg: SigningAlgorithm, nowMs: number): SigningKey | undefined {
  return keys.findLast((key) => key.alg === alg && stateOf(keys, key, nowMs) === 'next');
}

/** The state of one of the keys. */
export function stateOf(keys: readonly SigningKey[], key: SigningKey, nowMs: number): SigningKeyState {
  if (currentOf(keys, key.alg, nowMs)?.kid === key.kid) return 'current';
  return isPast(key.signsFrom, nowMs) ? 'retired' : 'next';
}
