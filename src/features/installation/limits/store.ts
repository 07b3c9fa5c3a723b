import type { Query, Sql } from '#src/platform/db/query.js';
import { epoch, table, text } from '#src/platform/db/table.js';
import { oneOf, raw, type SqlPart } from '#src/platform/db/template.js';
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
  return {
    find: (counter: CounterKey) =>
      sql`select ${limitCounters.row} from limit_counters where ${isCounter(sql, counter)}`,
    remove: (counter: CounterKey) => sql`delete from limit_counters where ${isCounter(sql, counter)}`,
    /** Sets the arrival time of a counter on the current clock. */
    place: (counter: CounterKey, arrival: number, now: number) =>
      sql`update limit_counters set arrival = ${arrival}, counted_at = ${now} where ${isCounter(sql, counter)}`,
    /** Refunds one call. */
    retreat: (counter: CounterKey, intervalMs: number) =>
      sql`update limit_counters set arrival = arrival - ${intervalMs} where ${isCounter(sql, counter)}`,
    list: (selection: StoredSelection, now: number) => sql`
      select ${limitCounters.row} from limit_counters where ${isSelected(sql, selection)} and arrival > ${now}
      order by class, arrival desc limit 1000`,
    reset: (selection: StoredSelection) => sql`delete from limit_counters where ${isSelected(sql, selection)}`,
    ...bind(sql, { advance, ahead, prune }),
  };
}

/** SQL over counters. */
export type LimitStore = ReturnType<typeof createLimitStore>;

function isCounter(sql: Sql, { projectId, class: name, kind, key }: CounterKey): SqlPart {
  return sql`project_id = ${projectId} and class = ${name} and kind = ${kind} and key = ${key}`;
}

/** Counts one call if the rate allows it. Returns a row only if the call is allowed. */
function advance(sql: Sql, counter: CounterKey, now: number, { intervalMs, windowMs }: Window): Query {
  const greatest = raw(sql.words.greatest);
  // Same formula as `arrivalAt`.
  const arrival = sql`
    case when limit_counters.counted_at > ${latestPast(now)}
      then ${raw(sql.words.least)}(${now + windowMs}, ${now} + limit_counters.arrival - limit_counters.counted_at)
      else limit_counters.arrival end`;
  const next = sql`${greatest}(${arrival}, ${now}) + ${intervalMs}`;
  return sql`
    ${limitCounters.insert({ ...counter, arrival: now + intervalMs, countedAt: now })}
    on conflict (project_id, class, kind, key) do update set arrival = ${next}, counted_at = ${now}
    where ${next} <= ${now + windowMs} returning arrival`;
}

/** Counters last counted before the clock was set back. */
function ahead(sql: Sql, now: number, limit: number): Query {
  const latest = latestPast(now);
  return sql`
    select ${limitCounters.row} from limit_counters where arrival > ${latest} and counted_at > ${latest} limit ${limit}`;
}

function isSelected(sql: Sql, { projectId, kind, keys }: StoredSelection): SqlPart {
  const ofKind = kind !== undefined && sql` and kind = ${kind}`;
  return sql`project_id = ${projectId}${ofKind}${keys !== undefined && sql` and key ${oneOf(keys)}`}`;
}

/** Deletes counters that were back to zero before a time. Keeps counters used concurrently. */
function prune(sql: Sql, before: number, limit: number): Query {
  const key = raw('project_id, class, kind, key');
  return sql`
    delete from limit_counters
    where (${key}) in (select ${key} from limit_counters where arrival < ${before} limit ${limit}) and arrival < ${before}`;
}
