// Clients that begin messages and end none of them, on as many sockets as an address may have: they take a bounded part of a server of 512 MiB.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { realtimeLimits } from '#src/contract/limits.js';
import { install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const sockets = 400;
/** What the process needs for the sockets themselves, beside what they have sent. */
const ownBytes = 80 * 2 ** 20;

const place = await install();
after(() => place.dispose());
Object.assign(place.env, { SVC_RATE_LIMIT: 'off', NODE_OPTIONS: '--max-old-space-size=512' });
await place.json(['project', 'create', 'Shop', '--id', 'shop']);
const { url, pid } = await place.serve();
const { port } = new URL(url);
const residentBytes = () => Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

interface Client {
  readonly socket: Socket;
  /** What was received, as text. */
  received(): string;
  isClosed(): boolean;
}

/** Opens a socket and waits for its first message. */
async function open(): Promise<Client> {
  const socket = connect(Number(port), '127.0.0.1');
  after(() => socket.destroy());
  let [text, isClosed] = ['', false];
  socket.on('error', () => {});
  socket.once('close', () => {
    isClosed = true;
  });
  socket.on('data', (part) => {
    text += part.toString('latin1');
  });
  const client = { socket, received: () => text, isClosed: () => isClosed };
  const key = Buffer.alloc(16, 1).toString('base64');
  socket.write(
    `GET /v1/realtime?project=shop HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  );
  await until(() => text.includes('connected'), text);
  return client;
}

async function until(is: () => boolean, message: string): Promise<void> {
  for (let tries = 0; !is() && tries < 1500; tries++) await sleep(10);
  assert.ok(is(), message);
}

/** A frame of a client (RFC 6455, section 5.2), masked with zeros, of which the given bytes are sent. */
function frame(opcode: number, length: number, payload: Buffer): Buffer {
  const size = Buffer.alloc(length < 126 ? 1 : 9);
  if (length < 126) size[0] = 0x80 | length;
  else {
    size[0] = 0x80 | 127;
    size.writeBigUInt64BE(BigInt(length), 1);
  }
  return Buffer.concat([Buffer.from([opcode]), size, Buffer.alloc(4), payload]);
}

const fin = 0x80;
const [continuation, text, ping] = [0x0, 0x1, 0x9];
const one = Buffer.from('x');
const fragments = (count: number) =>
  Buffer.concat(Array.from({ length: count }, (_, at) => frame(at === 0 ? text : continuation, 1, one)));
const pings = Buffer.concat(Array.from({ length: 450 }, () => frame(fin | ping, 125, Buffer.alloc(125))));

/** What a client sends, as parts that arrive one by one. */
const unfinished: Record<string, readonly Buffer[]> = {
  'large messages without their last byte': [
    frame(fin | text, realtimeLimits.frameBytes, Buffer.alloc(realtimeLimits.frameBytes - 1, 'x')),
  ],
  'messages in many fragments': [fragments(16_000)],
  'fragments between pings': Array.from({ length: 20 }, (_, at) =>
    Buffer.concat([frame(at === 0 ? text : continuation, 1, one), pings]),
  ),
};

for (const [name, parts] of Object.entries(unfinished))
  test(`${name} take a bounded part of the memory`, { skip: process.platform !== 'linux' }, async (t) => {
    const before = residentBytes();
    const clients: Client[] = [];
    for (let at = 0; at < sockets; at += 20) {
      const some = await Promise.all(Array.from({ length: 20 }, open));
      clients.push(...some);
      for (const part of parts) {
        await Promise.all(
          some.map(({ socket }) => new Promise<void>((resolve) => socket.write(part, () => resolve()))),
        );
        await sleep(5);
      }
    }
    const more = residentBytes() - before;
    t.diagnostic(
      `${Math.round(more / 2 ** 20)} MiB more, ${clients.filter(({ isClosed }) => isClosed()).length} of ${sockets} sockets closed`,
    );
    assert.ok(more < realtimeLimits.unfinishedBytesOfAddress + ownBytes, `${more}`);
    for (const { socket } of clients) socket.destroy();
    // What they held is free again.
    const large = Buffer.from(JSON.stringify({ type: 'ping', more: 'x'.repeat(200_000) }));
    for (let tries = 0, isAnswered = false; !isAnswered; tries++) {
      assert.ok(tries < 100, 'a large message is answered');
      const later = await open();
      later.socket.write(frame(fin | text, large.length, large));
      await until(() => later.received().includes('"pong"') || later.isClosed(), later.received());
      isAnswered = later.received().includes('"pong"');
      later.socket.destroy();
    }
  });

test('a socket that sends large messages, in fragments and between pings, is no burden for its address', async () => {
  const client = await open();
  const message = Buffer.from(JSON.stringify({ type: 'ping', more: 'x'.repeat(60_000) }));
  const half = message.length >> 1;
  for (let at = 1; at <= 100; at++) {
    client.socket.write(
      Buffer.concat([
        frame(text, half, message.subarray(0, half)),
        frame(fin | ping, 1, one),
        frame(fin | continuation, message.length - half, message.subarray(half)),
      ]),
    );
    await until(() => client.received().split('"pong"').length > at, `${at}`);
  }
  assert.ok(!client.isClosed());
});
