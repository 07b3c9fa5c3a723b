// What a database does to a server on a bad day: takes no writes, or is locked by somebody else.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { databaseUnderTest, type TestAppliance } from '../harness/appliance.js';
import { root } from '../harness/checkout.js';

/** SQL on a connection of its own, as the owner of the Postgres database. */
export async function asOwner(databaseUrl: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => {});
  await client.connect();
  for (const sql of statements) await client.query(sql);
  await client.end();
}

const nameOf = (databaseUrl: string) => pg.escapeIdentifier(decodeURIComponent(new URL(databaseUrl).pathname.slice(1)));

/** Cuts the connections there are, and waits until they are gone; new ones come to a server that is read-only, and stay so, as those to a former primary do. */
export async function failOver(databaseUrl: string): Promise<void> {
  await asOwner(
    databaseUrl,
    `alter database ${nameOf(databaseUrl)} set default_transaction_read_only = on`,
    'select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
}

/** New connections come to a server that takes writes; those there are stay where they are. */
export async function promote(databaseUrl: string): Promise<void> {
  await asOwner(
    databaseUrl,
    'set default_transaction_read_only = off',
    `alter database ${nameOf(databaseUrl)} reset default_transaction_read_only`,
  );
}

/** Gives the one connection that writes to the SQLite file a pragma. */
export async function onWriter({ appliance }: TestAppliance, pragma: string): Promise<void> {
  await appliance.runtime.driver.exclusive((connection) => connection.all({ sql: `PRAGMA ${pragma}`, values: [] }));
}

/** Another program that holds the lock of the writer, or of tables, until it is let go. */
export async function lock(databaseUrl: string, ...tables: readonly string[]): Promise<{ release(): Promise<void> }> {
  if (databaseUnderTest === 'sqlite') return lockFile(databaseUrl.slice('sqlite:'.length));
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => {});
  await client.connect();
  await client.query(`begin; lock table ${tables.join(', ')} in exclusive mode`);
  return { release: () => client.end() };
}

const holdLock = `
  const sqlite3 = require('sqlite3');
  const database = new sqlite3.Database(process.argv[1]);
  database.configure('busyTimeout', 10000);
  database.exec('BEGIN IMMEDIATE', (error) => { process.stdout.write(error ? String(error) : 'locked'); });
  setInterval(() => {}, 1000);`;

async function lockFile(file: string): Promise<{ release(): Promise<void> }> {
  const child: ChildProcess = spawn(process.execPath, ['-e', holdLock, file], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = await once(child.stdout ?? child, 'data');
  if (String(said) !== 'locked') throw new Error(String(said));
  return {
    release: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/** Waits until something holds, and returns how many milliseconds that took. */
export async function holds(what: () => Promise<boolean> | boolean, mostMs: number): Promise<number> {
  const started = performance.now();
  while (!(await what())) {
    if (performance.now() - started > mostMs) throw new Error(`not within ${mostMs} ms`);
    await sleep(25);
  }
  return performance.now() - started;
}
