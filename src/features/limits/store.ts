import type { Query, Sql } from '#src/platform/db/query.js';
import { bigint, table, text } from '#src/platform/db/table.js';

/** A counter of a security class: one time per key, by GCRA. */
export const limitCounters = table('limit_counters', {
  projectId: text,
  class: text,
  kind: text,
  key: text,
  /** Theoretical arrival time in milliseconds. */
  arrival: bigint,
});

/** A key of a counter. */
export type CounterKey = { projectId: string; class: string; kind: string; key: string };

/** Which counters: of a project, and of some keys or of all. */
export type StoredSelection = { projectId: string; kind?: string; keys?: readonly string[] };

/** SQL over the counters. */
export function createLimitStore(sql: Sql) {
  const { knex } = sql;
  const latest = sql.dialect === 'sqlite' ? 'max' : 'greatest';
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
    advance: (counter: CounterKey, now: number, intervalMs: number, windowMs: number): Query =>
      sql.compile(
        knex.raw(
          `insert into limit_counters (project_id, class, kind, key, arrival) values (?, ?, ?, ?, ?)
          on conflict (project_id, class, kind, key) do update set arrival = ${latest}(limit_counters.arrival, ?) + ?
          where ${latest}(limit_counters.arrival, ?) + ? <= ? returning arrival`,
          [
            ...[counter.projectId, counter.class, counter.kind, counter.key],
            now + intervalMs,
            ...[now, intervalMs],
            ...[now, intervalMs, now + windowMs],
          ],
        ),
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
    prune: (before: number, most: number): Query => {
      const key = ['project_id', 'class', 'kind', 'key'];
      const some = knex(limitCounters.name).where('arrival', '<', before).limit(most).select(key);
      return sql.compile(knex(limitCounters.name).whereIn(key, some).andWhere('arrival', '<', before).delete());
    },
    reset: (selection: StoredSelection): Query => sql.compile(selected(selection).delete()),
  };
}
