import type { Instant } from '#src/contract/shapes.js';
import type { Sql } from '#src/platform/db/query.js';
import { bigint, instant, integer, table, text } from '#src/platform/db/table.js';
import { raw } from '#src/platform/db/template.js';
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

const scan = listScans.rowAs('scan');
const schema = collections.rowAs('schema');

/** Creates the SQL for slow lists. */
export function createScanStore(sql: Sql) {
  const greatest = raw(sql.words.greatest);
  return {
    /** Adds the counts of a process. */
    merge: (rows: readonly ScanRow[]) => sql`
      ${listScans.insert(rows)} on conflict (collection, shape) do update set
        lists = list_scans.lists + excluded.lists, total_ms = list_scans.total_ms + excluded.total_ms,
        longest_ms = ${greatest}(list_scans.longest_ms, excluded.longest_ms), last_at = excluded.last_at`,
    /** Deletes all but the most recent shapes of each collection. */
    trim: (numbers: readonly number[], most: number) => {
      const places = raw(numbers.map(() => '?').join(', '), numbers);
      return sql`
        delete from list_scans where (collection, shape) in (select collection, shape from (
          select collection, shape, row_number() over (partition by collection order by last_at desc, shape) as place
          from list_scans where collection in (${places})) as ranked where place > ${most})`;
    },
    /** Reads slow lists by total time, longest first, with their current collections. */
    list: ({ projectId, databaseId, collectionId }: ScanSelection) => sql`
      select ${scan}, ${schema} from list_scans join collections on collections.number = list_scans.collection
        ${projectId !== undefined && sql`and collections.project_id = ${projectId}`}
        ${databaseId !== undefined && sql`and collections.database_id = ${databaseId}`}
        ${collectionId !== undefined && sql`and collections.id = ${collectionId}`}
      order by list_scans.total_ms desc, list_scans.collection, list_scans.shape limit ${maxRead}`,
    /** Deletes a batch of lists that were not slow since, or whose collection is deleted. */
    prune: (before: Instant, limit: number) => sql`
      delete from list_scans where (collection, shape) in (
        select collection, shape from list_scans
        where last_at < ${before} or collection not in (select number from collections) limit ${limit})`,
  };
}

/** SQL for slow lists. */
export type ScanStore = ReturnType<typeof createScanStore>;
