import { messageDelays } from '#src/contract/limits.js';
import { type Random, withJitter } from '#src/platform/crypto/random.js';
import type { SendResult } from '#src/platform/outbound/send-result.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import type { MessageRow, MessageState } from '../model/store.js';

/** Columns that an attempt changes. */
type NextState = Pick<MessageRow, 'dueAt' | 'error' | 'sentAt'> & { readonly state: MessageState };

/** State after an attempt: sent, failed, or retrying. Expired if the next attempt would be after the expiry of the code or link. */
export function nextState(
  { attempt, expire }: Pick<MessageRow, 'attempt' | 'expire'>,
  { ok, isFinal, error }: SendResult,
  now: number,
  random: Random,
): NextState {
  const ended = (state: MessageState) => ({ state, dueAt: null, error, sentAt: ok ? instantOf(now) : null });
  if (ok) return ended('sent');
  const seconds = isFinal ? undefined : messageDelays[attempt - 1];
  if (seconds === undefined) return ended('failed');
  const dueAt = instantOf(now + withJitter(seconds * 1000, random));
  if (expire !== null && dueAt >= expire) return ended('expired');
  return { state: 'retrying', dueAt, error, sentAt: null };
}
