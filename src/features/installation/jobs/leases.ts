import { jobLimits } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import { type AuditContext, byJob } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf, isAhead, isRunning, latestPast, millisecondsOf } from '#src/platform/runtime/clock.js';
import { createJobStore, cronJobs, type JobRow, type JobStore } from './store.js';

/** Milliseconds between two checks for a due renewal. */
const lookMs = 500;
const leaseMs = jobLimits.leaseSeconds * 1000;

/** The right to run a job. `fence` detects that another process has claimed the job since. */
export interface JobLease {
  readonly name: string;
  readonly fence: number;
}

/** Leases of jobs. */
export interface Leases {
  /** True if a process holds the lease. An end that is too far ahead was written before the clock was set back and does not count. */
  isHeld(row: JobRow): boolean;
  /** True if a slot was run. A last slot in the future was written before the clock was set back and does not count. */
  isDone(row: JobRow, slot: string): boolean;
  rows(): Promise<Map<string, JobRow>>;
  find(name: string): Promise<JobRow | undefined>;
  /** Inserts rows for new jobs. Their current slot counts as done. */
  enroll(jobs: readonly { readonly name: string; readonly slot: string }[]): Promise<void>;
  /** Claims a job; undefined if another process holds the lease or the slot was run. */
  claim(name: string, slot?: string): Promise<JobLease | undefined>;
  /** Renews a lease until the returned function is called. Calls `onLost` if another process has claimed the job. */
  keep(lease: JobLease, onLost: () => void): () => void;
  /** Releases a lease and stores the result; false if the lease was lost. */
  release(lease: JobLease, result: Partial<JobRow>): Promise<boolean>;
}

interface Deps extends Pick<Runtime, 'db' | 'clock' | 'random' | 'scheduler'> {
  readonly store: JobStore;
}

/** Leases of jobs: the database ensures that one process at a time runs a job. */
export function createLeases(runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'scheduler'>): Leases {
  const { db, sql, clock, random, scheduler } = runtime;
  const deps: Deps = { db, clock, random, scheduler, store: createJobStore(sql) };
  return bind(deps, { isHeld, isDone, rows, find, enroll, claim, keep, release });
}

function isHeld({ clock }: Deps, { leaseUntil }: JobRow): boolean {
  return leaseUntil !== null && isRunning(leaseUntil, clock.now(), leaseMs);
}

function isDone({ clock }: Deps, { lastSlot }: JobRow, slot: string): boolean {
  return millisecondsOf(lastSlot) >= millisecondsOf(slot) && !isAhead(lastSlot, clock.now());
}

async function rows({ db, store }: Deps): Promise<Map<string, JobRow>> {
  return new Map((await db.all(store.list())).map((row) => cronJobs.decode(row)).map((row) => [row.name, row]));
}

async function find({ db, store }: Deps, name: string): Promise<JobRow | undefined> {
  const row = await db.one(store.find({ name }));
  return row === undefined ? undefined : cronJobs.decode(row);
}

async function enroll(deps: Deps, jobs: readonly { readonly name: string; readonly slot: string }[]): Promise<void> {
  if (jobs.length === 0) return;
  await deps.db.work(by(deps, 'enroll'), async (unit) => {
    const added = jobs.map(({ name, slot }) => ({ name, lastSlot: slot, createdAt: unit.now, fence: 0 }));
    await unit.run(deps.store.enroll(added));
  });
}

function by({ random }: Deps, name: string): AuditContext {
  return byJob(name, random.id());
}

async function claim(deps: Deps, name: string, slot?: string): Promise<JobLease | undefined> {
  const row = await deps.db.work(by(deps, name), (unit) => {
    const latest = latestPast(millisecondsOf(unit.now));
    const ahead = { slot: instantOf(latest), lease: instantOf(latest + leaseMs) };
    const { owner } = deps.scheduler;
    return unit.one(deps.store.claim({ name, owner, now: unit.now, until: until(deps), ahead, slot }));
  });
  return row === undefined ? undefined : { name, fence: Number(row.fence) };
}

function until({ clock }: Deps): Instant {
  return instantOf(clock.now() + leaseMs);
}

function keep(deps: Deps, { name, fence }: JobLease, onLost: () => void): () => void {
  const { db, clock, store } = deps;
  // Uses the monotonic clock: leases must be renewed on time even if the system clock is changed.
  const nextDue = () => clock.monotonic() + jobLimits.renewSeconds * 1000;
  let due = nextDue();
  const renew = async () => {
    const renewed = await db.work(by(deps, name), (unit) => unit.run(store.renew(name, fence, until(deps))));
    if (renewed === 0) onLost();
  };
  const timer = setInterval(() => {
    if (clock.monotonic() < due) return;
    due = nextDue();
    // If the database is unavailable, the next renewal tries again. The fence detects a lease that expired.
    renew().catch(() => {});
  }, lookMs);
  timer.unref();
  return () => clearInterval(timer);
}

async function release(deps: Deps, { name, fence }: JobLease, result: Partial<JobRow>): Promise<boolean> {
  return (await deps.db.work(by(deps, name), (unit) => unit.run(deps.store.release(name, fence, result)))) > 0;
}
