import { bind } from '../runtime/bind.js';
import { createNotice, type Notice } from '../runtime/notice.js';

/** Changes within this time are processed together. */
const gatherMs = 10;

/** The loop of a process that works on rows of one kind. */
export interface Worker {
  /** Accepts nudges from now on. Commands never start it: the server processes their changes. */
  start(): void;
  /** Reports that there may be work. The next round starts within `afterMs`, so that changes in close succession are processed together. */
  nudge(afterMs?: number): void;
  /** Starts no further round and resolves when the running one has ended. */
  stop(): Promise<void>;
}

/** The operations of a loop. */
interface Work {
  /** Starts the work that is due. `again` requests another round after at most `afterMs`; returning true requests one at once. */
  round(again: (afterMs: number) => void): Promise<boolean>;
  /** Resolves when no work is running. */
  idle(): Promise<void>;
  /** A round failed. Called once until a round succeeds or fails differently, and at most once a minute. The next nudge tries again. */
  onTrouble(error: string): void;
}

interface Loop {
  readonly work: Work;
  readonly notice: Notice;
  started: boolean;
  timer: NodeJS.Timeout | undefined;
  /** Start of the next round, on the clock of `performance`; infinite if none is requested. */
  dueAt: number;
  running: Promise<void> | undefined;
}

/** Creates a stopped loop. */
export function createWorker(work: Work): Worker {
  const loop: Loop = {
    work,
    notice: createNotice(),
    started: false,
    timer: undefined,
    dueAt: Number.POSITIVE_INFINITY,
    running: undefined,
  };
  return bind(loop, { start, nudge, stop });
}

function start(loop: Loop): void {
  loop.started = true;
  nudge(loop);
  schedule(loop);
}

function nudge(loop: Loop, afterMs = gatherMs): void {
  const at = performance.now() + afterMs;
  if (at >= loop.dueAt) return;
  loop.dueAt = at;
  schedule(loop);
}

function schedule(loop: Loop): void {
  clearTimeout(loop.timer);
  loop.timer = undefined;
  if (!loop.started || loop.running !== undefined || loop.dueAt === Number.POSITIVE_INFINITY) return;
  loop.timer = setTimeout(
    () => {
      loop.timer = undefined;
      loop.dueAt = Number.POSITIVE_INFINITY;
      loop.running = run(loop);
    },
    Math.max(0, loop.dueAt - performance.now()),
  );
}

async function run(loop: Loop): Promise<void> {
  while ((await once(loop)) && loop.started);
  loop.running = undefined;
  schedule(loop);
}

/** True if another round should follow at once. */
async function once(loop: Loop): Promise<boolean> {
  const { work, notice } = loop;
  try {
    const more = await work.round((afterMs) => nudge(loop, afterMs));
    notice.over();
    return more;
  } catch (error) {
    const name = nameOf(error);
    if (notice.isNews(name)) work.onTrouble(name);
    return false;
  }
}

async function stop(loop: Loop): Promise<void> {
  loop.started = false;
  clearTimeout(loop.timer);
  loop.timer = undefined;
  await loop.running;
  await loop.work.idle();
}

/** The class and code of an error, without its text, which may quote SQL. */
export function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error ? `${error.name} ${String(error.code)}` : error.name;
}
