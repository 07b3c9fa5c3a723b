import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Runtime } from '#src/platform/index.js';
import { createTimetable, type Job, type Timetable } from '#src/platform/jobs/scheduler.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { createNotice, type Notice } from '#src/platform/runtime/notice.js';
import { describeError, isPassing, traceOf } from './describe-error.js';
import type { JobLease, Leases } from './leases.js';
import type { JobMetrics } from './metrics.js';
import type { JobRow } from './store.js';

/** Result of a run. `interrupted`: the process ended. `lost`: another process claimed the job. In both cases the slot stays due. */
export interface Run {
  readonly outcome: 'ok' | 'failed' | 'interrupted' | 'lost';
  readonly durationMs: number;
  /** Message for operators if the run failed. */
  readonly error: string | null;
  /** The thrown error; for the log only. */
  readonly cause?: unknown;
}

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
  readonly metrics: JobMetrics;
  readonly leases: Leases;
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
  parts: Pick<Deps, 'metrics' | 'leases' | 'ending'>,
) {
  const scheduled = new Map<string, ScheduledJob>(jobs.map((job) => [job.name, scheduledJob(job)]));
  if (scheduled.size < jobs.length) throw new Error('two jobs share a name');
  const shared = jobs.filter(({ lease }) => lease === 'database').map(({ name }) => name);
  const busy: Deps['busy'] = new Map();
  const underWay: Deps['underWay'] = new Set();
  const deps: Deps = { clock, log, ...parts, scheduled, shared, busy, underWay, notices: new Map() };
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
  const { leases } = deps;
  const { job, slot } = get(deps, name);
  if (job.lease === 'process') return runHere(deps, job);
  const row = await leases.find(name);
  if (row === undefined) await leases.enroll([{ name, slot }]);
  if (row === undefined || !isDue(deps, row, slot)) return undefined;
  const lease = await leases.claim(name, slot);
  return lease === undefined ? undefined : runUnder(deps, lease, job, slot);
}

async function attempt({ clock }: Deps, job: Job, signal: AbortSignal): Promise<Run> {
  const started = clock.monotonic();
  const ended = () => Math.round(clock.monotonic() - started);
  try {
    await job.run(signal);
    return { outcome: 'ok', durationMs: ended(), error: null };
  } catch (cause) {
    if (signal.aborted) return { outcome: 'interrupted', durationMs: ended(), error: null };
    return { outcome: 'failed', durationMs: ended(), error: describeError(cause), cause };
  }
}

function counted({ metrics }: Deps, { name }: Job, ended: Run): Run {
  metrics.run(name, ended.outcome, ended.durationMs / 1000);
  return ended;
}

/** Runs a job without a lease. */
async function runHere(deps: Deps, job: Job): Promise<Run> {
  return counted(deps, job, await attempt(deps, job, deps.ending));
}

/** Runs a job and releases its lease. An interrupted slot stays due. */
async function runUnder(deps: Deps, lease: JobLease, job: Job, slot: string): Promise<Run> {
  const { clock, leases, ending } = deps;
  const lost = new AbortController();
  const stopKeeping = leases.keep(lease, () => lost.abort());
  const ended = await attempt(deps, job, AbortSignal.any([ending, lost.signal])).finally(stopKeeping);
  const { outcome, durationMs: lastDurationMs, error: lastError } = ended;
  const now = instantOf(clock.now());
  const succeeded = outcome === 'ok' ? { lastSuccessAt: now } : {};
  const result = { lastSlot: slot, lastFinishedAt: now, lastDurationMs, lastError, ...succeeded };
  const isReleased = await leases.release(lease, outcome === 'interrupted' ? {} : result);
  return counted(deps, job, isReleased ? ended : { ...ended, outcome: 'lost' });
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
  const { leases } = deps;
  const { job, slot } = get(deps, name);
  return alone(deps, name, async () => {
    if (job.lease === 'process') return runHere(deps, job);
    await leases.enroll([{ name, slot }]);
    const lease = await leases.claim(name);
    return lease === undefined ? undefined : runUnder(deps, lease, job, slot);
  });
}
