import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bigint, instant, nullable, table, text } from '#src/platform/db/table.js';

/** Jobs and their leases. One process at a time holds the lease of a job. */
export const cronJobs = table('cron_jobs', {
  name: text,
  /** The process that holds the lease, or held it when it was killed. */
  owner: nullable(text),
  leaseUntil: nullable(instant),
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
interface Claim {
  readonly name: string;
  readonly owner: string;
  readonly now: Instant;
  readonly until: Instant;
  /** Latest possible last slot and lease end. Later values are ignored. */
  readonly ahead: { readonly slot: Instant; readonly lease: Instant };
  /** Claims only if this slot was not run yet. */
  readonly slot?: Instant;
}

/** SQL over the jobs. */
export type JobStore = ReturnType<typeof createJobStore>;

/** Creates the SQL over the jobs. */
export function createJobStore(sql: Sql) {
  const { knex } = sql;
  const held = (name: string, fence: number) => knex(cronJobs.name).where({ name, fence });
  return {
    list: sql.prepare<Record<string, never>>((k) => k(cronJobs.name).select(cronJobs.select(sql))),
    find: sql.prepare<{ name: string }>((k, p) => k(cronJobs.name).where('name', p.name).select(cronJobs.select(sql))),
    /** Inserts missing rows; keeps existing ones. */
    enroll: (rows: readonly JobRow[]): Query =>
      sql.compile(
        knex(cronJobs.name)
          .insert(rows.map((row) => cronJobs.encode(row)))
          .onConflict(['name'])
          .ignore(),
      ),
    /** Claims a lease that is free or expired. Returns a row only if claimed. */
    claim: ({ name, owner, now, until, ahead, slot }: Claim): Query => {
      const free = knex(cronJobs.name)
        .where({ name })
        .where((row) =>
          row.whereNull('lease_until').orWhere('lease_until', '<=', now).orWhere('lease_until', '>', ahead.lease),
        );
      if (slot !== undefined)
        free.where((row) => row.where('last_slot', '<', slot).orWhere('last_slot', '>', ahead.slot));
      return sql.compile(
        free
          .update({
            ...cronJobs.encodeSome({ owner, leaseUntil: until, lastStartedAt: now }),
            fence: knex.raw('fence + 1'),
          })
          .returning('fence'),
      );
    },
    /** Does not renew a lease that was released concurrently. */
    renew: (name: string, fence: number, until: Instant): Query =>
      sql.compile(held(name, fence).whereNotNull('owner').update({ lease_until: until })),
    /** Releases a lease, with or without the result of a run. */
    release: (name: string, fence: number, result: Partial<JobRow>): Query =>
      sql.compile(held(name, fence).update({ ...cronJobs.encodeSome(result), owner: null, lease_until: null })),
  };
}
