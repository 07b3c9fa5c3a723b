import { messageDelays } from '#src/contract/limits.js';
import { instantOf } from '#src/platform/clock.js';
import { type Random, withJitter } from '#src/platform/random.js';
import type { SendResult } from '#src/platform/send-result.js';
import type { MessageRow, MessageState } from '../store.js';

/** What an attempt changes of a message. */
type NextState = Pick<MessageRow, 'dueAt' | 'error' | 'sentAt'> & { readonly state: MessageState };

/** Sent, failed for good, or to be tried again; and where that would be after the life of what it carries, expired. */
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
