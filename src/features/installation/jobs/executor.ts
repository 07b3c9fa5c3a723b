import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Runtime } from '#src/platform/index.js';
import { createTimetable, type Job, type Timetable } from '#src/platform/jobs/scheduler.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { createNotice, type Notice } from '#src/platform/runtime/notice.js';
import { isPassing, traceOf } from './describe-error.js';
import type { Leases } from './leases.js';
import type { Run, Runner } from './runner.js';
import type { JobRow } from './store.js';

/** A job and its parsed schedule. */
interface ScheduledJob {
  readonly job: Job;
  timetable(): Timetable;
}

/** Parses the schedule on first use: parsing takes a millisecond, and commands that run no job skip it. */
function scheduledJob(job: Job): ScheduledJob {
  let made: Timetable | undefined;
  return {
    job,
    timetable: () => {
      made ??= createTimetable(job.schedule);
      return made;
    },
  };
}

interface Deps extends Pick<Runtime, 'clock' | 'log'> {
  readonly scheduled: ReadonlyMap<string, ScheduledJob>;
  /** Names of the jobs under a lease. */
  readonly shared: readonly string[];
  readonly leases: Leases;
  readonly runner: Runner;
  readonly ending: AbortSignal;
  /** Runs of this process, by job. */
  readonly busy: Map<string, Promise<unknown>>;
  readonly underWay: Set<Promise<unknown>>;
  /** Errors already logged while the database is unavailable, by job. */
  readonly notices: Map<string, Notice>;
}

/** Runs due jobs: each at most once at a time in this process, and under a lease if its `lease` is `database`. */
export function createExecutor(
  { clock, log }: Pick<Runtime, 'clock' | 'log'>,
  jobs: readonly Job[],
  leases: Leases,
  runner: Runner,
  ending: AbortSignal,
) {
  const scheduled = new Map<string, ScheduledJob>(jobs.map((job) => [job.name, scheduledJob(job)]));
  if (scheduled.size < jobs.length) throw new Error('two jobs share a name');
  const shared = jobs.filter(({ lease }) => lease === 'database').map(({ name }) => name);
  const busy: Deps['busy'] = new Map();
  const underWay: Deps['underWay'] = new Set();
  const deps: Deps = { clock, log, scheduled, shared, leases, runner, ending, busy, underWay, notices: new Map() };
  return {
    all: (): ScheduledJob[] => [...scheduled.values()],
    has: (name: string): boolean => scheduled.has(name),
    busy: (): string[] => [...busy.keys()],
    /** Resolves when no job is running. */
    idle: async (): Promise<void> => {
      await Promise.allSettled(underWay);
    },
    ...bind(deps, { tick, due, run }),
  };
}

/** Runs a job if it is due and no other process is running it. If this process is, waits for that run. Never rejects. */
async function tick(deps: Deps, name: string): Promise<void> {
  const { busy, notices, log } = deps;
  if (busy.has(name)) {
    await Promise.allSettled([busy.get(name)]);
    return;
  }
  try {
    const ended = await alone(deps, name, () => runDue(deps, name));
    if (ended?.outcome === 'failed') report(deps, name, ended.cause);
    else notices.get(name)?.over();
    if (ended?.outcome === 'lost') log.warn('cron.lost', { job: name });
  } catch (error) {
    report(deps, name, error);
  }
}

/** Runs a job unless this process is already running it; undefined if it did not run. */
async function alone(deps: Deps, name: string, body: () => Promise<Run | undefined>): Promise<Run | undefined> {
  const { busy, ending } = deps;
  if (busy.has(name) || ending.aborted) return undefined;
  const begun = track(deps, body());
  busy.set(name, begun);
  return begun.finally(() => busy.delete(name));
}

function track<T>({ underWay }: Deps, work: Promise<T>): Promise<T> {
  underWay.add(work);
  const done = () => underWay.delete(work);
  work.then(done, done);
  return work;
}

async function runDue(deps: Deps, name: string): Promise<Run | undefined> {
  const { leases, runner } = deps;
  const { job, slot } = get(deps, name);
  if (job.lease === 'process') return runner.run(job);
  const row = await leases.find(name);
  if (row === undefined) await leases.enroll([{ name, slot }]);
  if (row === undefined || !isDue(deps, row, slot)) return undefined;
  const lease = await leases.claim(name, slot);
  return lease === undefined ? undefined : runner.runUnder(lease, job, slot);
}

function get({ scheduled, clock }: Deps, name: string): ScheduledJob & { readonly slot: string } {
  const found = scheduled.get(name);
  if (found === undefined) throw new Error(`no job ${name}`);
  return { ...found, slot: instantOf(found.timetable().previous(clock.now())) };
}

function isDue({ leases }: Deps, row: JobRow, slot: string): boolean {
  return !leases.isHeld(row) && !leases.isDone(row, slot);
}

function report({ ending, notices, log }: Deps, name: string, error: unknown): void {
  if (ending.aborted) return;
  if (!(error instanceof DatabaseError && isPassing(error))) {
    log.error('cron.failed', { job: name, ...traceOf(error) });
    return;
  }
  const notice = notices.get(name) ?? createNotice();
  notices.set(name, notice);
  if (notice.isNews(error.code)) log.warn('cron.unavailable', { job: name, code: error.code });
}

/** Due jobs. Inserts missing rows. Empty if the database is unavailable. */
async function due(deps: Deps): Promise<string[]> {
  const { ending, leases, notices, shared } = deps;
  if (ending.aborted) return [];
  try {
    const rows = await track(deps, leases.rows());
    const missing = shared.filter((name) => !rows.has(name)).map((name) => ({ name, slot: get(deps, name).slot }));
    if (missing.length > 0) await track(deps, leases.enroll(missing));
    notices.get('watch')?.over();
    return shared.filter((name) => {
      const row = rows.get(name);
      return row !== undefined && isDue(deps, row, get(deps, name).slot);
    });
  } catch (error) {
    report(deps, 'watch', error);
    return [];
  }
}

/** Runs a job now; undefined if a process is already running it. */
async function run(deps: Deps, name: string): Promise<Run | undefined> {
  const { leases, runner } = deps;
  const { job, slot } = get(deps, name);
  if (job.lease === 'process') return alone(deps, name, () => runner.run(job));
  return alone(deps, name, async () => {
    await leases.enroll([{ name, slot }]);
    const lease = await leases.claim(name);
    return lease === undefined ? undefined : runner.runUnder(lease, job, slot);
  });
}
