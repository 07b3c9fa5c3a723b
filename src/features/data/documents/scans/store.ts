import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bigint, instant, integer, table, text } from '#src/platform/db/table.js';
import { collections } from '../../databases/index.js';

/** Slow lists by shape, of all processes. */
export const listScans = table('list_scans', {
  /** The number of the collection. */
  collection: integer,
  /** A `Shape` as JSON, without values. */
  shape: text,
  lists: bigint,
  totalMs: bigint,
  longestMs: bigint,
  lastAt: instant,
});

/** Slow lists of a shape. */
export type ScanRow = ReturnType<typeof listScans.decode>;

/** Selects collections: all, those of one project or of one of its databases, or a single one. */
export interface ScanSelection {
  readonly projectId?: string | undefined;
  readonly databaseId?: string | undefined;
  readonly collectionId?: string | undefined;
}

/** Most rows of one read. */
const maxRead = 1000;

/** Creates the SQL for slow lists. */
export function createScanStore(sql: Sql) {
  const { knex } = sql;
  const name = listScans.name;
  const key = ['collection', 'shape'];
  const { greatest } = sql.words;
  return {
    /** Adds the counts of a process. */
    merge: (rows: readonly ScanRow[]): Query =>
      sql.compile(
        knex(name)
          .insert(rows.map((row) => listScans.encode(row)))
          .onConflict(key)
          .merge({
            lists: knex.raw(`${name}.lists + excluded.lists`),
            total_ms: knex.raw(`${name}.total_ms + excluded.total_ms`),
            longest_ms: knex.raw(`${greatest}(${name}.longest_ms, excluded.longest_ms)`),
            last_at: knex.raw('excluded.last_at'),
          }),
      ),
    /** Deletes all but the most recent shapes of each collection. */
    trim: (numbers: readonly number[], most: number): Query => {
      const place = knex.raw('row_number() over (partition by collection order by last_at desc, shape) as place');
      const ranked = knex(name).whereIn('collection', numbers).select(key).select(place).as('ranked');
      const surplus = knex(ranked).where('place', '>', most).select(key);
      return sql.compile(knex(name).whereIn(key, surplus).delete());
    },
    /** Reads slow lists by total time, longest first, with their current collections. */
    list: ({ projectId, databaseId, collectionId }: ScanSelection): Query => {
      const found = knex(name)
        .join(collections.name, `${collections.name}.number`, `${name}.collection`)
        .orderBy([
          { column: `${name}.total_ms`, order: 'desc' },
          { column: `${name}.collection` },
          { column: `${name}.shape` },
        ])
        .limit(maxRead)
        .select(listScans.select(sql, 'scan'), collections.select(sql, 'schema'));
      if (projectId !== undefined) found.where(`${collections.name}.project_id`, projectId);
      if (databaseId !== undefined) found.where(`${collections.name}.database_id`, databaseId);
      if (collectionId !== undefined) found.where(`${collections.name}.id`, collectionId);
      return sql.compile(found);
    },
    /** Deletes a batch of lists that were not slow since, or whose collection is deleted. */
    prune: (before: Instant, limit: number): Query => {
      const numbers = knex(collections.name).select('number');
      const some = knex(name)
        .where('last_at', '<', before)
        .orWhereNotIn('collection', numbers)
        .limit(limit)
        .select(key);
      return sql.compile(knex(name).whereIn(key, some).delete());
    },
  };
}

/** SQL for slow lists. */
export type ScanStore = ReturnType<typeof createScanStore>;
