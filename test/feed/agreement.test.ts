// A receiver is down while 5000 documents change: sorted by number, the feed, the stream and the deliveries are one list.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { aBackend } from '../documents/setup.js';
import { aServerKey } from '../harness/actors.js';
import { startReceiver } from '../harness/receiver.js';
import { aWebhook, bodyOf, startOpen } from '../webhooks/setup.js';
import { numbered, openStream } from './sse.js';

type Json = Record<string, unknown>;
const changes = 5000;
const target = await startOpen();
const { client: key, secret } = await aServerKey(target);

test('feed, stream and deliveries agree on 5000 changes', async () => {
  const receiver = await startReceiver();
  let isDown = true;
  receiver.answer = (response) => response.writeHead(isDown ? 503 : 204).end();
  const { collection } = await aBackend(target);
  const { documents } = await collection({ attributes: { n: { type: 'integer' } } });
  await numbered(target);
  const { cursor: from } = (await key.get('/events?limit=1&cursor=0')).expect(200).body;
  const webhook = await aWebhook(key, receiver.origin, { events: ['documentCreated'] });
  const stream = await openStream(target, { 'X-Service-Project': target.project.id, 'X-Service-Key': secret });
  const create = async (first: number) => {
    for (let n = first; n < changes; n += 20)
      (await key.post(documents, { documentId: `n${n}`, data: { n } })).expect(201);
  };
  await Promise.all(Array.from({ length: 20 }, (_, first) => create(first)));
  await numbered(target);

  const feed: Json[] = [];
  for (let cursor = String(from); ; ) {
    const { body } = (await key.get(`/events?limit=100&types=documentCreated&cursor=${cursor}`)).expect(200);
    feed.push(...(body.events as Json[]));
    cursor = String(body.cursor);
    if (body.more !== true) break;
  }
  receiver.calls.length = 0;
  isDown = false;
  const { features, runtime } = target.appliance;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'test' }, requestId: 'test' };
  const stored = await features.webhooks.get(runtime.db, target.project.id, webhook.id);
  const delivered = new Map<number, Json>();
  for (const until = performance.now() + 120_000; delivered.size < changes && performance.now() < until; ) {
    // What waits for its next attempt is due at once.
    await features.webhooks.replaySome(by, stored, { since: '2000-01-01T00:00:00.000Z', all: false });
    features.worker.nudge();
    await sleep(500);
    for (const body of receiver.calls.splice(0).map(bodyOf)) delivered.set(Number(body.sequence), body);
  }
  await stream.arrived(changes);

  const numbers = feed.map(({ sequence }) => Number(sequence));
  assert.deepEqual(
    numbers,
    Array.from({ length: changes }, (_, at) => (numbers[0] ?? 0) + at),
  );
  assert.deepEqual(
    stream.events.map(({ data }) => data),
    feed,
  );
  assert.deepEqual(
    [...delivered].sort(([a], [b]) => a - b).map(([, body]) => body),
    feed,
  );
});
