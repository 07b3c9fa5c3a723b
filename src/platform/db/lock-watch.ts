/** How often it looks for transactions that wait too long. */
const everyMs = 250;

/** A transaction that is under way. */
interface Watched {
  /** Of the server process that runs it. */
  readonly processId: number;
  /** When waiting ends, on the clock of `performance`. */
  readonly until: number;
}

/** Statements of ours that wait for a lock, whatever their transaction has done before. */
const cancelWaiting = `select pg_cancel_backend(pid) from pg_stat_activity where pid = any($1::int[]) and wait_event_type = 'Lock'`;

/**
 * Bounds what a transaction waits for locks in all: `lock_timeout` bounds one statement only. After its time a transaction may go on working,
 * but the next wait is ended. A pooler in between hides the process ids; then nothing is found and `lock_timeout` is the bound.
 */
export function createLockWatch(ask: (text: string, values: readonly unknown[]) => Promise<void>) {
  const watched = new Set<Watched>();
  const look = async (): Promise<void> => {
    const now = performance.now();
    const late = [...watched].filter(({ until }) => until <= now).map(({ processId }) => processId);
    if (late.length > 0) await ask(cancelWaiting, [late]);
  };
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking || watched.size === 0) return;
    isLooking = true;
    // Where the server cannot be asked the next turn asks again.
    look()
      .catch(() => {})
      .finally(() => {
        isLooking = false;
      });
  }, everyMs).unref();
  return {
    /** Watches over a transaction until it is given to `leave`. */
    enter: (processId: number, until: number): Watched => {
      const one = { processId, until };
      watched.add(one);
      return one;
    },
    leave: (one: Watched): void => void watched.delete(one),
    stop: () => clearInterval(timer),
  };
}
