import { jobLimits } from '#src/contract/limits.js';
import { instantOf, isAhead, isRunning, latestPast, millisecondsOf } from '#src/platform/clock.js';
import type { Runtime } from '#src/platform/index.js';
import { createJobStore, cronJobs, type JobRow } from '../store.js';

/** How often a holder looks whether its lease has to be renewed. */
const lookMs = 500;
const leaseMs = jobLimits.leaseSeconds * 1000;

/** The right to run a job until it is over or somebody else has it. */
export interface Lease {
  readonly name: string;
  readonly fence: number;
}

/** Who may run which job: one process at a time, decided by the database. */
export function createLeases({
  db,
  sql,
  clock,
  random,
  scheduler,
}: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'scheduler'>) {
  const store = createJobStore(sql);
  const by = (name: string) => ({ projectId: null, actor: { kind: 'job', id: name }, requestId: random.id() });
  const until = () => instantOf(clock.now() + leaseMs);

  return {
    /** Whether some process holds the lease of a job: one that ends later than a lease can was written before the clock was set back. */
    isHeld: ({ leaseUntil }: JobRow): boolean => leaseUntil !== null && isRunning(leaseUntil, clock.now(), leaseMs),
    /** Whether a slot was run; a last slot that lies ahead is no slot of this time. */
    isDone: ({ lastSlot }: JobRow, slot: string): boolean =>
      millisecondsOf(lastSlot) >= millisecondsOf(slot) && !isAhead(lastSlot, clock.now()),
    rows: async (): Promise<Map<string, JobRow>> =>
      new Map((await db.all(store.list({}))).map((row) => cronJobs.decode(row)).map((row) => [row.name, row])),
    find: async (name: string): Promise<JobRow | undefined> => {
      const row = await db.one(store.find({ name }));
      return row === undefined ? undefined : cronJobs.decode(row);
    },
    /** Makes rows for jobs that have none; of a new job no slot was missed. */
    enroll: async (jobs: readonly { readonly name: string; readonly slot: string }[]): Promise<void> => {
      if (jobs.length === 0) return;
      await db.work(by('enroll'), async (unit) => {
        const rows = jobs.map(({ name, slot }) => ({
          name,
          lastSlot: slot,
          createdAt: unit.now,
          fence: 0,
          owner: null,
          leaseUntil: null,
          lastError: null,
          lastStartedAt: null,
          lastFinishedAt: null,
          lastSuccessAt: null,
          lastDurationMs: null,
        }));
        await unit.run(store.enroll(rows));
      });
    },
    /** The lease of a job, undefined where another process holds it or the given slot was run. */
    claim: async (name: string, slot?: string): Promise<Lease | undefined> => {
      const row = await db.work(by(name), (unit) => {
        const latest = latestPast(millisecondsOf(unit.now));
        const ahead = { slot: instantOf(latest), lease: instantOf(latest + leaseMs) };
        const claim = { name, owner: scheduler.owner, now: unit.now, until: until(), ahead };
        return unit.one(store.claim(slot === undefined ? claim : { ...claim, slot }));
      });
      return row === undefined ? undefined : { name, fence: Number(row.fence) };
    },
    /** Renews a lease in time until the returned function is called; `onLost` is told when somebody else has it. */
    keep: ({ name, fence }: Lease, onLost: () => void): (() => void) => {
      // By the clock that is never set: a lease has to be renewed on time whatever the other one says.
      const nextDue = () => clock.monotonic() + jobLimits.renewSeconds * 1000;
      let due = nextDue();
      const renew = async () => {
        const renewed = await db.work(by(name), (unit) => unit.run(store.renew(name, fence, until())));
        if (renewed === 0) onLost();
      };
      const timer = setInterval(() => {
        if (clock.monotonic() < due) return;
        due = nextDue();
        // A database that is away is asked again in time; a lease that runs out meanwhile is noticed by its fence.
        renew().catch(() => {});
      }, lookMs);
      timer.unref();
      return () => clearInterval(timer);
    },
    /** Gives a lease back with what is to be remembered; false where it was lost before. */
    release: async ({ name, fence }: Lease, result: Partial<JobRow>): Promise<boolean> =>
      (await db.work(by(name), (unit) => unit.run(store.release(name, fence, result)))) > 0,
  };
}

/** The leases of jobs. */
export type Leases = ReturnType<typeof createLeases>;
