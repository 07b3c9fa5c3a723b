import type { Instant } from '#src/contract/shapes.js';
import { endLease, isFree, leaseColumns, leased, type RowLease, renewLease } from '#src/platform/db/leased-rows.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bigint, instant, nullable, table, text } from '#src/platform/db/table.js';

/** Jobs and their leases. One process at a time holds the lease of a job. */
export const cronJobs = table('cron_jobs', {
  name: text,
  ...leaseColumns,
  fence: bigint,
  lastSlot: instant,
  lastStartedAt: nullable(instant),
  lastFinishedAt: nullable(instant),
  lastSuccessAt: nullable(instant),
  lastDurationMs: nullable(bigint),
  lastError: nullable(text),
  createdAt: instant,
});

/** The row of a job. */
export type JobRow = ReturnType<typeof cronJobs.decode>;

/** A claim of a lease by a process. */
interface Claim extends RowLease {
  readonly name: string;
  /** Latest possible last slot and lease end. Later values are ignored. */
  readonly ahead: { readonly slot: Instant; readonly lease: Instant };
  /** Claims only if this slot was not run yet. */
  readonly slot?: Instant | undefined;
}

/** SQL over the jobs. */
export type JobStore = ReturnType<typeof createJobStore>;

/** Creates the SQL over the jobs. */
export function createJobStore(sql: Sql) {
  return {
    list: () => sql`select ${cronJobs.row} from cron_jobs`,
    find: ({ name }: { name: string }) => sql`select ${cronJobs.row} from cron_jobs where name = ${name}`,
    /** Inserts missing rows; keeps existing ones. */
    enroll: (rows: readonly Pick<JobRow, 'name' | 'lastSlot' | 'createdAt' | 'fence'>[]) =>
      sql`${cronJobs.insert(rows)} on conflict (name) do nothing`,
    /** Claims a lease that is free or expired. Returns a row only if claimed. */
    claim: ({ name, slot, ahead, ...lease }: Claim) => {
      const isNew = slot !== undefined && sql`and (last_slot < ${slot} or last_slot > ${ahead.slot})`;
      return sql`
        update cron_jobs set ${leased(lease)}, last_started_at = ${lease.now}
        where name = ${name} and ${isFree(lease.now, ahead.lease)} ${isNew} returning fence`;
    },
    /** Does not renew a lease that was released concurrently. */
    renew: (name: string, fence: number, until: Instant): Query => renewLease(sql, cronJobs, { name, fence }, until),
    /** Releases a lease, with or without the result of a run. */
    release: (name: string, fence: number, result: Partial<JobRow>): Query =>
      endLease(sql, cronJobs, { name, fence }, result),
  };
}
