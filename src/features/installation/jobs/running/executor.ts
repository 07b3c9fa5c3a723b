import { instantOf } from '#src/platform/clock.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Runtime } from '#src/platform/index.js';
import { createNotice, type Notice } from '#src/platform/notice.js';
import { createTimetable, type Job, type Timetable } from '#src/platform/scheduler.js';
import type { JobRow } from '../store.js';
import { isPassing, traceOf } from './describe-error.js';
import type { Leases } from './leases.js';
import type { Run, Runner } from './runner.js';

/** A job and the times of its schedule. */
interface ScheduledJob {
  readonly job: Job;
  timetable(): Timetable;
}

/** Reading a schedule takes a millisecond; commands that run no job do without. */
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

/** Runs jobs that are due: each at most once at a time in this process, and under a lease where the database decides who runs it. */
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
  const busy = new Map<string, Promise<unknown>>();
  const underWay = new Set<Promise<unknown>>();
  /** What was logged already of jobs for which the database is away. */
  const notices = new Map<string, Notice>();

  const get = (name: string): ScheduledJob & { readonly slot: string } => {
    const found = scheduled.get(name);
    if (found === undefined) throw new Error(`no job ${name}`);
    return { ...found, slot: instantOf(found.timetable().previous(clock.now())) };
  };
  const enrollMissing = (rows: ReadonlyMap<string, JobRow>) =>
    leases.enroll(shared.filter((name) => !rows.has(name)).map((name) => ({ name, slot: get(name).slot })));
  const isDue = (row: JobRow, slot: string) => !leases.isHeld(row) && !leases.isDone(row, slot);

  const report = (name: string, error: unknown): void => {
    if (ending.aborted) return;
    if (!(error instanceof DatabaseError && isPassing(error))) {
      log.error('cron.failed', { job: name, ...traceOf(error) });
      return;
    }
    const notice = notices.get(name) ?? createNotice();
    notices.set(name, notice);
    if (notice.isNews(error.code)) log.warn('cron.unavailable', { job: name, code: error.code });
  };
  const track = <T>(work: Promise<T>): Promise<T> => {
    underWay.add(work);
    const done = () => underWay.delete(work);
    work.then(done, done);
    return work;
  };
  /** Runs a job unless this process is at it; undefined where nothing was run. */
  const alone = async (name: string, body: () => Promise<Run | undefined>): Promise<Run | undefined> => {
    if (busy.has(name) || ending.aborted) return undefined;
    const run = track(body());
    busy.set(name, run);
    return run.finally(() => busy.delete(name));
  };
  const runDue = async (name: string): Promise<Run | undefined> => {
    const { job, slot } = get(name);
    if (job.lease === 'process') return runner.run(job);
    const row = await leases.find(name);
    if (row === undefined) await leases.enroll([{ name, slot }]);
    if (row === undefined || !isDue(row, slot)) return undefined;
    const lease = await leases.claim(name, slot);
    return lease === undefined ? undefined : runner.runUnder(lease, job, slot);
  };
  return {
    all: (): ScheduledJob[] => [...scheduled.values()],
    has: (name: string): boolean => scheduled.has(name),
    /** Runs a job if it is due and no other process is at it, and waits where this process is; never rejects. */
    tick: async (name: string): Promise<void> => {
      if (busy.has(name)) {
        await Promise.allSettled([busy.get(name)]);
        return;
      }
      try {
        const run = await alone(name, () => runDue(name));
        if (run?.outcome === 'failed') report(name, run.cause);
        else notices.get(name)?.over();
        if (run?.outcome === 'lost') log.warn('cron.lost', { job: name });
      } catch (error) {
        report(name, error);
      }
    },
    /** The jobs that are due; those that have no row get one. Empty where the database is away. */
    due: async (): Promise<string[]> => {
      if (ending.aborted) return [];
      try {
        const rows = await track(leases.rows());
        if (shared.some((name) => !rows.has(name))) await track(enrollMissing(rows));
        notices.get('watch')?.over();
        return shared.filter((name) => {
          const row = rows.get(name);
          return row !== undefined && isDue(row, get(name).slot);
        });
      } catch (error) {
        report('watch', error);
        return [];
      }
    },
    /** Runs a job now; undefined where a process is at it. */
    run: async (name: string): Promise<Run | undefined> => {
      const { job, slot } = get(name);
      if (job.lease === 'process') return alone(name, () => runner.run(job));
      return alone(name, async () => {
        await leases.enroll([{ name, slot }]);
        const lease = await leases.claim(name);
        return lease === undefined ? undefined : runner.runUnder(lease, job, slot);
      });
    },
    /** The names of the jobs that this process is running. */
    busy: (): string[] => [...busy.keys()],
    /** Resolves when nothing is under way. */
    idle: async (): Promise<void> => {
      await Promise.allSettled(underWay);
    },
  };
}
