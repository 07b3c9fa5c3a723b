import type { Driver } from '#src/platform/db/driver.js';
import { openPostgres } from '#src/platform/db/postgres.js';
import { openSqlite } from '#src/platform/db/sqlite.js';

/** Opens a database by our own drivers: the file of SQLite or the URL of Postgres. */
export function openDatabase(place: string): Promise<Driver> {
  if (!place.includes('://')) return openSqlite(place);
  const listeners = { onChange: () => {}, onWritable: () => {}, onUnprepared: () => {} };
  return openPostgres({
    url: place,
    listenUrl: undefined,
    prepared: 'auto',
    poolSize: 12,
    statementMs: 10_000,
    ...listeners,
  });
}
