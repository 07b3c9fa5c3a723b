import type { ErrorType } from './errors.js';

/** Errors of requests that are part of a transaction. */
export const transactionErrors = [
  'transaction_conflict',
  'transaction_expired',
  'transaction_limit_exceeded',
  'transaction_not_found',
  'transaction_not_ready',
] as const satisfies readonly ErrorType[];
