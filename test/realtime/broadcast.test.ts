// What telling 200 sockets of a change costs the server, held against a bare `ws` server that sends the same text to as many.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { root } from '../harness/checkout.js';
import { install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const subscribers = 200;
const changes = 200;
/** As bulk requests make them: what a document costs to be written is no part of telling of it. */
const together = 50;
/** Of the messages that the bare server sends in a second of CPU time. The target is 0.4; 0.6 was measured. */
const leastShare = 0.4;
const rounds = 3;
const isLinux = process.platform === 'linux';

const place = await install();
after(() => place.dispose());
Object.assign(place.env, { SVC_RATE_LIMIT: 'off' });
await place.json(['project', 'create', 'Shop', '--id', 'shop']);
await place.json(['database', 'create', 'd', '--project', 'shop', '--id', 'd']);
const { secret } = await place.json<{ secret: string }>([
  ...['apikey', 'create', '--project', 'shop', '--name', 'k', '--scopes', 'all'],
]);
const headers = { 'X-Service-Project': 'shop', 'X-Service-Key': secret, 'Content-Type': 'application/json' };

/** CPU time of a process so far, in ticks of the system. */
function cpuTicks(pid: number): number {
  // The name of the process stands in brackets and may hold anything.
  const [, after = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ');
  const fields = after.split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/** Sockets that count the messages which `isCounted` takes, and keep the last. */
async function openAll(
  url: string,
  isCounted: (text: string) => boolean,
  begin: (socket: WebSocket) => Promise<unknown>,
) {
  const heard = { messages: 0, last: '' };
  await Promise.all(
    Array.from({ length: subscribers }, async () => {
      const socket = new WebSocket(url, { perMessageDeflate: false });
      after(() => socket.terminate());
      socket.on('message', (data) => {
        const text = String(data);
        if (!isCounted(text)) return;
        heard.messages += 1;
        heard.last = text;
      });
      await begin(socket);
    }),
  );
  return heard;
}

/** CPU ticks for each thousand messages that an act makes a process send. */
async function costOf(
  pid: number,
  heard: { messages: number },
  count: number,
  act: () => Promise<void>,
): Promise<number> {
  const [ticks, before] = [cpuTicks(pid), heard.messages];
  await act();
  for (let tries = 0; heard.messages < before + count && tries < 600; tries++) await sleep(50);
  assert.equal(heard.messages, before + count);
  return ((cpuTicks(pid) - ticks) / count) * 1000;
}

/** A server that sends each line of its input to every socket. */
const bareServer = `
  import { createInterface } from 'node:readline';
  import { WebSocketServer } from 'ws';
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false }, () => console.log(server.address().port));
  createInterface({ input: process.stdin }).on('line', (line) => {
    for (const socket of server.clients) socket.send(line);
  });`;

test('sending a change to 200 sockets costs little more than sending its text', {
  skip: !isLinux,
}, async (t) => {
  const { url, pid } = await place.serve();
  const post = async (path: string, body: object) => {
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    assert.equal(response.status, 201, await response.text());
  };
  await post('/databases/d/collections', { collectionId: 'c', name: 'c', permissions: ['read("any")'] });
  const subscribe = { subscriptionId: 's', channels: ['databases.d.collections.c.documents'], queries: [] };
  const ours = await openAll(
    `${url.replace('http', 'ws')}/realtime?project=shop`,
    (text) => text.startsWith('{"type":"event"'),
    (socket) =>
      new Promise((resolve, reject) => {
        socket.once('error', reject);
        socket.on('message', (data) => {
          const { type } = JSON.parse(String(data));
          if (type === 'connected') socket.send(JSON.stringify({ type: 'subscribe', data: [subscribe] }));
          if (type === 'response') resolve(undefined);
        });
      }),
  );
  const createMany = async (name: string, count: number) => {
    for (let from = 0; from < count; from += together)
      await post('/databases/d/collections/c/documents', {
        documents: Array.from({ length: together }, (_, at) => ({ $id: `${name}${from + at}` })),
      });
  };
  await costOf(pid, ours, together * subscribers, () => createMany('w', together));
  const bare = spawn(process.execPath, ['--input-type=module', '--eval', bareServer], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  after(() => bare.kill());
  const [port] = await once(createInterface({ input: bare.stdout }), 'line');
  const theirs = await openAll(
    `ws://127.0.0.1:${port}`,
    () => true,
    (socket) => once(socket, 'open'),
  );
  const say = (count: number) => async () => {
    for (let at = 0; at < count; at++) bare.stdin.write(`${ours.last}\n`);
  };
  await costOf(bare.pid ?? 0, theirs, together * subscribers, say(together));
  const shares: number[] = [];
  // What else runs on the machine costs one of the two more, by chance; a server that does too much falls short each time.
  while (shares.length < rounds && !shares.some((share) => share >= leastShare)) {
    const round = shares.length;
    const cost = await costOf(pid, ours, changes * subscribers, () => createMany(`n${round}-`, changes));
    const base = await costOf(bare.pid ?? 0, theirs, changes * subscribers, say(changes));
    shares.push(base / cost);
  }
  const said = shares.map((share) => share.toFixed(2)).join(', ');
  t.diagnostic(`${said} of the messages of a bare server in a second of CPU time`);
  assert.ok(Math.max(...shares) >= leastShare, said);
});
