import { Failure } from '#src/contract/errors.js';
import type { Clock } from '../runtime/clock.js';

/** Runs a task of a caller when its turn comes. Throws `general_unavailable` if the queue is full, or if the task has waited too long. */
type TaskQueue = <T>(caller: string, task: () => Promise<T>) => Promise<T>;

/** Options of a task queue. */
interface TaskQueueBounds {
  /** Name of the tasks, for the log. */
  readonly name: string;
  /** Most tasks that run at once. */
  readonly parallel: number;
  /** Most queued tasks. Beyond that, the last task of the caller with the most tasks is rejected. */
  readonly length: number;
  /** A task that has waited longer is rejected when its turn comes. */
  readonly longestWaitMs: number;
  /** Called after every change with the number of running and waiting tasks. */
  report?(running: number, waiting: number): void;
}

/** A queued task. */
interface Waiting {
  readonly since: number;
  readonly start: () => void;
  readonly refuse: () => void;
}

/**
 * Runs a few tasks at a time. Callers are served round-robin, the tasks of one caller in FIFO order. Rejects with 503 if the queue is full
 * or a task has waited too long.
 */
export function createTaskQueue(bounds: TaskQueueBounds, clock: Clock): TaskQueue {
  const { name, parallel, length, longestWaitMs } = bounds;
  const line = createLine();
  let running = 0;
  const busy = () => new Failure('general_unavailable', { retryAfter: 1, cause: `${name} queue is full` });
  const report = () => bounds.report?.(running, line.length());
  const next = () => {
    running -= 1;
    for (let entry = line.shift(); entry !== undefined; entry = line.shift()) {
      if (clock.monotonic() - entry.since <= longestWaitMs) {
        entry.start();
        break;
      }
      entry.refuse();
    }
    report();
  };
  const wait = (caller: string) =>
    new Promise<void>((resolve, reject) => {
      const start = () => {
        running += 1;
        resolve();
      };
      line.push(caller, { since: clock.monotonic(), start, refuse: () => reject(busy()) });
      if (line.length() > length) line.popOfLongest()?.refuse();
      report();
    });
  return async (caller, task) => {
    if (running >= parallel) {
      await wait(caller);
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

/** Queued tasks by caller, in the order of their turns. */
function createLine() {
  const byCaller = new Map<string, Waiting[]>();
  let length = 0;
  const remove = (caller: string, entries: Waiting[], entry: Waiting | undefined): Waiting | undefined => {
    if (entry !== undefined) length -= 1;
    if (entries.length === 0) byCaller.delete(caller);
    return entry;
  };
  return {
    length: () => length,
    push: (caller: string, entry: Waiting): void => {
      const entries = byCaller.get(caller);
      if (entries === undefined) byCaller.set(caller, [entry]);
      else entries.push(entry);
      length += 1;
    },
    /** The first task of the next caller, who then moves to the end. */
    shift: (): Waiting | undefined => {
      const [first] = byCaller;
      if (first === undefined) return undefined;
      const [caller, entries] = first;
      byCaller.delete(caller);
      byCaller.set(caller, entries);
      return remove(caller, entries, entries.shift());
    },
    /** The last task of the caller with the most tasks; if several have the most, of the one whose turn is last. */
    popOfLongest: (): Waiting | undefined => {
      let longest: [string, Waiting[]] | undefined;
      for (const one of byCaller) if (one[1].length >= (longest?.[1].length ?? 0)) longest = one;
      return longest && remove(...longest, longest[1].pop());
    },
  };
}
