import { Failure } from '#src/contract/errors.js';
import type { Clock } from './clock.js';

/** Runs a task of a caller when its turn comes. Throws `general_unavailable` where too many wait, or where it has waited for too long. */
type TaskQueue = <T>(caller: string, task: () => Promise<T>) => Promise<T>;

/** What a queue may hold. */
interface TaskQueueBounds {
  /** What the tasks are, for the log. */
  readonly name: string;
  /** Tasks that run at once. */
  readonly parallel: number;
  /** Tasks that wait. Where there are more, the last one of the caller who has most is refused. */
  readonly length: number;
  /** A task that has waited for longer is refused when its turn comes. */
  readonly longestWaitMs: number;
  /** Told after every change how many run and how many wait. */
  report?(running: number, waiting: number): void;
}

/** A task that waits. */
interface Waiting {
  readonly since: number;
  readonly start: () => void;
  readonly refuse: () => void;
}

/** Runs tasks a few at a time, callers in turn, each caller's in their order; refuses with 503 when too many wait or one waited too long. */
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

/** What waits, by callers in the order of their turns. */
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
    /** The first one of the caller whose turn it is; the next turn of that caller comes after those of all others. */
    shift: (): Waiting | undefined => {
      const [first] = byCaller;
      if (first === undefined) return undefined;
      const [caller, entries] = first;
      byCaller.delete(caller);
      byCaller.set(caller, entries);
      return remove(caller, entries, entries.shift());
    },
    /** The last one of the caller who has most; of several such callers, the one whose turn comes last. */
    popOfLongest: (): Waiting | undefined => {
      let longest: [string, Waiting[]] | undefined;
      for (const one of byCaller) if (one[1].length >= (longest?.[1].length ?? 0)) longest = one;
      return longest && remove(...longest, longest[1].pop());
    },
  };
}
