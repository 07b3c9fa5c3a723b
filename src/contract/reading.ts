/** The client that waits for a response. */
export interface Waiter {
  /** True if the client has closed the connection. */
  readonly isGone: boolean;
  /** Calls the listener once, when the client closes the connection; returns a function that removes the listener. */
  onGone(listener: () => void): () => void;
}

/** The account and the client of a list read: each account has a database quota, and a read is cancelled when its client is gone. */
export interface Reading {
  /** The account whose quota the read uses: a user, a server key, or the address of a guest. */
  readonly account: string;
  readonly waiter: Waiter;
  /** Time limit of a statement in milliseconds, if it is shorter than the limit of all statements. */
  readonly maxMs?: number;
  /** Called when the read has its slot and starts; called again if a read that shared a statement is repeated alone. */
  readonly onStarted?: () => void;
}

/** The reading of the operator at the command line, which is never cancelled. */
export const operatorReading: Reading = {
  account: 'operator',
  waiter: { isGone: false, onGone: () => () => {} },
};
