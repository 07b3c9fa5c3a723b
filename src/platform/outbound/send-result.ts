import { describeNetworkError } from './network-errors.js';

/** Result of handing over a message. */
export interface SendResult {
  readonly ok: boolean;
  /** True if a retry cannot help: the message or its recipient was refused. */
  readonly isFinal: boolean;
  /** True if there was any response. */
  readonly isAnswered: boolean;
  /** Reason of the failure in the service's own words, without addresses; empty on success. */
  readonly error: string;
  /** The response, word for word. It may contain addresses, so it is only shown to the operator. */
  readonly answer: string;
}

/** The result for an accepted message. */
export function accepted(answer: string): SendResult {
  return { ok: true, isFinal: false, isAnswered: true, error: '', answer };
}

/** The result for a missing or malformed response. */
export function unanswered(error: unknown): SendResult {
  return { ok: false, isFinal: false, isAnswered: false, error: describeNetworkError(error), answer: '' };
}
