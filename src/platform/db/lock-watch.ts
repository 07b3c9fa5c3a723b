import { createSingleFlight } from '../runtime/single-flight.js';

/** Interval of the check for transactions that wait too long, in milliseconds. */
const everyMs = 250;

/** A running transaction. */
interface Watched {
  /** Id of the server process that runs it. */
  readonly processId: number;
  /** End of the allowed waiting time, on the clock of `performance`. */
  readonly until: number;
}

/** The running transactions whose waits for locks are bounded. */
export interface LockWatch {
  /** Watches a transaction until it is passed to `leave`. */
  enter(processId: number, until: number): Watched;
  leave(one: Watched): void;
  stop(): void;
}

/** Cancels statements of this service that wait for a lock, whatever their transaction has done before. */
const cancelWaiting = `select pg_cancel_backend(pid) from pg_stat_activity where pid = any($1::int[]) and wait_event_type = 'Lock'`;

/**
 * Bounds the total time a transaction waits for locks; `lock_timeout` only bounds one statement. After that time the transaction may
 * continue, but its next wait for a lock is cancelled. A pooler in between hides the process ids; then only `lock_timeout` applies.
 */
export function createLockWatch(ask: (text: string, values: readonly unknown[]) => Promise<void>): LockWatch {
  const watched = new Set<Watched>();
  const look = async (): Promise<void> => {
    const now = performance.now();
    const late = [...watched].filter(({ until }) => until <= now).map(({ processId }) => processId);
    if (late.length > 0) await ask(cancelWaiting, [late]);
  };
  const lookOnce = createSingleFlight<void>();
  const timer = setInterval(() => {
    // If the server cannot be reached, the next turn tries again.
    if (watched.size > 0) lookOnce(look).catch(() => {});
  }, everyMs).unref();
  return {
    enter: (processId, until) => {
      const one = { processId, until };
      watched.add(one);
      return one;
    },
    leave: (one) => void watched.delete(one),
    stop: () => clearInterval(timer),
  };
}
