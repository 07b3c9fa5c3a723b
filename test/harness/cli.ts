// The command as an operator runs it: `bin/svc` of this checkout, built, in a directory and an environment of its own.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import sqlite3 from 'sqlite3';
import { root } from './checkout.js';
import { createDatabase } from './postgres.js';

/** How a run ended and what it printed. */
export type Run = { code: number | null; out: string; err: string };

/** A server that runs; `ended` resolves with its exit code. */
export type Server = {
  url: string;
  /** Of the process; the tests look at its memory. */
  pid: number;
  signal(name: NodeJS.Signals): void;
  ended: Promise<number | null>;
  /** Everything on stderr so far. */
  log(): string;
};

/** A directory with settings, data and an environment of its own. */
export type Installation = {
  dir: string;
  env: Record<string, string>;
  /** What `--confirm` has to name for the whole database. */
  database: string;
  svc(args: readonly string[], given?: { input?: string; env?: Record<string, string> }): Promise<Run>;
  /** Runs with `--json` and returns the value; the exit code has to be 0. */
  json<T>(args: readonly string[], input?: string): Promise<T>;
  /** A line of a shell, as the help prints them. */
  shell(line: string): Promise<Run>;
  /** SQL as somebody with a shell on the database server would run it. */
  sql(text: string): Promise<Record<string, unknown>[]>;
  serve(args?: readonly string[], env?: Record<string, string>): Promise<Server>;
  dispose(): Promise<void>;
};

const databaseOfTest = process.env.SVC_TEST_DATABASE ?? 'sqlite';
let databases = 0;

/** Makes a place for an installation; `svc init` has run unless `init` is false. The Postgres server is that of the tests unless another is named. */
export async function install({
  init = true,
  postgres = process.env.SVC_TEST_POSTGRES_URL ?? '',
} = {}): Promise<Installation> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'svc-cli-')));
  const database = databaseOfTest === 'postgres' ? `cli-${process.pid}-${databases++}` : 'svc.db';
  const url = databaseOfTest === 'postgres' ? await createDatabase(postgres, database) : '';
  mkdirSync(join(dir, 'bin'));
  symlinkSync(join(root, 'bin/svc'), join(dir, 'bin/svc'));
  const env: Record<string, string> = {
    ...{ HOME: dir, LANG: 'C.UTF-8', SVC_PORT: '0', SVC_HOST: '127.0.0.1', SVC_DATA_DIR: join(dir, 'data') },
    PATH: [join(dir, 'bin'), dirname(process.execPath), process.env.PATH].join(delimiter),
    ...(url === '' ? {} : { SVC_DATABASE_URL: url }),
  };
  const servers: ChildProcess[] = [];
  const start = (command: string, args: readonly string[], more: Record<string, string> = {}) =>
    spawn(command, args, { cwd: dir, env: { ...env, ...more }, stdio: 'pipe' });
  const svc: Installation['svc'] = (args, { input = '', env: more } = {}) => finish(start('svc', args, more), input);
  const installation: Installation = {
    ...{ dir, env, database, svc },
    json: async (args, input = '') => {
      const { code, out, err } = await svc([...args, '--json'], { input });
      assert.equal(code, 0, `svc ${args.join(' ')}: ${err}`);
      return JSON.parse(out);
    },
    shell: (line) => finish(start('sh', ['-c', line]), ''),
    sql: (text) => (url === '' ? querySqlite(join(dir, 'data/svc.db'), text) : queryPostgres(url, text)),
    serve: async (args = [], more = {}) => {
      const child = start('svc', ['serve', '--json', ...args], more);
      servers.push(child);
      return ready(child);
    },
    dispose: async () => {
      for (const child of servers.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      rmSync(dir, { recursive: true, force: true });
    },
  };
  if (init) await installation.json(['init', '--yes']);
  return installation;
}

async function finish(child: ChildProcess, input: string): Promise<Run> {
  const [out, err] = [collect(child.stdout), collect(child.stderr)];
  // A command that ends without reading its input closes it.
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);
  const [code] = await once(child, 'close');
  return { code, out: out(), err: err() };
}

async function ready(child: ChildProcess): Promise<Server> {
  const [out, err] = [collect(child.stdout), collect(child.stderr)];
  const ended = once(child, 'exit').then(([code]) => code);
  while (!out().includes('}')) {
    assert.equal(child.exitCode, null, `the server ended: ${err()}`);
    await sleep(20);
  }
  const { url, pid } = JSON.parse(out());
  assert.equal(pid, child.pid);
  return { url, pid: Number(pid), signal: (name) => child.kill(name), ended, log: err };
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  return () => text;
}

function querySqlite(file: string, text: string): Promise<Record<string, unknown>[]> {
  const database = new sqlite3.Database(file);
  return new Promise((resolve, reject) => {
    database.all<Record<string, unknown>>(text, (error, rows) => {
      database.close();
      if (error === null) resolve(rows);
      else reject(error);
    });
  });
}

async function queryPostgres(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
