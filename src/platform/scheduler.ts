import { hostname } from 'node:os';
import { createTask, parse, type ScheduledTask, schedule } from 'node-cron';

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
const mostDays = 8 * 366;
/** Whoever is called reports by itself what goes wrong. */
const silent = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };

/** Ticks by the machine's own clock; a tick is left out while its last call is still under way. */
export function createScheduler(): Scheduler {
  const tasks: ScheduledTask[] = [];
  return {
    owner: `${hostname()}:${process.pid}`,
    start: (ticks) => {
      for (const { name, schedule: expression, run } of ticks)
        tasks.push(schedule(expression, run, { name, timezone, noOverlap: true, unref: true, logger: silent }));
    },
    stop: () => {
      for (const task of tasks.splice(0)) task.destroy();
    },
  };
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
    for (let day = from, days = 0; days < mostDays; day += step, days++) {
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
