// `test/run.ts --through=NAME` runs the suite behind a balancer or a pooler, or with a standby for lists.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './postgres.js';

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
      process.off('exit', end);
      if (child.exitCode === null && child.signalCode === null) {
        child.ref();
        const gone = once(child, 'exit');
        end();
        await gone;
      }
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function isListening(child: ChildProcess, port: number): Promise<void> {
  const url = `http://127.0.0.1:${port}/healthz`;
  while (!(await fetch(url).catch(() => undefined))) {
    if (child.exitCode !== null) throw new Error(`HAProxy ended with ${child.exitCode}`);
    await sleep(10);
  }
}

/** Throws if the program of a front is not installed. */
export function requireFront(name: (typeof fronts)[number]): void {
  // The standby is a second Postgres of the tests.
  if (name === 'standby') return;
  const [program, flag] = name === 'haproxy' ? ['haproxy', '-v'] : ['pgbouncer', '--version'];
  if (spawnSync(program, [flag]).status !== 0) throw new Error(`${program} is not installed`);
}
