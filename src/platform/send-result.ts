import { describeNetworkError } from './network-errors.js';

/** What came of handing a message over. */
export interface SendResult {
  readonly ok: boolean;
  /** Trying again cannot help: the message or whom it is for was refused. */
  readonly isFinal: boolean;
  /** Whether there was an answer at all. */
  readonly isAnswered: boolean;
  /** Why it failed, in words of ours, without addresses; empty where it did not. */
  readonly error: string;
  /** What was answered, word for word; it may quote addresses, so it is for the operator's screen only. */
  readonly answer: string;
}

/** It was accepted. */
export function accepted(answer: string): SendResult {
  return { ok: true, isFinal: false, isAnswered: true, error: '', answer };
}

/** Nobody answered, or not in a way that can be understood. */
export function unanswered(error: unknown): SendResult {
  return { ok: false, isFinal: false, isAnswered: false, error: describeNetworkError(error), answer: '' };
}
