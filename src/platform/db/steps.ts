import { setTimeout as sleep } from 'node:timers/promises';

/** Rows of the first step. Later ones have more or fewer, so that a step takes about as long as intended. */
const firstRows = 100;
const rows = { fewest: 10, most: 1000 } as const;
/** A step below this time is followed by a larger one, a step above the other time by a smaller one. */
const stepMs = { short: 15, long: 40 } as const;

/** Receives the number of rows that were removed so far, by kind, such as `users`. */
export type StepReport = (kind: string, removed: number) => void;

/** Options of removing rows step by step. */
interface StepOptions {
  readonly report?: StepReport | undefined;
  /** Ends the work between two steps; `run` then throws. */
  readonly signal?: AbortSignal | undefined;
  /** Runs after each step. */
  readonly afterStep?: (() => Promise<void>) | undefined;
}

/** Removes any number of rows in short units of work, so that other writers wait for one step at most. */
export interface Steps {
  /** Repeats a step until it removes nothing. The step removes up to `limit` rows in one unit and returns their number. */
  run(kind: string, step: (limit: number) => Promise<number>): Promise<number>;
}

/**
 * Creates steps of one removal. After each it pauses as long as the step took: SQLite grants its lock to whoever asks first, and a writer of
 * another process asks only every few milliseconds.
 */
export function createSteps({ report, signal, afterStep }: StepOptions = {}): Steps {
  const counts = new Map<string, number>();
  return {
    run: async (kind, step) => {
      let limit = firstRows;
      for (let total = 0; ; ) {
        signal?.throwIfAborted();
        const started = performance.now();
        const removed = await step(limit);
        if (removed === 0) return total;
        const tookMs = performance.now() - started;
        total += removed;
        counts.set(kind, (counts.get(kind) ?? 0) + removed);
        report?.(kind, counts.get(kind) ?? 0);
        await afterStep?.();
        if (tookMs > stepMs.long) limit = Math.max(rows.fewest, Math.floor(limit / 2));
        else if (tookMs < stepMs.short) limit = Math.min(rows.most, 2 * limit);
        await sleep(tookMs);
      }
    },
  };
}
