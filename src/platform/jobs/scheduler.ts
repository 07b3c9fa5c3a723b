import { hostname } from 'node:os';
import { createTask, parse } from 'node-cron';
import type { Clock } from '../runtime/clock.js';
import { createSingleFlight } from '../runtime/single-flight.js';

/** Recurring work on a schedule. */
export interface Job {
  readonly name: string;
  /** Second, minute, hour, day of month, month and day of week, in UTC. */
  readonly schedule: string;
  readonly summary: string;
  /** `process`: every process runs it at each tick. `database`: one process at a time, and each slot once across all of them. */
  readonly lease: 'process' | 'database';
  /** Does the work; throws if it stops early because of the signal. Must be idempotent, because it may run again after a crash. */
  run(signal: AbortSignal): Promise<void>;
}

/** A failure of a job, with a message for operators. */
export class JobError extends Error {
  override readonly name = 'JobError';
}

/** Corrects rows written before the clock was set back, which would otherwise wait until the clock has caught up. Must be idempotent. */
export type Settle = (signal: AbortSignal) => Promise<void>;

/** A callback with its schedule. */
interface Tick {
  readonly name: string;
  readonly schedule: string;
  run(): Promise<void>;
}

/** Calls each tick at the times of its schedule. */
export interface Scheduler {
  /** Name of this process in leases. */
  readonly owner: string;
  start(ticks: readonly Tick[]): void;
  stop(): void;
}

/** The times of a schedule, in milliseconds since the Unix epoch. */
export interface Timetable {
  /** The latest time that is not after `at`. */
  previous(at: number): number;
  /** The first time after `at`. */
  next(at: number): number;
}

const timezone = 'UTC';
const dayMs = 86_400_000;
/** There are at most eight years between two February 29. */
const maxDays = 8 * 366;
/** Longest interval between checks of the calendar, so that a changed clock is noticed. A nearer slot is awaited exactly. */
const lookMs = 5000;

/**
 * Ticks by timers, which are independent of changes of the clock. A tick is skipped while its last call is still running. node-cron only
 * reads the calendar: its own loop walks through every slot between two checks of the clock, which takes minutes after a month and does not
 * end after years.
 */
export function createScheduler(clock: Clock): Scheduler {
  const stops: (() => void)[] = [];
  return {
    owner: `${hostname()}:${process.pid}`,
    start: (ticks) => {
      for (const { schedule, run } of ticks) {
        const everyMs = intervalOf(schedule);
        const once = alone(run);
        stops.push(everyMs === undefined ? followCalendar(schedule, once, clock) : repeat(everyMs, once));
      }
    },
    stop: () => {
      for (const stop of stops.splice(0)) stop();
    },
  };
}

/** The interval of a schedule of seconds, in milliseconds; undefined if it depends on the calendar. */
function intervalOf(expression: string): number | undefined {
  const { second, minute, hour, dayOfMonth, month, dayOfWeek } = parse(expression);
  const sizes = [minute, hour, dayOfMonth, month, dayOfWeek].map(({ length }) => length);
  const isEveryMinute = sizes.every((size, at) => size === [60, 24, 31, 12, 7][at]);
  return isEveryMinute && second.length > 1 ? 60_000 / second.length : undefined;
}

/** Skips calls while one is running. The function reports its own errors. */
function alone(run: () => Promise<void>): () => void {
  const runOnce = createSingleFlight<void>();
  return () => void runOnce(run).catch(() => {});
}

function repeat(everyMs: number, run: () => void): () => void {
  const timer = setInterval(run, everyMs).unref();
  return () => clearInterval(timer);
}

/** Calls once if the latest slot differs from that of the last check, however many slots lie between them. */
function followCalendar(schedule: string, run: () => void, clock: Clock): () => void {
  const { previous, next } = createTimetable(schedule);
  let latest = previous(clock.now());
  let timer: NodeJS.Timeout;
  const look = () => {
    const slot = previous(clock.now());
    const isNew = slot !== latest;
    latest = slot;
    wait();
    if (isNew) run();
  };
  const wait = () => {
    const now = clock.now();
    timer = setTimeout(look, Math.min(next(now) - now, lookMs)).unref();
  };
  wait();
  return () => clearTimeout(timer);
}

/** Parses a schedule. Throws if it is invalid. */
export function createTimetable(expression: string): Timetable {
  const task = createTask(expression, () => {}, { timezone });
  // It is only used to match days, and must not stay in node-cron's list of tasks.
  task.destroy();
  const { hour, minute, second } = parse(expression);
  const fields = [field(hour, 3_600_000), field(minute, 60_000), field(second, 1000)];
  const anyTime = lastOf(fields, dayMs) ?? 0;
  const find = (from: number, step: number, timeOf: (day: number) => number | undefined): number => {
    for (let day = from, days = 0; days < maxDays; day += step, days++) {
      const time = task.match(new Date(day + anyTime)) ? timeOf(day) : undefined;
      if (time !== undefined) return day + time;
    }
    throw new Error(`the schedule ${expression} never comes`);
  };
  const dayOf = (at: number) => at - (at % dayMs);
  return {
    previous: (at) => find(dayOf(at), -dayMs, (day) => lastOf(fields, at - day)),
    next: (at) => find(dayOf(at), dayMs, (day) => firstOf(fields, at - day)),
  };
}

/** The values of a field of the time of day, and the length of its unit. */
interface Field {
  readonly values: readonly number[];
  readonly unitMs: number;
}

function field(values: readonly number[], unitMs: number): Field {
  return { values: values.toSorted((a, b) => a - b), unitMs };
}

/** The last time of day that is not after the limit. */
function lastOf([first, ...rest]: readonly Field[], limit: number): number | undefined {
  if (first === undefined) return 0;
  for (const value of first.values.toReversed()) {
    const own = value * first.unitMs;
    const below = own > limit ? undefined : lastOf(rest, limit - own);
    if (below !== undefined) return own + below;
  }
  return undefined;
}

/** The first time of day after a moment. */
function firstOf([first, ...rest]: readonly Field[], after: number): number | undefined {
  if (first === undefined) return after < 0 ? 0 : undefined;
  for (const value of first.values) {
    const own = value * first.unitMs;
    const below = own + first.unitMs <= after ? undefined : firstOf(rest, after - own);
    if (below !== undefined) return own + below;
  }
  return undefined;
}
