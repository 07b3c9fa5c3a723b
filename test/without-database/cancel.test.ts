// The request that cancels a statement: its connection is closed by the server, because poolers can crash if the client closes it first.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { cancel } from '#src/platform/db/postgres-cancel.js';

test('the connection of a cancel request stays open until the server closes it', async () => {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = { host: '127.0.0.1', port, processID: 7, secretKey: -2 } as unknown as pg.PoolClient;
  const done = cancel(client);
  const [socket] = await accepted;
  let hasEnded = false;
  socket.on('end', () => {
    hasEnded = true;
  });
  const [message] = (await once(socket, 'data')) as [Buffer];
  assert.deepEqual(
    [0, 4, 8, 12].map((at) => message.readInt32BE(at)),
    [16, 80_877_102, 7, -2],
  );
  await sleep(200);
  assert.equal(hasEnded, false);
  socket.end();
  await done;
  server.close();
});
