import type { ForeignRow, ForeignSqlite } from '#src/platform/foreign-databases/index.js';
import { rowsWithin } from '../batches.js';
import { quotedName } from '../keys.js';
import type { PocketBaseCollection } from './collections.js';

/** Reads all rows of a collection in batches, in the order of their creation. */
export async function* rowsOf(
  database: ForeignSqlite,
  { name }: PocketBaseCollection,
  rowBytes: number,
): AsyncGenerator<readonly ForeignRow[], void, undefined> {
  const most = rowsWithin(rowBytes);
  let last: unknown = -1;
  for (;;) {
    const rows = await database.all(
      `SELECT rowid AS "$row", * FROM ${quotedName(name)} WHERE rowid > ? ORDER BY rowid LIMIT ${most}`,
      last,
    );
    if (rows.length > 0) yield rows;
    if (rows.length < most) return;
    last = rows.at(-1)?.$row;
  }
}
