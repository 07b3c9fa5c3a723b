import type { Log } from '#src/platform/log.js';
import { type Deliveries, nameOf } from './delivery.js';

/** Changes of a moment are fanned out together. */
const gatherMs = 10;

/** The one loop of a process that turns events into deliveries and begins them. */
export interface Worker {
  /** From now on nudges are heeded. Commands never start it: the server picks up what they leave. */
  start(): void;
  /** There may be something to do. */
  nudge(): void;
  /** Begins nothing more and resolves when what is under way has ended. */
  stop(): Promise<void>;
}

/** Creates the loop, at rest. */
export function createWorker(log: Log, fanOut: () => Promise<boolean>, deliveries: Deliveries): Worker {
  let started = false;
  let wanted = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let trouble = '';

  const round = async (): Promise<void> => {
    try {
      if (await fanOut()) wanted = true;
      await deliveries.begin(() => look(0));
      trouble = '';
    } catch (error) {
      // The next nudge tries again; what goes on for long is said once.
      const name = nameOf(error);
      if (name !== trouble) log.error('webhooks.failed', { error: name });
      trouble = name;
    }
  };
  const run = async (): Promise<void> => {
    while (wanted && started) {
      wanted = false;
      await round();
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
      await deliveries.idle();
    },
  };
}
