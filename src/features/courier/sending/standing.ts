import { messageDelays } from '#src/contract/limits.js';
import type { Carried } from '#src/platform/carried.js';
import { instantOf } from '#src/platform/clock.js';
import { type Random, scattered } from '#src/platform/random.js';
import type { MessageRow, MessageState } from '../store.js';

/** How a message stands after an attempt. */
type Standing = Pick<MessageRow, 'dueAt' | 'error' | 'sentAt'> & { readonly state: MessageState };

/** Sent, failed for good, or to be tried again; and where that would be after the life of what it carries, expired. */
export function standingAfter(
  { attempt, expire }: Pick<MessageRow, 'attempt' | 'expire'>,
  { ok, isFinal, error }: Carried,
  now: number,
  random: Random,
): Standing {
  const ended = (state: MessageState) => ({ state, dueAt: null, error, sentAt: ok ? instantOf(now) : null });
  if (ok) return ended('sent');
  const seconds = isFinal ? undefined : messageDelays[attempt - 1];
  if (seconds === undefined) return ended('failed');
  const dueAt = instantOf(now + scattered(seconds * 1000, random));
  if (expire !== null && dueAt >= expire) return ended('expired');
  return { state: 'retrying', dueAt, error, sentAt: null };
}
