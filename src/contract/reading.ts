/** The client that waits for a response. */
export interface Waiter {
  /** Whether the client has closed the connection. */
  readonly isGone: boolean;
  /** Calls the listener once, when the client closes the connection; returns a function that removes the listener. */
  onGone(listener: () => void): () => void;
}

/** The account and the client that a list is read for: each account has a bounded share of the database, and a read ends when its client is gone. */
export interface Reading {
  /** The account whose share the read takes: a user, a server key, or the address of a guest. */
  readonly account: string;
  readonly waiter: Waiter;
  /** Milliseconds that a statement may take, where that is less than the limit of all statements. */
  readonly maxMs?: number;
  /** Called when the read has waited for its place and begins; again where a read that shared a statement is made alone. */
  readonly onStarted?: () => void;
}

/** The reading of the operator at the command line, which waits until the end. */
export const operatorReading: Reading = {
  account: 'operator',
  waiter: { isGone: false, onGone: () => () => {} },
};
