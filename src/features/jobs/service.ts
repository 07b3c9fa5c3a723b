import { setTimeout as sleep } from 'node:timers/promises';
import { jobLimits } from '#src/contract/limits.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Platform } from '#src/platform/index.js';
import { createTimetable, type Job, type Timetable } from '#src/platform/scheduler.js';
import { createLeases } from './leases.js';
import { createRunner, type Run } from './runner.js';
import type { JobRow } from './store.js';
import { type JobState, toJobState } from './view.js';
import { isPassing, traceOf } from './words.js';

/** How often every process looks for jobs that are due: after a start, after a missed tick, after the death of a holder. */
const watchSchedule = '*/5 * * * * *';

interface Known {
  readonly job: Job;
  readonly timetable: Timetable;
}

type Parts = Pick<Platform, 'db' | 'sql' | 'clock' | 'random' | 'log' | 'metrics' | 'scheduler'>;

/** Runs the jobs: the scheduler only ticks, the database decides which process runs what. */
export function createJobs(platform: Parts, roster: readonly Job[]) {
  const { clock, log, metrics, scheduler } = platform;
  const leases = createLeases(platform);
  const known = new Map<string, Known>(
    roster.map((job) => [job.name, { job, timetable: createTimetable(job.schedule) }]),
  );
  if (known.size < roster.length) throw new Error('two jobs share a name');
  const shared = roster.filter(({ lease }) => lease === 'database').map(({ name }) => name);
  const ending = new AbortController();
  const runner = createRunner(platform, leases, ending.signal);
  const busy = new Map<string, Promise<unknown>>();
  const underWay = new Set<Promise<unknown>>();
  /** Jobs of which the log knows already that the database is away for them. */
  const waiting = new Set<string>();

  const slotOf = ({ timetable }: Known) => instantOf(timetable.previous(clock.now()));
  const get = (name: string): Known => {
    const found = known.get(name);
    if (found === undefined) throw new Error(`no job ${name}`);
    return found;
  };
  const enroll = (rows: ReadonlyMap<string, JobRow>) =>
    leases.enroll(shared.filter((name) => !rows.has(name)).map((name) => ({ name, slot: slotOf(get(name)) })));
  const isHeld = ({ leaseUntil }: JobRow) => leaseUntil !== null && millisecondsOf(leaseUntil) > clock.now();
  const isDue = (row: JobRow, slot: string) => !isHeld(row) && millisecondsOf(row.lastSlot) < millisecondsOf(slot);

  const report = (name: string, error: unknown): void => {
    if (ending.signal.aborted) return;
    if (!(error instanceof DatabaseError && isPassing(error))) {
      log.error('cron.failed', { job: name, ...traceOf(error) });
    } else if (!waiting.has(name)) {
      waiting.add(name);
      log.warn('cron.unavailable', { job: name, code: error.code });
    }
  };
  const track = <T>(work: Promise<T>): Promise<T> => {
    underWay.add(work);
    const done = () => underWay.delete(work);
    work.then(done, done);
    return work;
  };
  /** Runs a job unless this process is at it; undefined where nothing was run. */
  const alone = async (name: string, body: () => Promise<Run | undefined>): Promise<Run | undefined> => {
    if (busy.has(name) || ending.signal.aborted) return undefined;
    const run = track(body());
    busy.set(name, run);
    return run.finally(() => busy.delete(name));
  };
  const runDue = async (name: string): Promise<Run | undefined> => {
    const { job, timetable } = get(name);
    if (job.lease === 'process') return runner.run(job);
    const slot = slotOf({ job, timetable });
    const row = await leases.find(name);
    if (row === undefined) await leases.enroll([{ name, slot }]);
    if (row === undefined || !isDue(row, slot)) return undefined;
    const lease = await leases.claim(name, slot);
    return lease === undefined ? undefined : runner.runUnder(lease, job, slot);
  };
  /** Runs a job if it is due and nobody else is at it, and waits where this process is; never rejects. */
  const tick = async (name: string): Promise<void> => {
    if (busy.has(name)) {
      await Promise.allSettled([busy.get(name)]);
      return;
    }
    try {
      const run = await alone(name, () => runDue(name));
      if (run?.outcome === 'failed') report(name, run.cause);
      else waiting.delete(name);
      if (run?.outcome === 'lost') log.warn('cron.lost', { job: name });
    } catch (error) {
      report(name, error);
    }
  };
  /** The jobs that are due; those that have no row get one. Empty where the database is away. */
  const due = async (): Promise<string[]> => {
    if (ending.signal.aborted) return [];
    try {
      const rows = await track(leases.rows());
      if (shared.some((name) => !rows.has(name))) await track(enroll(rows));
      waiting.delete('watch');
      return shared.filter((name) => {
        const row = rows.get(name);
        return row !== undefined && isDue(row, slotOf(get(name)));
      });
    } catch (error) {
      report('watch', error);
      return [];
    }
  };
  const measure = async (): Promise<void> => {
    const rows = await leases.rows().catch(() => new Map<string, JobRow>());
    metrics.cronJobs(
      [...rows.values()]
        .filter((row) => known.has(row.name))
        .map((row) => ({
          job: row.name,
          secondsSinceSuccess: (clock.now() - millisecondsOf(row.lastSuccessAt ?? row.createdAt)) / 1000,
          isHeld: isHeld(row),
        })),
    );
  };
  metrics.beforeRender(measure);

  const service = {
    names: roster.map(({ name }) => name),
    /** Every job, and how its last run went. */
    list: async (): Promise<JobState[]> => {
      const rows = await leases.rows();
      return [...known.values()].map(({ job, timetable }) => {
        const row = rows.get(job.name);
        return toJobState(job, row, row !== undefined && isHeld(row), instantOf(timetable.next(clock.now())));
      });
    },
    tick,
    /** Runs every job that is due: missed slots once, and what a holder that is gone has left. */
    sweep: async (): Promise<void> => {
      await Promise.all((await due()).map(tick));
    },
    /** Runs a job now, whatever its schedule says; undefined where another process is at it. Throws DatabaseError. */
    run: async (name: string): Promise<Run | undefined> => {
      const { job, timetable } = get(name);
      if (job.lease === 'process') return alone(name, () => runner.run(job));
      const slot = slotOf({ job, timetable });
      return alone(name, async () => {
        await leases.enroll([{ name, slot }]);
        const lease = await leases.claim(name);
        return lease === undefined ? undefined : runner.runUnder(lease, job, slot);
      });
    },
    /** Ticks from now on, after the jobs have their rows; what was missed is caught up. */
    start: async (): Promise<void> => {
      const missed = await due();
      const watch = { name: 'watch', schedule: watchSchedule, run: async () => void service.sweep() };
      scheduler.start([watch, ...roster.map(({ name, schedule }) => ({ name, schedule, run: () => tick(name) }))]);
      for (const name of missed) void tick(name);
    },
    /** Ticks no more, tells the jobs to end, and waits for them, but not for ever. */
    stop: async (): Promise<void> => {
      scheduler.stop();
      ending.abort();
      const patience = new AbortController();
      const late = sleep(jobLimits.endSeconds * 1000, 'late', { signal: patience.signal }).catch(() => 'ended');
      const all = Promise.allSettled(underWay).then(() => 'ended');
      if ((await Promise.race([all, late])) === 'late')
        log.warn('cron.end.gave-up', { jobs: [...busy.keys()].join(',') });
      patience.abort();
    },
  };
  return service;
}
