import type { ForeignRow, ForeignSqlite } from '#src/platform/foreign-databases/index.js';
import type { PocketBaseCollection } from './collections.js';
import { quotedIdentifier } from './parts.js';

/** Most rows of a batch, and about the bytes that they may have. */
const batch = { rows: 200, bytes: 8_388_608 } as const;

/** Reads all rows of a collection in batches, in the order of their creation. */
export async function* rowsOf(
  database: ForeignSqlite,
  { name }: PocketBaseCollection,
  rowBytes: number,
): AsyncGenerator<readonly ForeignRow[], void, undefined> {
  const most = Math.max(1, Math.min(batch.rows, Math.floor(batch.bytes / rowBytes)));
  let last: unknown = -1;
  for (;;) {
    const rows = await database.all(
      `SELECT rowid AS "$row", * FROM ${quotedIdentifier(name)} WHERE rowid > ? ORDER BY rowid LIMIT ${most}`,
      last,
    );
    if (rows.length > 0) yield rows;
    if (rows.length < most) return;
    last = rows.at(-1)?.$row;
  }
}
