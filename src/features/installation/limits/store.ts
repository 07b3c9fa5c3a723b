import type { Query, Sql } from '#src/platform/db/query.js';
import { epoch, table, text } from '#src/platform/db/table.js';
import { bind } from '#src/platform/runtime/bind.js';
import { latestPast } from '#src/platform/runtime/clock.js';

/** Counters of the security classes. Each stores one time, as GCRA requires. */
export const limitCounters = table('limit_counters', {
  projectId: text,
  class: text,
  kind: text,
  key: text,
  /** Theoretical arrival time in milliseconds. */
  arrival: epoch,
  /** Time of the last count, in milliseconds. */
  countedAt: epoch,
});

/** A counter as stored. */
export type CounterRow = ReturnType<typeof limitCounters.decode>;

/** The window of a rate. One call becomes available after each interval. */
export interface Window {
  readonly intervalMs: number;
  readonly windowMs: number;
}

/**
 * The arrival time of a counter on the current clock. A counter from before the clock was set back stays as full as it was, but at most
 * full.
 */
export function arrivalAt({ arrival, countedAt }: CounterRow, now: number, windowMs: number): number {
  const latest = latestPast(now);
  if (countedAt <= latest && arrival <= latest + windowMs) return arrival;
  return now + Math.min(windowMs, countedAt > latest ? arrival - countedAt : windowMs);
}

/** Primary key of a counter. */
export type CounterKey = { projectId: string; class: string; kind: string; key: string };

/** Selects counters of a project, by kind and keys. */
export type StoredSelection = { projectId: string; kind?: string; keys?: readonly string[] };

/** SQL over the counters. */
export function createLimitStore(sql: Sql) {
  const find = sql.prepare<CounterKey>((k, p) =>
    k(limitCounters.name)
      .where({ project_id: p.projectId, class: p.class, kind: p.kind, key: p.key })
      .select(limitCounters.select(sql)),
  );
  const remove = sql.prepare<CounterKey>((k, p) =>
    k(limitCounters.name).where({ project_id: p.projectId, class: p.class, kind: p.kind, key: p.key }).delete(),
  );
  return { find, remove, ...bind(sql, { advance, place, ahead, retreat, list, prune, reset }) };
}

/** SQL over counters. */
export type LimitStore = ReturnType<typeof createLimitStore>;

/** Counts one call if the rate allows it. Returns a row only if the call is allowed. */
function advance(sql: Sql, counter: CounterKey, now: number, { intervalMs, windowMs }: Window): Query {
  const { greatest, least } = sql.words;
  // Same formula as `arrivalAt`.
  const arrival = `case when limit_counters.counted_at > ? then ${least}(?, ? + limit_counters.arrival - limit_counters.counted_at)
        else limit_counters.arrival end`;
  const arrivalValues = [latestPast(now), now + windowMs, now];
  return sql.compile(
    sql.knex.raw(
      `insert into limit_counters (project_id, class, kind, key, arrival, counted_at) values (?, ?, ?, ?, ?, ?)
          on conflict (project_id, class, kind, key) do update set arrival = ${greatest}(${arrival}, ?) + ?, counted_at = ?
          where ${greatest}(${arrival}, ?) + ? <= ? returning arrival`,
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
}

/** Sets the arrival time of a counter on the current clock. */
function place({ compile, knex }: Sql, counter: CounterKey, arrival: number, now: number): Query {
  const change = limitCounters.encodeSome({ arrival, countedAt: now });
  return compile(knex(limitCounters.name).where(primaryKey(counter)).update(change));
}

function primaryKey({ projectId, class: name, kind, key }: CounterKey) {
  return { project_id: projectId, class: name, kind, key };
}

/** Counters last counted before the clock was set back. */
function ahead(sql: Sql, now: number, limit: number): Query {
  return sql.compile(
    sql
      .knex(limitCounters.name)
      .where('arrival', '>', latestPast(now))
      .andWhere('counted_at', '>', latestPast(now))
      .limit(limit)
      .select(limitCounters.select(sql)),
  );
}

/** Refunds one call. */
function retreat({ compile, knex }: Sql, counter: CounterKey, intervalMs: number): Query {
  const change = { arrival: knex.raw('arrival - ?', [intervalMs]) };
  return compile(knex(limitCounters.name).where(primaryKey(counter)).update(change));
}

function list(sql: Sql, selection: StoredSelection, now: number): Query {
  return sql.compile(
    selected(sql, selection)
      .andWhere('arrival', '>', now)
      .orderBy([
        { column: 'class', order: 'asc' },
        { column: 'arrival', order: 'desc' },
      ])
      .limit(1000)
      .select(limitCounters.select(sql)),
  );
}

function selected({ knex }: Sql, { projectId, kind, keys }: StoredSelection) {
  const found = knex(limitCounters.name).where({ project_id: projectId });
  if (kind !== undefined) found.where({ kind });
  if (keys !== undefined) found.whereIn('key', keys);
  return found;
}

/** Deletes counters that were back to zero before a time. Keeps counters used concurrently. */
function prune({ compile, knex }: Sql, before: number, limit: number): Query {
  const key = ['project_id', 'class', 'kind', 'key'];
  const some = knex(limitCounters.name).where('arrival', '<', before).limit(limit).select(key);
  return compile(knex(limitCounters.name).whereIn(key, some).andWhere('arrival', '<', before).delete());
}

function reset(sql: Sql, selection: StoredSelection): Query {
  return sql.compile(selected(sql, selection).delete());
}
