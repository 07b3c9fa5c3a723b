import { hostname } from 'node:os';
import { createTask, parse } from 'node-cron';
import type { Clock } from './clock.js';

/** Work that comes back by the clock. */
export interface Job {
  readonly name: string;
  /** Second, minute, hour, day of month, month and day of week, in UTC. */
  readonly schedule: string;
  readonly summary: string;
  /** `process`: every process runs it at its tick; `database`: one process at a time, and each slot once over all of them. */
  readonly lease: 'process' | 'database';
  /** Does the work; throws where it stops early because of the signal. May be run again after a crash, so twice must do no harm. */
  run(signal: AbortSignal): Promise<void>;
}

/** Puts right what was stored before the clock was set back and would wait until it has caught up. Twice must do no harm. */
export type Settle = (signal: AbortSignal) => Promise<void>;

/** Something to be called at the times of a schedule. */
interface Tick {
  readonly name: string;
  readonly schedule: string;
  run(): Promise<void>;
}

/** Calls at the times of schedules; what a call means is decided elsewhere. */
export interface Scheduler {
  /** Names this process in leases. */
  readonly owner: string;
  start(ticks: readonly Tick[]): void;
  stop(): void;
}

/** The times of a schedule, in milliseconds since the Unix epoch. */
export interface Timetable {
  /** The latest time that is not after this one. */
  previous(at: number): number;
  /** The first time after this one. */
  next(at: number): number;
}

const timezone = 'UTC';
const dayMs = 86_400_000;
/** February 29 comes back after eight years at the latest. */
const maxDays = 8 * 366;
/** How often the calendar is looked at, so that a clock that was set is noticed; a slot that is nearer is waited for exactly. */
const lookMs = 5000;

/**
 * Ticks by timers, which no change of the clock moves; a tick is left out while its last call is still under way. node-cron reads the
 * calendar and runs nothing itself: its own loop walks through every slot between two looks at the clock, which takes minutes after a
 * month and does not end after years.
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

/** The milliseconds between the times of a schedule of seconds; undefined where it has a calendar. */
function intervalOf(expression: string): number | undefined {
  const { second, minute, hour, dayOfMonth, month, dayOfWeek } = parse(expression);
  const sizes = [minute, hour, dayOfMonth, month, dayOfWeek].map(({ length }) => length);
  const isEveryMinute = sizes.every((size, at) => size === [60, 24, 31, 12, 7][at]);
  return isEveryMinute && second.length > 1 ? 60_000 / second.length : undefined;
}

/** Leaves calls out while one is under way. The function that is called reports its errors. */
function alone(run: () => Promise<void>): () => void {
  let underWay = false;
  return () => {
    if (underWay) return;
    underWay = true;
    const done = () => {
      underWay = false;
    };
    run().then(done, done);
  };
}

function repeat(everyMs: number, run: () => void): () => void {
  const timer = setInterval(run, everyMs).unref();
  return () => clearInterval(timer);
}

/** Calls once where the latest slot is another one than at the last look, however many lie between them. */
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

/** Reads a schedule. Throws where it is none. */
export function createTimetable(expression: string): Timetable {
  const task = createTask(expression, () => {}, { timezone });
  // It is asked about days only and must not stay in node-cron's list of tasks.
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

/** The values of a field of the time of day, and what one of them weighs. */
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
