import { hostname } from 'node:os';
import { runningServers, type ServerRow } from '#src/features/index.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { processExists } from '../installation/lock-file.js';
import { conflictError } from '../terminal/exit.js';

/** Throws if a server that matches uses the database, on this machine or another one. Exit 5. */
export async function requireNoServer(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'migrator'>,
  action: string,
  matches: (server: ServerRow) => boolean = () => true,
): Promise<void> {
  const server = (await runningServers(runtime)).find((one) => !wasKilled(one) && matches(one));
  if (server === undefined) return;
  const { host, pid, seenAt } = server;
  throw conflictError(
    'server_running',
    `A server of svc uses this database: process ${pid} on ${host}, last seen ${seenAt}; ${action}`,
    `stop the server, then run this command again; if it was killed, wait until ${instantOf(Date.parse(seenAt) + 90_000)}`,
  );
}

/** True for a server of this machine whose process has ended without removing its row. */
function wasKilled({ host, pid }: ServerRow): boolean {
  return host === hostname() && !processExists(pid);
}
