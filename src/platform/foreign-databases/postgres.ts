import pg from 'pg';
import type { ForeignRow } from './sqlite.js';

/** A Postgres database of another product, opened for reading. All reads see one snapshot, and all values are texts, as COPY prints them. */
export interface ForeignPostgres {
  /** Throws Error with the message of Postgres. */
  all(sql: string, values?: readonly unknown[]): Promise<ForeignRow[]>;
  /** Reads a large result in batches. Only one result can be read at a time with each name. */
  batches(sql: string, rows: number): AsyncGenerator<readonly ForeignRow[], void, undefined>;
  close(): Promise<void>;
}

/** Texts of times and numbers that do not depend on the settings of the server. */
const settings = [
  'SET LOCAL datestyle = ISO',
  'SET LOCAL intervalstyle = postgres',
  'SET LOCAL timezone = UTC',
  'SET LOCAL extra_float_digits = 3',
  'SET LOCAL bytea_output = hex',
  // Names of types and columns are printed with their schema, as in a dump.
  "SET LOCAL search_path = ''",
  'SET LOCAL statement_timeout = 0',
  'SET LOCAL idle_in_transaction_session_timeout = 0',
];

/** Connects to a database. Throws Error with the message of Postgres. */
export async function openForeignPostgres(url: string): Promise<ForeignPostgres> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'svc import',
    connectionTimeoutMillis: 15_000,
    types: { getTypeParser: () => (text: unknown) => text } as unknown as pg.CustomTypesConfig,
  });
  // The next query reports a broken connection.
  client.on('error', () => {});
  await client.connect();
  const all: ForeignPostgres['all'] = async (sql, values = []) => (await client.query(sql, [...values])).rows;
  try {
    await all('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    for (const one of settings) await all(one);
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
  let cursors = 0;
  return {
    all,
    async *batches(sql, rows) {
      cursors += 1;
      const name = `import_${cursors}`;
      await all(`DECLARE ${name} NO SCROLL CURSOR FOR ${sql}`);
      try {
        for (;;) {
          const found = await all(`FETCH ${rows} FROM ${name}`);
          if (found.length > 0) yield found;
          if (found.length < rows) return;
        }
      } finally {
        // The transaction may have failed.
        await all(`CLOSE ${name}`).catch(() => {});
      }
    },
    close: () => client.end().catch(() => {}),
  };
}
