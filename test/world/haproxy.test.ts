// Two servers on one Postgres behind HAProxy are restarted in turn under load, and no request fails.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUnderTest } from '../harness/appliance.js';
import type { Server } from '../harness/cli.js';
import { freePort } from '../harness/terminal.js';
import { lacks, serveWorld, startServer } from './world.js';

const skip = databaseUnderTest === 'postgres' ? lacks('haproxy', ['-v'], 'haproxy') : 'several servers need Postgres';
const restarts = 20;
const clients = 8;

test('no request fails while the servers are restarted in turn', { skip }, async () => {
  const world = await serveWorld();
  const { place, project, key } = world;
  const ports = [await freePort(), await freePort()];
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
  const start = (port: number): Promise<Server> =>
    place.serve([], { SVC_PORT: String(port), SVC_DRAIN_SECONDS: '3', SVC_RATE_LIMIT: 'off' });
  const servers = await Promise.all(ports.map(start));
  const origin = `http://127.0.0.1:${front}`;
  await startServer('haproxy', ['-db', '-f', join(place.dir, 'haproxy.cfg')], `${origin}/healthz`);
  const isUp = async (port: number) =>
    (await fetch(`http://127.0.0.1:${port}/readyz`, { headers: { Host: 'localhost' } }).catch(() => undefined))?.ok;
  let hasEnded = false;
  const failed: string[] = [];
  let answered = 0;
  const load = Array.from({ length: clients }, async (_, client) => {
    const headers = { 'X-Appwrite-Project': project, 'X-Appwrite-Key': key, 'Content-Type': 'application/json' };
    for (let at = 0; !hasEnded; at++) {
      const body = JSON.stringify({ userId: 'unique()', email: `u${client}-${at}@example.com` });
      const request =
        at % 4 === 0
          ? fetch(`${origin}/v1/users`, { method: 'POST', headers, body })
          : fetch(`${origin}/v1/users`, { headers });
      const status = await request.then(async (response) => (await response.text()) && response.status, String);
      if (status === 200 || status === 201) answered += 1;
      else failed.push(String(status));
      await sleep(10);
    }
  });
  for (let at = 0; at < restarts; at++) {
    const place = at % 2;
    servers[place]?.signal('SIGTERM');
    assert.equal(await servers[place]?.ended, 0);
    servers[place] = await start(ports[place] as number);
    while (!(await isUp(ports[place] as number))) await sleep(100);
    // HAProxy sends requests to it again from its next check.
    await sleep(1500);
  }
  hasEnded = true;
  await Promise.all(load);
  assert.deepEqual(failed, []);
  assert.ok(answered > restarts * clients, `${answered} requests`);
});
