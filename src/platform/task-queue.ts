import { Failure } from '#src/contract/errors.js';
import type { Clock } from './clock.js';

/** Runs a task when its turn comes. Throws `general_unavailable` where too many wait, or where it has waited for too long. */
type TaskQueue = <T>(task: () => Promise<T>) => Promise<T>;

/** What a queue may hold. */
interface TaskQueueBounds {
  /** What the tasks are, for the log. */
  readonly name: string;
  /** Tasks that run at once. */
  readonly parallel: number;
  /** Tasks that wait; a further one is refused. */
  readonly length: number;
  /** A task that has waited for longer is refused when its turn comes. */
  readonly longestWaitMs: number;
  /** Told after every change how many run and how many wait. */
  report?(running: number, waiting: number): void;
}

/** Runs tasks first in, first out, a few at a time; refuses with 503 when too many wait or one waited too long. */
export function createTaskQueue(bounds: TaskQueueBounds, clock: Clock): TaskQueue {
  const { name, parallel, length, longestWaitMs } = bounds;
  const waiting: { readonly since: number; readonly start: () => void; readonly refuse: () => void }[] = [];
  let running = 0;
  const busy = () => new Failure('general_unavailable', { retryAfter: 1, cause: `${name} queue is full` });
  const report = () => bounds.report?.(running, waiting.length);
  const next = () => {
    running -= 1;
    for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
      if (clock.monotonic() - entry.since <= longestWaitMs) {
        entry.start();
        break;
      }
      entry.refuse();
    }
    report();
  };
  return async (task) => {
    if (running >= parallel) {
      if (waiting.length >= length) throw busy();
      await new Promise<void>((resolve, reject) => {
        waiting.push({
          since: clock.monotonic(),
          start: () => {
            running += 1;
            resolve();
          },
          refuse: () => reject(busy()),
        });
        report();
      });
    } else {
      running += 1;
      report();
    }
    try {
      return await task();
    } finally {
      next();
    }
  };
}
