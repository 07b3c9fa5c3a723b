import { createNotice } from './notice.js';

/** Changes of a moment are worked off together. */
const gatherMs = 10;

/** The one loop of a process that works off rows of some kind. */
export interface Worker {
  /** From now on nudges are heeded. Commands never start it: the server picks up what they leave. */
  start(): void;
  /** There may be something to do, and it can wait for so long that changes of a moment are worked off together. */
  nudge(afterMs?: number): void;
  /** Begins nothing more and resolves when what is under way has ended. */
  stop(): Promise<void>;
}

/** What a loop does. */
interface Work {
  /** Begins what is due; `again` asks for another round, at the latest in so many milliseconds, and so does the answer true. */
  round(again: (afterMs: number) => void): Promise<boolean>;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
  /** A round failed: told once, until one succeeds or fails otherwise, and once a minute at most. The next nudge tries again. */
  onTrouble(error: string): void;
}

/** Creates a loop, at rest. */
export function createWorker({ round, idle, onTrouble }: Work): Worker {
  let started = false;
  let timer: NodeJS.Timeout | undefined;
  /** When the next round is to begin, on the clock of `performance`; infinite where nothing asks for one. */
  let dueAt = Number.POSITIVE_INFINITY;
  let running: Promise<void> | undefined;
  const notice = createNotice();

  /** Tells whether another round is to follow at once. */
  const once = async (): Promise<boolean> => {
    try {
      const more = await round(look);
      notice.over();
      return more;
    } catch (error) {
      const name = nameOf(error);
      if (notice.isNews(name)) onTrouble(name);
      return false;
    }
  };
  const run = async (): Promise<void> => {
    while ((await once()) && started);
    running = undefined;
    schedule();
  };
  const schedule = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (!started || running !== undefined || dueAt === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(
      () => {
        timer = undefined;
        dueAt = Number.POSITIVE_INFINITY;
        running = run();
      },
      Math.max(0, dueAt - performance.now()),
    );
  };
  function look(afterMs: number): void {
    const at = performance.now() + afterMs;
    if (at >= dueAt) return;
    dueAt = at;
    schedule();
  }
  const nudge = (afterMs = gatherMs) => look(afterMs);
  return {
    start: () => {
      started = true;
      nudge();
      schedule();
    },
    nudge,
    stop: async () => {
      started = false;
      clearTimeout(timer);
      timer = undefined;
      await running;
      await idle();
    },
  };
}

/** What an error is, without its text, which may quote SQL. */
export function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error ? `${error.name} ${String(error.code)}` : error.name;
}
