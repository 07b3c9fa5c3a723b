// Hundreds of connections that each send almost all of a large body, and then wait: the memory of the process stays bounded, and others are served.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { after } from '../harness/runner.js';
import { startGround } from './ground.js';

const connections = 150;
const bodyBytes = 4_194_304;
/** An address may have 32 MiB of large bodies on their way, and each body 64 KiB of its own. */
const most = 32 + connections / 16 + 60;

const ground = await startGround({ SVC_RATE_LIMIT: 'off' });
after(() => ground.dispose());

/** Sends all of a body but its end; resolves with what was answered early, or with nothing. */
async function sendSlowly(): Promise<{ socket: Socket; answer: () => string }> {
  const socket = connect(ground.port, '127.0.0.1');
  let text = '';
  socket.on('error', () => {});
  socket.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  await once(socket, 'connect');
  socket.write(
    `POST /v1/databases/a/collections/b/documents HTTP/1.1\r\nHost: localhost\r\nX-Service-Project: ${ground.projectId}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${bodyBytes}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(bodyBytes - 300, ' '));
  return { socket, answer: () => text };
}

test(`${connections} connections with bodies of 4 MiB take bounded memory, and small requests find room`, async (t) => {
  const before = await ground.memory();
  const endWatch = ground.watch();
  const slow = await Promise.all(Array.from({ length: connections }, sendSlowly));
  try {
    await sleep(4000);
    const during = await ground.memory();
    const taken = Math.round((during.external - before.external) / 2 ** 20);
    const refused = slow.map(({ answer }) => answer()).filter((text) => text !== '');
    t.diagnostic(`${taken} MiB for bodies, ${refused.length} refused`);
    assert.ok(taken < most, `${taken} MiB`);
    assert.ok(refused.length > connections / 2, `${refused.length} refused`);
    for (const text of refused)
      assert.match(text, /^HTTP\/1\.1 503 [\s\S]*Retry-After: \d+\r\n[\s\S]*general_unavailable/);
    assert.equal(await post('/account/sessions/anonymous', { padding: ' '.repeat(60_000) }), 201);
  } finally {
    for (const { socket } of slow) socket.destroy();
    assert.deepEqual((await endWatch()).failures, []);
  }
  const large = { documentId: 'a', data: { text: 'a'.repeat(4_000_000) } };
  assert.equal(await post('/databases/a/collections/b/documents', large), 404, 'there is room again');
});

async function post(path: string, body: object): Promise<number> {
  const response = await fetch(ground.server.url + path, {
    method: 'POST',
    headers: { 'X-Service-Project': ground.projectId, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  await response.text();
  return response.status;
}
