// Every way to an event of files, and who is told of it: webhooks, the feed, its streams and sockets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStream, type TestStream } from '../feed/sse.js';
import { aLoggedInUser, aServerKey, type LoggedInUser } from '../harness/actors.js';
import type { Client } from '../harness/client.js';
import { recordedBy } from '../harness/database.js';
import { startReceiver } from '../harness/receiver.js';
import { subscribed, type TestSocket } from '../realtime/client.js';
import { aWebhook, bodyOf, called, eventually, startOpen } from '../webhooks/setup.js';
import { aFileBackend, chunkBytes, someBytes, upload, uploadChunk } from './setup.js';

const target = await startOpen();
const { key, bucket } = await aFileBackend(target);
const feed = (await aServerKey(target, { scopes: ['events.read'] })).client;
const receiver = await startReceiver();
await aWebhook(key, receiver.origin);
const [ada, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
const mine = (action: string) => `${action}("user:${ada.id}")`;
const own = { permissions: ['create("users")'], fileSecurity: true };
const project = { 'X-Service-Project': target.project.id };
const ofUser = ({ secret }: LoggedInUser) => ({ 'X-Service-Session': secret });
const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'test' }, requestId: 'test' };

/** What a path to events is tried with. */
interface Tried {
  /** The files of a bucket in which Ada has one. */
  readonly files: string;
  readonly one: string;
}

const chunked = someBytes(chunkBytes + 1);
const paths: [string, (tried: Tried) => Promise<unknown>, string[]][] = [
  ['an upload in one request', ({ files }) => upload(ada.client, files, 'text', { fileId: 'two' }), ['fileCreated']],
  [
    'an upload in chunks, the last of which comes twice',
    async ({ files }) => {
      for (const number of [1, 0, 0])
        await uploadChunk(ada.client, files, chunked, number, {
          ...{ fileId: 'big', name: 'big.bin' },
          headers: number === 1 ? {} : { 'x-service-id': 'big' },
        });
      assert.equal((await ada.client.get(`${files}/big`)).expect(200).body.chunksUploaded, 2);
    },
    ['fileCreated'],
  ],
  [
    'an upload of which a chunk is missing',
    ({ files }) => uploadChunk(ada.client, files, chunked, 0, { fileId: 'big' }),
    [],
  ],
  ['an upload that is refused', ({ files }) => upload(ada.client, files, 'text', { fileId: 'one' }), []],
  [
    'an upload that is repeated under its Idempotency-Key',
    async ({ files }) => {
      const headers = { 'Idempotency-Key': files };
      for (const _ of [1, 2]) (await upload(ada.client, files, 'text', { fileId: 'two', headers })).expect(201);
    },
    ['fileCreated'],
  ],
  ['another name', ({ one }) => ada.client.put(one, { name: 'b' }), ['fileUpdated']],
  ['other permissions', ({ one }) => key.put(one, { permissions: [mine('read'), 'read("users")'] }), ['fileUpdated']],
  ['a change that is refused', ({ one }) => bob.client.put(one, { name: 'b' }), []],
  ['a deletion', ({ one }) => ada.client.delete(one), ['fileDeleted']],
  ['a deletion by a server key', ({ one }) => key.delete(one), ['fileDeleted']],
  ['a bucket that is deleted', ({ files }) => key.delete(files.replace('/files', '')), []],
];
for (const [name, act, expected] of paths) {
  test(`${name}: ${expected.join(', ') || 'nothing'}`, async () => {
    const files = await bucket(own);
    const one = `${files}/one`;
    const path = files.slice('/storage/'.length);
    const before = receiver.calls.length;
    (await upload(ada.client, files, 'text', { fileId: 'one' })).expect(201);
    await called(receiver, before + 1);
    const socket = await subscribed(target, [path.replaceAll('/', '.')], ofUser(ada));
    const stream = await openStream(target, { ...project, ...ofUser(ada) });
    const calls = receiver.calls.length;
    const { cursor } = (await feed.get('/events?types=fileCreated')).expect(200).body;
    const { recorded } = await recordedBy(target, () => act({ files, one }));
    assert.deepEqual(
      recorded.audit.filter((entry) => entry.startsWith('file')),
      expected,
    );
    await eventually(async () => {
      const { body } = await feed.get(`/events?cursor=${cursor}&resource=${path}`);
      assert.deepEqual(
        (body.events as { type: string }[]).map(({ type }) => type),
        expected,
      );
    });
    // Webhooks have the seven names of old.
    const delivered = expected.filter((type) => type !== 'fileUpdated');
    const bodies = (await called(receiver, calls + delivered.length)).slice(calls).map(bodyOf);
    assert.deepEqual(
      bodies.map(({ type }) => type),
      delivered,
    );
    await stream.arrived(expected.length);
    const told = await socket.told(expected.length);
    for (const [at, type] of expected.entries()) {
      const id = String(told[at]?.payload.$id);
      const action = type.replace('file', '').replace(/d$/, '').toLowerCase();
      const list = path.replaceAll('/', '.');
      assert.equal(told[at]?.events[0], `${list}.${id}.${action}`);
      const channels = ['files', list, `${list}.${id}`];
      assert.deepEqual(told[at]?.channels, [...channels, ...channels.map((one) => `${one}.${action}`)]);
      assert.deepEqual(stream.events[at]?.data.data, told[at]?.payload);
      if (delivered.length > 0) assert.deepEqual(bodies[at]?.data, told[at]?.payload);
      if (type !== 'fileDeleted')
        assert.deepEqual(told[at]?.payload, (await ada.client.get(`${files}/${id}`)).expect(200).body);
    }
    socket.socket.close();
    stream.close();
  });
}

test('the erasure of its owner: fileDeleted, without anything of the file', async () => {
  const files = await bucket(own);
  const eve = await aLoggedInUser(target);
  (await upload(eve.client, files, 'text', { fileId: 'one', name: 'zqxmarker.txt' })).expect(201);
  await target.appliance.features.erasure.run(by, target.project, eve.id);
  const { events } = (await feed.get(`/events?resource=${files.slice('/storage/'.length)}`)).expect(200).body;
  assert.deepEqual(
    (events as { type: string; data: unknown }[]).map(({ type, data }) => [type, data]),
    ['fileCreated', 'fileDeleted'].map((type) => [type, { $id: 'one', bucketId: files.split('/')[3], erased: true }]),
  );
});

/** Sockets and streams of Ada, Bob and a guest. */
async function readers(): Promise<(() => string[])[]> {
  const idsOf = ({ $id, name }: Record<string, unknown>) => `${$id} ${name}`;
  const sockets = await Promise.all(
    [ofUser(ada), ofUser(bob), {}].map((headers) => subscribed(target, ['files'], headers)),
  );
  const streams = await Promise.all([ada, bob].map((user) => openStream(target, { ...project, ...ofUser(user) })));
  return [
    ...sockets.map((socket: TestSocket) => () => socket.events().map(({ payload }) => idsOf(payload))),
    ...streams.map((stream: TestStream) => () => stream.events.map(({ data }) => idsOf(data.data as never))),
  ];
}

test('a reader of a file gets its events, by the bucket or by the file, at that moment', async () => {
  const [closed, open, secured] = [await bucket(), await bucket({ permissions: ['read("users")'] }), await bucket(own)];
  const [adas, bobs, guests, adaStream, bobStream] = await readers();
  const add = async (files: string, fileId: string, permissions: string[] = [], client: Client = key) =>
    (await upload(client, files, 'text', { fileId, name: 'a', permissions })).expect(201);
  // Without file security the permissions of a file mean nothing.
  await add(closed, 'closed', ['read("any")']);
  await add(open, 'open');
  await add(secured, 'adas', [mine('read'), mine('update'), mine('delete')], ada.client);
  await add(secured, 'any', ['read("any")']);
  await add(secured, 'end');
  await eventually(() => assert.deepEqual(bobs?.(), ['open a', 'any a']));
  (await ada.client.put(`${secured}/adas`, { name: 'b' })).expect(200);
  // A right that is given shows what is new, and not what was before.
  (await key.put(`${secured}/adas`, { permissions: [`read("user:${bob.id}")`] })).expect(200);
  (await key.put(`${secured}/adas`, { name: 'c' })).expect(200);
  (await key.delete(`${secured}/adas`)).expect(204);
  (await key.delete(`${secured}/any`)).expect(204);
  const forBob = ['open a', 'any a', 'adas b', 'adas c', 'adas c', 'any a'];
  for (const told of [bobs, bobStream]) await eventually(() => assert.deepEqual(told?.(), forBob));
  // Whether she is told of her new name before the right is taken is a matter of milliseconds.
  for (const told of [adas, adaStream])
    await eventually(() =>
      assert.deepEqual(
        told?.().filter((one) => one !== 'adas b'),
        ['open a', 'adas a', 'any a', 'any a'],
      ),
    );
  assert.deepEqual(guests?.(), ['any a', 'any a']);
});

test('a disabled bucket sends no events', async () => {
  const files = await bucket({ bucketId: 'off', permissions: ['read("any")'], enabled: false });
  const socket = await subscribed(target, ['files'], ofUser(ada));
  (await upload(key, files, 'text', { fileId: 'one' })).expect(201);
  const shown = await bucket({ permissions: ['read("any")'] });
  (await upload(key, shown, 'text', { fileId: 'two' })).expect(201);
  const [told] = await socket.told(1);
  assert.equal(told?.payload.$id, 'two');
});
