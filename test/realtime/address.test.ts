// Channels in the address of the socket, as clients of Appwrite 1.6 to 1.9 name them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aBackend } from '../documents/setup.js';
import { numbered } from '../feed/sse.js';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { eventually } from '../webhooks/setup.js';
import { openSocket, type TestSocket } from './client.js';

const target = await startAppliance();
const { key, collection } = await aBackend(target);
const some = await collection({ attributes: { n: { type: 'integer' } }, permissions: ['read("any")'] });
const documents = `databases.${some.databaseId}.collections.${some.id}.documents`;
const project = `?project=${target.project.id}`;
const create = async (n: number) =>
  (await key.post(some.documents, { documentId: 'unique()', data: { n } })).expect(201);
const open = async (query: string, headers: Record<string, string> = {}) => {
  await numbered(target);
  return openSocket(target, { query: project + query, headers });
};

interface Greeting {
  readonly channels: readonly string[];
  readonly user: { readonly $id: string } | null;
}
const greeting = ({ messages }: TestSocket) => (messages[0] as unknown as { data: Greeting }).data;

test('the channels of the address are subscribed when the socket is connected', async () => {
  for (const query of [
    `&channels[]=${documents}&channels[]=account`,
    `&channels%5B%5D=${documents}&channels%5B%5D=account`,
    `&channels[0]=${documents}&channels[1]=account`,
  ]) {
    const socket = await open(query);
    const { type, data } = socket.messages[0] as { type: string; data: Record<string, unknown> };
    assert.deepEqual([type, data.channels, data.user], ['connected', [documents, 'account'], null]);
    await create(1);
    const [event] = await socket.told(1);
    assert.ok(event?.events.includes(`databases.${some.databaseId}.collections.${some.id}.documents.*.create`));
    assert.deepEqual([event?.channels.includes(documents), event?.payload.n], [true, 1]);
    assert.ok(Date.parse(String(event?.timestamp)) > 0);
    assert.deepEqual(event?.subscriptions, Object.values(data.subscriptions as object));
  }
});

test('queries belong to the slot that names them, and `connected` says which subscription has which slot', async () => {
  const query = (text: object) => encodeURIComponent(JSON.stringify(text));
  const all = query({ method: 'select', values: ['*'] });
  const two = query({ method: 'equal', attribute: 'n', values: [2] });
  const socket = await open(`&channels[]=${documents}&${documents}[0][]=${all}&${documents}[3][]=${two}`);
  const { data } = socket.messages[0] as { data: { subscriptions: Record<string, string>; channels: string[] } };
  assert.deepEqual([Object.keys(data.subscriptions), data.channels], [['0', '3'], [documents]]);
  await create(1);
  await create(2);
  const [one, both] = await socket.told(2);
  assert.deepEqual(one?.subscriptions, [data.subscriptions[0]]);
  assert.deepEqual(both?.subscriptions, Object.values(data.subscriptions));
});

test('what cannot be subscribed is an error, and the rest holds', async () => {
  const wrong = encodeURIComponent(JSON.stringify({ method: 'search', attribute: 'n', values: ['x'] }));
  for (const [query, message] of [
    ['&channels[]=executions', /no such channel: "executions"/],
    ['&channels[]=', /no such channel: ""/],
    ['&channels[]=databases.*.collections.*.documents', /no such channel/],
    [`&channels[]=files&files[1][]=${wrong}`, /search cannot be used here/],
    [`&channels[]=files&files[1][]=nonsense`, /each query must be/],
  ] as const) {
    const socket = await open(`&channels[]=${documents}${query}`);
    const error = await eventually(() => {
      const found = socket.messages.find(({ type }) => type === 'error');
      assert.ok(found);
      return found.data as { code: number; message: string };
    });
    assert.equal(error.code, 1003);
    assert.match(error.message, message);
    assert.deepEqual(greeting(socket).channels, [documents]);
    await create(1);
    await socket.told(1);
  }
});

test('the own account is a channel with the id too, by cookie and by message', async () => {
  const user = await aLoggedInUser(target);
  const cookie = { Cookie: `svc_${target.project.id}=${user.secret}` };
  const byCookie = await open('&channels[]=account', cookie);
  const { channels, user: shown } = greeting(byCookie);
  assert.deepEqual([channels, shown?.$id], [['account', `account.${user.id}`], user.id]);
  const byMessage = await open('&channels[]=account');
  const answer = await byMessage.ask('authentication', { session: user.secret });
  const { to, success } = answer.data as { to: string; success: boolean };
  assert.deepEqual([answer.type, to, success], ['response', 'authentication', true]);
  const { data } = await byMessage.ask('subscribe', [{ channels: ['account'] }]);
  const [own] = (data as { subscriptions: { channels: string[] }[] }).subscriptions;
  assert.deepEqual(own?.channels, ['account', `account.${user.id}`]);
  (await user.client.patch('/account/name', { name: 'Ada' })).expect(200);
  for (const socket of [byCookie, byMessage]) {
    const [event] = await socket.told(1);
    assert.deepEqual(event?.channels, ['account', `account.${user.id}`]);
  }
});
