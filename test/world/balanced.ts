// Two servers on one Postgres behind HAProxy, under load.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Installation, Server } from '../harness/cli.js';
import { freePort } from '../harness/free-port.js';
import { startServer } from './world.js';

const clients = 8;

/** Two servers and clients that call both. Each server can be restarted. */
export interface Balanced {
  /** Stops a server, starts it again, and waits until HAProxy sends requests to it. `env` is added to that of the installation. */
  restart(at: 0 | 1, env?: Record<string, string>): Promise<void>;
  /** Requests with a response so far, and what became of the others. */
  readonly answered: () => number;
  readonly failed: readonly string[];
  /** Ends the load. */
  end(): Promise<void>;
}

/** Starts both servers, HAProxy and the load, until the end of the test file. */
export async function startBalanced(
  place: Installation,
  headers: Record<string, string>,
  env: Record<string, string>,
): Promise<Balanced> {
  const ports = [await freePort(), await freePort()] as const;
  const front = await freePort();
  const config = [
    ...['defaults', ' mode http', ' timeout connect 5s', ' timeout client 60s', ' timeout server 60s'],
    ...['frontend f', ` bind 127.0.0.1:${front}`, ' default_backend b'],
    ...['backend b', ' option httpchk GET /readyz', ' http-check send hdr Host localhost'],
    ' default-server check inter 500ms fall 2 rise 1',
    ...ports.map((port, at) => ` server s${at} 127.0.0.1:${port}`),
    '',
  ];
  writeFileSync(join(place.dir, 'haproxy.cfg'), config.join('\n'));
  const start = (port: number, more: Record<string, string>): Promise<Server> =>
    place.serve([], { SVC_PORT: String(port), SVC_DRAIN_SECONDS: '3', SVC_RATE_LIMIT: 'off', ...more });
  const servers = [await start(ports[0], env), await start(ports[1], env)];
  const origin = `http://127.0.0.1:${front}`;
  await startServer('haproxy', ['-db', '-f', join(place.dir, 'haproxy.cfg')], `${origin}/healthz`);
  const isUp = async (port: number) =>
    (await fetch(`http://127.0.0.1:${port}/readyz`, { headers: { Host: 'localhost' } }).catch(() => undefined))?.ok;

  let hasEnded = false;
  let answered = 0;
  const failed: string[] = [];
  const load = Array.from({ length: clients }, async (_, client) => {
    const sent = { ...headers, 'Content-Type': 'application/json' };
    for (let at = 0; !hasEnded; at++) {
      const body = JSON.stringify({ userId: 'unique()', email: `u${client}-${at}@example.com` });
      const request =
        at % 4 === 0
          ? fetch(`${origin}/v1/users`, { method: 'POST', headers: sent, body })
          : fetch(`${origin}/v1/users`, { headers: sent });
      const status = await request.then(
        async (response) => (await response.text()) && response.status,
        (error) => `${error} ${error.cause}`,
      );
      if (status === 200 || status === 201) answered += 1;
      else failed.push(String(status));
      await sleep(10);
    }
  });
  return {
    restart: async (at, more = {}) => {
      servers[at]?.signal('SIGTERM');
      const code = await servers[at]?.ended;
      if (code !== 0) throw new Error(`the server ended with ${code}`);
      servers[at] = await start(ports[at], more);
      while (!(await isUp(ports[at]))) await sleep(100);
      // HAProxy sends requests to it again from its next check.
      await sleep(1500);
    },
    answered: () => answered,
    failed,
    end: async () => {
      hasEnded = true;
      await Promise.all(load);
    },
  };
}
