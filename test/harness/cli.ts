// The command as an operator runs it: `bin/svc` of this checkout, built, in a directory and an environment of its own.
import assert from 'node:assert/strict';
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import sqlite3 from 'sqlite3';
import { countStart } from '../times.js';
import { root } from './checkout.js';
import type { CommandReply, CommandRequest } from './command-host.js';
import { pooledUrl } from './front.js';
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
  /** Runs a command, in a process that other commands have used unless one is running in it or `fresh` is set. */
  svc(args: readonly string[], given?: { input?: string; env?: Record<string, string>; fresh?: boolean }): Promise<Run>;
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
    ...(url === '' ? {} : { SVC_DATABASE_URL: pooledUrl(url) }),
  };
  const servers: ChildProcess[] = [];
  const start = (command: string, args: readonly string[], more: Record<string, string> = {}) =>
    spawn(command, args, { cwd: dir, env: { ...env, ...more }, stdio: 'pipe' });
  const svc: Installation['svc'] = async (args, { input = '', env: more, fresh = false } = {}) => {
    countStart('command');
    // Node.js reads its own settings when a process starts.
    const isFresh = fresh || Object.keys({ ...env, ...more }).some((name) => /^(NODE|UV)_/.test(name));
    const inHost = isFresh ? undefined : runInHost({ args, input, env: { ...env, ...more }, cwd: dir });
    return (await inHost) ?? finish(start('svc', args, more), input);
  };
  const installation: Installation = {
    ...{ dir, env, database, svc },
    json: async (args, input = '') => {
      const { code, out, err } = await svc([...args, '--json'], { input });
      assert.equal(code, 0, `svc ${args.join(' ')}: ${err}`);
      return JSON.parse(out);
    },
    shell: (line) => {
      const words = wordsOf(line);
      return words === undefined ? finish(start('sh', ['-c', line]), '') : svc(words);
    },
    sql: (text) => (url === '' ? querySqlite(join(dir, 'data/svc.db'), text) : queryPostgres(url, text)),
    serve: async (args = [], more = {}) => {
      countStart('serve');
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

/** The arguments of a line that is one `svc` command, ends by itself and needs no shell but for its quotes; undefined for any other. */
function wordsOf(line: string): string[] | undefined {
  if (line.startsWith('svc serve') || !/^svc( [\w./:@,+-]+| '[^']*'| "[^"$`\\]*")+$/.test(line)) return undefined;
  const words = line.slice('svc '.length).match(/'[^']*'|"[^"]*"|[^ ]+/g) ?? [];
  return words.map((word) => word.replace(/^(['"])(.*)\1$/, '$2'));
}

const hostFile = fileURLToPath(new URL('./command-host.js', import.meta.url));
let host: ChildProcess | undefined;
let isHostBusy = false;

/** Undefined if the host is busy, so that commands that a test runs together are processes that run together. */
function runInHost(request: CommandRequest): Promise<Run> | undefined {
  if (isHostBusy || !existsSync(hostFile)) return undefined;
  isHostBusy = true;
  const child = host ?? fork(hostFile, [join(root, 'dist/main.js')], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  host = child;
  child.ref();
  child.channel?.ref();
  return new Promise<Run>((resolve) => {
    const end = (run: Run, last: boolean) => {
      child.off('message', onReply).off('exit', onExit);
      child.unref();
      child.channel?.unref();
      if (last) host = undefined;
      isHostBusy = false;
      resolve(run);
    };
    const onReply = ({ last, ...run }: CommandReply) => end(run, last);
    const onExit = (code: number | null) => end({ code, out: '', err: 'the process of the command ended' }, true);
    child.on('message', onReply).on('exit', onExit);
    child.send(request);
  });
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
