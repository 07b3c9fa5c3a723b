// `test/run.ts --through=NAME` runs the suite behind a balancer or a pooler, or with a standby for lists.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.js';

export const fronts = ['haproxy', 'pgbouncer-session', 'pgbouncer-transaction', 'standby'] as const;

/** The front of this run of the suite. */
export const front = fronts.find((name) => name === process.env.SVC_TEST_THROUGH);

/** The URL under which a server reaches a database: that of the pooler, if there is one. */
export function pooledUrl(databaseUrl: string): string {
  const port = process.env.SVC_TEST_POOLER_PORT;
  if (port === undefined || !databaseUrl.startsWith('postgres')) return databaseUrl;
  const pooled = new URL(databaseUrl);
  pooled.port = port;
  return pooled.href;
}

/** Starts HAProxy on a free port, with the servers at `ports` behind it in turn. It ends with the calling process. */
export async function startHaproxy(ports: readonly number[]): Promise<{ port: number; stop(): Promise<void> }> {
  const port = await freePort();
  const home = mkdtempSync(join(tmpdir(), 'svc-haproxy-'));
  const file = join(home, 'haproxy.cfg');
  const lines = [
    ...['defaults', ' mode http', ' timeout connect 5s', ' timeout client 60s', ' timeout server 60s'],
    ...[' timeout tunnel 1h', ' http-reuse safe', 'frontend f', ` bind 127.0.0.1:${port}`, ' default_backend b'],
    ...['backend b', ' balance roundrobin', ...ports.map((one) => ` server s${one} 127.0.0.1:${one}`), ''],
  ];
  writeFileSync(file, lines.join('\n'));
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  child.unref();
  await isListening(child, port);
  return {
    port,
    stop: async () => {
      await endChild(child, end);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function isListening(child: ChildProcess, port: number): Promise<void> {
  const url = `http://127.0.0.1:${port}/healthz`;
  while (!(await fetch(url).catch(() => undefined))) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`);
    await sleep(10);
  }
}

const [storeKey, storeSecret] = ['tests', 'a secret of tests'];

/** Starts Versity's S3 gateway over a directory, if it is installed. Servers that share a database store their files in it. */
export async function startFileStore(folder: string): Promise<{ url: string; stop(): Promise<void> } | undefined> {
  const program = process.env.SVC_TEST_VERSITYGW ?? 'versitygw';
  if (spawnSync(program, ['--version']).status !== 0) return undefined;
  mkdirSync(join(folder, 'store', 'files'), { recursive: true });
  const port = await freePort();
  const key = ['--access', storeKey, '--secret', storeSecret];
  const args = ['--port', `127.0.0.1:${port}`, ...key, '--quiet', 'posix', join(folder, 'store')];
  const child = spawn(program, args, { stdio: 'ignore' });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  await isListening(child, port);
  return { url: `http://127.0.0.1:${port}`, stop: () => endChild(child, end) };
}

/** The settings of a server that stores its files in S3, if this run has a store. */
export function fileStoreOf(databaseUrl: string): Record<string, string> {
  const endpoint = process.env.SVC_TEST_FILES_URL;
  if (endpoint === undefined) return {};
  return {
    SVC_FILES_URL: `s3://files${new URL(databaseUrl).pathname}?endpoint=${encodeURIComponent(endpoint)}`,
    SVC_FILES_KEY_ID: storeKey,
    SVC_FILES_SECRET: storeSecret,
  };
}

async function endChild(child: ChildProcess, end: () => void): Promise<void> {
  process.off('exit', end);
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.ref();
  const gone = once(child, 'exit');
  end();
  await gone;
}

/** Throws if the program of a front is not installed. */
export function requireFront(name: (typeof fronts)[number]): void {
  // The standby is a second Postgres of the tests.
  if (name === 'standby') return;
  const [program, flag] = name === 'haproxy' ? ['haproxy', '-v'] : ['pgbouncer', '--version'];
  if (spawnSync(program, [flag]).status !== 0) throw new Error(`${program} is not installed`);
}
