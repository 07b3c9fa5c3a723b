import { createHash } from 'node:crypto';
import type { DialectName } from '#src/platform/db/dialect-words.js';
import type { Connection } from '#src/platform/db/driver.js';
import { lastSequence, readRows, type TableShape } from '#src/platform/db/neutral-rows.js';
import { openSnapshot } from '#src/platform/db/open-snapshot.js';
import type { Runtime } from '#src/platform/index.js';
import { isDocuments, storedTables } from '../backup/index.js';

/** The rows of a table as a number that is the same on both databases. */
export interface TableDigest {
  readonly name: string;
  readonly rows: number;
  /** Hexadecimal digits. */
  readonly digest: string;
}

/** Tables with rows of running processes, such as leases. They are neither copied nor compared. */
const ofProcesses = new Set(['servers', 'cron_jobs']);

/** The tables that a copy has. */
export async function copiedTables(
  connection: Connection,
  runtime: Pick<Runtime, 'driver' | 'migrator'>,
): Promise<TableShape[]> {
  return (await storedTables(connection, runtime)).filter(({ name }) => !ofProcesses.has(name));
}

/** Digests of all tables, from one snapshot. Calls `onTable` before each table, with the rows so far. */
export async function digestDatabase(
  runtime: Pick<Runtime, 'driver' | 'migrator'>,
  onTable: (table: string, rows: number) => void,
): Promise<TableDigest[]> {
  const { driver } = runtime;
  const { connection, release } = await openSnapshot(driver);
  try {
    const digests: TableDigest[] = [];
    let rows = 0;
    for (const table of await copiedTables(connection, runtime)) {
      onTable(table.name, rows);
      const digest = await digestTable(connection, driver.dialect, table);
      rows += digest.rows;
      digests.push(digest);
    }
    return digests;
  } finally {
    await release();
  }
}

const mask = (1n << 256n) - 1n;

/**
 * The sum of the SHA-256 of all rows, modulo 2^256, so that the order of rows does not count: the databases sort differently. Columns are
 * sorted by name, because their order depends on when they were added. A table of documents includes the last sequence.
 */
export async function digestTable(
  connection: Connection,
  dialect: DialectName,
  table: TableShape,
): Promise<TableDigest> {
  const columns = table.columns.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  let [rows, sum] = [0, 0n];
  const add = (value: unknown) => {
    // JSON has no negative zero, and neither has a column of SQLite.
    sum = (sum + BigInt(`0x${createHash('sha256').update(JSON.stringify(value)).digest('hex')}`)) & mask;
  };
  for await (const some of readRows(connection, dialect, { name: table.name, columns }))
    for (const row of some) {
      add(row);
      rows += 1;
    }
  if (isDocuments(table)) add({ lastSequence: await lastSequence(connection, dialect, table.name) });
  return { name: table.name, rows, digest: sum.toString(16).padStart(64, '0') };
}
