import { latestPast } from '#src/platform/clock.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { epoch, table, text } from '#src/platform/db/table.js';

/** A counter of a security class: one time per key, by GCRA. */
export const limitCounters = table('limit_counters', {
  projectId: text,
  class: text,
  kind: text,
  key: text,
  /** Theoretical arrival time in milliseconds. */
  arrival: epoch,
  /** When it was counted last, in milliseconds. */
  countedAt: epoch,
});

/** A counter as stored. */
export type CounterRow = ReturnType<typeof limitCounters.decode>;

/** The window of a rate: one call is free again after each interval. */
export interface Window {
  readonly intervalMs: number;
  readonly windowMs: number;
}

/**
 * The arrival time of a counter on the clock as it stands. One that was counted before the clock was set back is as full as it was then,
 * and none is fuller than its window.
 */
export function arrivalAt({ arrival, countedAt }: CounterRow, now: number, windowMs: number): number {
  const latest = latestPast(now);
  if (countedAt <= latest && arrival <= latest + windowMs) return arrival;
  return now + Math.min(windowMs, countedAt > latest ? arrival - countedAt : windowMs);
}

/** A key of a counter. */
export type CounterKey = { projectId: string; class: string; kind: string; key: string };

/** Which counters: of a project, and of some keys or of all. */
export type StoredSelection = { projectId: string; kind?: string; keys?: readonly string[] };

/** SQL over the counters. */
export function createLimitStore(sql: Sql) {
  const { knex } = sql;
  const [latest, earliest] = sql.dialect === 'sqlite' ? ['max', 'min'] : ['greatest', 'least'];
  const find = sql.prepare<CounterKey>((k, p) =>
    k(limitCounters.name)
      .where({ project_id: p.projectId, class: p.class, kind: p.kind, key: p.key })
      .select(limitCounters.select(sql)),
  );
  const remove = sql.prepare<CounterKey>((k, p) =>
    k(limitCounters.name).where({ project_id: p.projectId, class: p.class, kind: p.kind, key: p.key }).delete(),
  );
  const selected = ({ projectId, kind, keys }: StoredSelection) => {
    const found = knex(limitCounters.name).where({ project_id: projectId });
    if (kind !== undefined) found.where({ kind });
    if (keys !== undefined) found.whereIn('key', keys);
    return found;
  };
  return {
    find,
    remove,
    /** Moves the counter on by one call unless that breaks the rate; returns a row exactly when the call is allowed. */
    advance: (counter: CounterKey, now: number, { intervalMs, windowMs }: Window): Query => {
      // As `arrivalAt`.
      const arrival = `case when limit_counters.counted_at > ? then ${earliest}(?, ? + limit_counters.arrival - limit_counters.counted_at)
        else limit_counters.arrival end`;
      const arrivalValues = [latestPast(now), now + windowMs, now];
      return sql.compile(
        knex.raw(
          `insert into limit_counters (project_id, class, kind, key, arrival, counted_at) values (?, ?, ?, ?, ?, ?)
          on conflict (project_id, class, kind, key) do update set arrival = ${latest}(${arrival}, ?) + ?, counted_at = ?
          where ${latest}(${arrival}, ?) + ? <= ? returning arrival`,
          [
            counter.projectId,
            counter.class,
            counter.kind,
            counter.key,
            now + intervalMs,
            now,
            ...arrivalValues,
            now,
            intervalMs,
            now,
            ...arrivalValues,
            now,
            intervalMs,
            now + windowMs,
          ],
        ),
      );
    },
    /** Puts a counter at a place on the clock as it stands. */
    place: ({ projectId, class: name, kind, key }: CounterKey, arrival: number, now: number): Query =>
      sql.compile(
        knex(limitCounters.name)
          .where({ project_id: projectId, class: name, kind, key })
          .update(limitCounters.encodeSome({ arrival, countedAt: now })),
      ),
    /** Some counters that were counted before the clock was set back. */
    ahead: (now: number, limit: number): Query =>
      sql.compile(
        knex(limitCounters.name)
          .where('arrival', '>', latestPast(now))
          .andWhere('counted_at', '>', latestPast(now))
          .limit(limit)
          .select(limitCounters.select(sql)),
      ),
    /** Gives one call back. */
    retreat: (counter: CounterKey, intervalMs: number): Query =>
      sql.compile(
        knex(limitCounters.name)
          .where({ project_id: counter.projectId, class: counter.class, kind: counter.kind, key: counter.key })
          .update({ arrival: knex.raw('arrival - ?', [intervalMs]) }),
      ),
    list: (selection: StoredSelection, now: number): Query =>
      sql.compile(
        selected(selection)
          .andWhere('arrival', '>', now)
          .orderBy([
            { column: 'class', order: 'asc' },
            { column: 'arrival', order: 'desc' },
          ])
          .limit(1000)
          .select(limitCounters.select(sql)),
      ),
    /** Deletes some of the counters that were back to zero by then; one that is used meanwhile stays. */
    prune: (before: number, limit: number): Query => {
      const key = ['project_id', 'class', 'kind', 'key'];
      const some = knex(limitCounters.name).where('arrival', '<', before).limit(limit).select(key);
      return sql.compile(knex(limitCounters.name).whereIn(key, some).andWhere('arrival', '<', before).delete());
    },
    reset: (selection: StoredSelection): Query => sql.compile(selected(selection).delete()),
  };
}

/** The store of counters. */
export type LimitStore = ReturnType<typeof createLimitStore>;
