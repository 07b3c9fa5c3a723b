/** Changes of a moment are worked off together. */
const gatherMs = 10;

/** The one loop of a process that works off rows of some kind. */
export interface Worker {
  /** From now on nudges are heeded. Commands never start it: the server picks up what they leave. */
  start(): void;
  /** There may be something to do. */
  nudge(): void;
  /** Begins nothing more and resolves when what is under way has ended. */
  stop(): Promise<void>;
}

/** What a loop does. */
interface Work {
  /** Begins what is due; `again` asks for another round, and so does the answer true. */
  round(again: () => void): Promise<boolean>;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
  /** A round failed: told once, until one succeeds or fails otherwise. The next nudge tries again. */
  onTrouble(error: string): void;
}

/** Creates a loop, at rest. */
export function createWorker({ round, idle, onTrouble }: Work): Worker {
  let started = false;
  let wanted = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let trouble = '';

  const once = async (): Promise<void> => {
    try {
      if (await round(() => look(0))) wanted = true;
      trouble = '';
    } catch (error) {
      const name = nameOf(error);
      if (name !== trouble) onTrouble(name);
      trouble = name;
    }
  };
  const run = async (): Promise<void> => {
    while (wanted && started) {
      wanted = false;
      await once();
    }
    running = undefined;
  };
  function look(afterMs: number): void {
    wanted = true;
    if (!started || timer !== undefined || running !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      running = run();
    }, afterMs);
  }
  const nudge = () => look(gatherMs);
  return {
    start: () => {
      started = true;
      nudge();
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
