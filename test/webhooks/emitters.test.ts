// Every way to an event that there is ends at the receiver, once, with what the service itself shows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { graphqlCalls, restCalls } from '../documents/calls.js';
import { aBackend } from '../documents/setup.js';
import { aLoggedInUser, aServerKey, aUser, logIn } from '../harness/actors.js';
import { createClient } from '../harness/client.js';
import { recordedBy, rowsOf } from '../harness/database.js';
import { asOperator, changeSettings } from '../harness/project.js';
import { type ReceivedCall, startReceiver } from '../harness/receiver.js';
import { aKey, aWebhook, bodyOf, called, startOpen } from './setup.js';

const target = await startOpen();
const key = await aKey(target);
const receiver = await startReceiver();
await aWebhook(key, receiver.origin);
const picky = await startReceiver();
await aWebhook(key, picky.origin, { events: ['sessionDeleted', 'documentDeleted'] });
const deaf = await startReceiver();
await aWebhook(key, deaf.origin, { enabled: false });
const foreign = await startReceiver();
await aWebhook(await aKey(target), foreign.origin, { events: ['fileCreated'] });

const typesOf = (calls: readonly ReceivedCall[]) => calls.map((call) => String(bodyOf(call).type)).sort();

/** What an act announces, as receivers hear it. */
async function heard(act: () => Promise<unknown>): Promise<string[]> {
  const before = receiver.calls.length;
  const { recorded } = await recordedBy(target, act);
  const calls = (await called(receiver, before + recorded.events.length)).slice(before);
  assert.deepEqual(typesOf(calls), recorded.events);
  return recorded.events;
}

const browser = 'http://localhost:3000';
const sessions: [string, () => Promise<() => Promise<unknown>>, string[]][] = [
  [
    'a login',
    async () => {
      const user = await aUser(target);
      return () => logIn(target, user);
    },
    ['sessionCreated'],
  ],
  [
    'a login by the other path',
    async () => {
      const { email, password } = await aUser(target);
      return () => createClient(target).post('/account/sessions', { email, password });
    },
    ['sessionCreated'],
  ],
  [
    'a logout',
    async () => {
      const { client } = await aLoggedInUser(target);
      return () => client.delete('/account/sessions/current');
    },
    ['sessionDeleted'],
  ],
  [
    'a session ended by its id',
    async () => {
      const user = await aLoggedInUser(target);
      const { sessionId } = await logIn(target, user);
      return () => user.client.delete(`/account/sessions/${sessionId}`);
    },
    ['sessionDeleted'],
  ],
  [
    'all sessions ended',
    async () => {
      const user = await aLoggedInUser(target);
      await logIn(target, user);
      return () => user.client.delete('/account/sessions');
    },
    ['sessionDeleted', 'sessionDeleted'],
  ],
  [
    'a login in the same browser',
    async () => {
      const { email, password } = await aUser(target);
      const client = createClient(target, { browser });
      await client.post('/account/sessions/email', { email, password });
      return () => client.post('/account/sessions/email', { email, password });
    },
    ['sessionCreated', 'sessionDeleted'],
  ],
  [
    'one session too many',
    async () => {
      const user = await aLoggedInUser(target);
      await changeSettings(target, { 'session.limit': 1 });
      target.clock.advance(500);
      return async () => {
        await logIn(target, user);
        await changeSettings(target, { 'session.limit': 10 });
        target.clock.advance(500);
      };
    },
    ['sessionCreated', 'sessionDeleted'],
  ],
  [
    'a changed password',
    async () => {
      const user = await aLoggedInUser(target);
      await logIn(target, user);
      const change = { password: 'the new password', oldPassword: user.password };
      return () => user.client.patch('/account/password', change);
    },
    ['sessionDeleted'],
  ],
  [
    'a block',
    async () => {
      const { id } = await aLoggedInUser(target);
      return () => asOperator(target, id, 'block');
    },
    ['sessionDeleted'],
  ],
  [
    'a block by the user',
    async () => {
      const { client } = await aLoggedInUser(target);
      return () => client.patch('/account/status');
    },
    ['sessionDeleted'],
  ],
  [
    'a deleted account',
    async () => {
      const { client } = await aLoggedInUser(target);
      return () => client.delete('/account');
    },
    ['sessionDeleted'],
  ],
];
for (const [name, prepare, expected] of sessions) {
  test(`${name}: ${expected.join(', ')}`, async () => {
    let act = async (): Promise<unknown> => undefined;
    await heard(async () => {
      act = await prepare();
    });
    assert.deepEqual(await heard(() => act()), expected);
    for (const { body } of receiver.calls.slice(-expected.length)) {
      const { data } = bodyOf({ body }) as { data: { secret: string; userId: string } };
      assert.equal(data.secret, '');
      assert.ok(data.userId);
    }
  });
}

test('what happens in a project is told to its own webhooks, under its own numbers', async () => {
  const abroad = await startReceiver();
  const project = target.neighbour.id;
  await aWebhook((await aServerKey(target, { projectId: project })).client, abroad.origin);
  const before = receiver.calls.length;
  await aLoggedInUser(target, {}, { project });
  await aLoggedInUser(target);
  await called(receiver, before + 1);
  const [call, ...more] = await called(abroad, 1);
  assert.deepEqual(more, []);
  const { projectId, sequence } = bodyOf(call ?? { body: Buffer.from('{}') });
  assert.deepEqual([projectId, sequence], [project, 1]);
});

test('documents by REST and GraphQL', async () => {
  const { collection } = await aBackend(target);
  const some = await collection({ permissions: ['read("any")'], attributes: { n: { type: 'integer' } } });
  for (const calls of [restCalls(some), graphqlCalls(some)]) {
    const steps: [string, () => Promise<unknown>][] = [
      ['documentCreated', () => calls.create(key, 'one', { n: 1 })],
      ['documentUpdated', () => calls.update(key, 'one', { n: 2 })],
      ['documentDeleted', () => calls.delete(key, 'one')],
    ];
    for (const [event, act] of steps) {
      assert.deepEqual(await heard(act), [event]);
      const { data } = bodyOf(receiver.calls.at(-1) ?? { body: Buffer.from('{}') });
      const { $id, n, $collectionId } = data as Record<string, unknown>;
      assert.deepEqual([$id, n, $collectionId], ['one', event === 'documentCreated' ? 1 : 2, some.id]);
    }
  }
  const exact = '{"documentId":"big","data":{"n":9223372036854775807}}';
  await heard(() => key.post(some.documents, exact));
  assert.ok(receiver.calls.at(-1)?.body.toString().includes('"n":9223372036854775807'));
});

test('in the end everybody has had what they asked for, once, numbered without gaps', async () => {
  const events = await rowsOf(target, 'events', target.project.id);
  const numbers = receiver.calls.map((call) => Number(bodyOf(call).sequence)).sort((a, b) => a - b);
  assert.deepEqual(
    numbers,
    events.map((_, index) => index + 1),
  );
  const seen = receiver.calls.map((call) => bodyOf(call).id).sort();
  assert.deepEqual(seen, events.map(({ id }) => id).sort());
  const deletions = events.filter(({ type }) => String(type).endsWith('Deleted'));
  await called(picky, deletions.length);
  assert.deepEqual(typesOf(picky.calls), deletions.map(({ type }) => String(type)).sort());
  assert.deepEqual([deaf.calls, foreign.calls], [[], []]);
});
