// PgBouncer of the Linux distribution, in front of a Postgres of the tests, with the settings that a new installation has.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.js';
import { ownerInsteadOfRoot } from './postgres.js';

/** Where PgBouncer is not installed; required where `SVC_TEST_POOLER` says so. */
export const lacksPgBouncer =
  process.env.SVC_TEST_POOLER !== 'required' &&
  spawnSync('pgbouncer', ['--version']).status !== 0 &&
  'PgBouncer is not installed';

interface PgBouncer {
  readonly port: number;
  /** The URL of a database of the server behind it. */
  urlOf(databaseUrl: string): string;
  stop(): Promise<void>;
}

/** Starts PgBouncer on a free port; `more` are lines of its configuration. It ends with the calling process. */
export async function startPgBouncer(
  databaseUrl: string,
  mode: 'session' | 'transaction',
  more: readonly string[] = [],
): Promise<PgBouncer> {
  const server = new URL(databaseUrl);
  const home = mkdtempSync(join(tmpdir(), 'svc-pgbouncer-'));
  chmodSync(home, 0o755);
  const port = await freePort();
  writeFileSync(join(home, 'users'), `"${server.username}" "${server.password}"\n`);
  const settings = [
    '[databases]',
    `* = host=${server.hostname} port=${server.port}`,
    '[pgbouncer]',
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir ='],
    ...['auth_type = md5', `auth_file = ${join(home, 'users')}`, `pool_mode = ${mode}`],
    ...more,
  ];
  writeFileSync(join(home, 'pgbouncer.ini'), `${settings.join('\n')}\n`);
  // It refuses to run as root.
  const owner = process.getuid?.() === 0 ? ownerInsteadOfRoot() : {};
  const child = spawn('pgbouncer', [join(home, 'pgbouncer.ini')], { ...owner, cwd: '/', stdio: 'ignore' });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  while (!(await listens(port))) {
    if (child.exitCode !== null) throw new Error(`PgBouncer ended with ${child.exitCode}`);
    await sleep(20);
  }
  return {
    port,
    urlOf: (url) => {
      const pooled = new URL(url);
      pooled.port = String(port);
      return pooled.href;
    },
    stop: async () => {
      process.off('exit', end);
      if (child.exitCode === null && child.signalCode === null) {
        const gone = once(child, 'exit');
        end();
        await gone;
      }
      rmSync(home, { recursive: true });
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('close', () => socket.destroy());
    socket.end();
  });
}
