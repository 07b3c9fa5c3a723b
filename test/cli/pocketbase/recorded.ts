import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { root } from '../../harness/checkout.js';

/** Runs SQL on a database. While the body runs, the database stays open as that of a running PocketBase. */
export async function withDatabase(file: string, sql: string, body: () => Promise<void> = async () => {}) {
  const database = new sqlite3.Database(file);
  await new Promise<void>((resolve, reject) => {
    database.exec(sql, (error) => (error ? reject(error) : resolve()));
  });
  await body();
  await new Promise<void>((resolve) => {
    database.close(() => resolve());
  });
}

/** Creates a directory with the recorded data of PocketBase, after more SQL. */
export async function recordedData(directory: string, sql = ''): Promise<string> {
  const from = join(root, 'test/cli/pocketbase');
  mkdirSync(directory);
  cpSync(join(from, 'storage'), join(directory, 'storage'), { recursive: true });
  await withDatabase(join(directory, 'data.db'), readFileSync(join(from, 'data.sql'), 'utf8') + sql);
  return directory;
}
