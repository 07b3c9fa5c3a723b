// The protocol of the socket: messages, channels and names, rights at the moment of sending, limits and ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { realtimeLimits } from '#src/contract/limits.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { aBackend, type TestCollection } from '../documents/setup.js';
import { aLoggedInUser, aServerKey, type LoggedInUser, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { asOperator } from '../harness/project.js';
import { eventually } from '../webhooks/setup.js';
import { openSocket, subscribed, type TestSocket } from './client.js';

const target = await startAppliance({
  settings: { SVC_REALTIME_SOCKETS_PER_USER: '3', SVC_REALTIME_SOCKETS_PER_PROJECT: '100' },
});
const { key, collection } = await aBackend(target);
const attributes = { n: { type: 'integer' }, text: { type: 'string', size: 100 } };
const asUser = ({ secret }: Pick<LoggedInUser, 'secret'>) => ({ 'X-Service-Session': secret });
const create = async ({ documents }: TestCollection, documentId: string, data = {}, permissions?: string[]) => {
  (await key.post(documents, { documentId, data, ...(permissions && { permissions }) })).expect(201);
};
/** The id of the user whose the socket is, by its first message. */
const userOf = ({ messages: [first] }: TestSocket) =>
  ((first?.data ?? {}) as { user?: { $id: string } | null }).user?.$id ?? null;
const errorOf = ({ messages }: TestSocket) => messages.filter(({ type }) => type === 'error').at(-1)?.data;

test('a document is sent under 16 channels and 42 names, with the id of the feed', async () => {
  const some = await collection({ attributes, permissions: ['read("any")'] });
  const { databaseId, id } = some;
  const socket = await subscribed(target, ['documents']);
  await create(some, 'one', { n: 1 });
  const [told] = await socket.told(1);
  assert.equal(told?.channels.length, 16);
  assert.equal(new Set(told?.events).size, 42);
  const document = `databases.${databaseId}.collections.${id}.documents`;
  for (const channel of [
    'documents',
    'rows',
    'documents.create',
    document,
    `${document}.one`,
    `${document}.one.create`,
  ])
    assert.ok(told?.channels.includes(channel), channel);
  for (const name of [`${document}.one.create`, 'databases.*.tables.*.rows.*.create', `databases.${databaseId}`])
    assert.ok(told?.events.includes(name), name);
  const read = (await key.get(`${some.documents}/one`)).expect(200);
  assert.deepEqual(told?.payload, read.body);
  assert.deepEqual(told?.subscriptions, ['all']);
  const { client } = await aServerKey(target, { scopes: ['events.read'] });
  const feed = (await client.get(`/events?cursor=${Number(told?.sequence) - 1}`)).expect(200).list('events');
  assert.deepEqual([feed[0]?.id, feed[0]?.timestamp], [told?.id, told?.timestamp]);
  (await key.delete(`${some.documents}/one`)).expect(204);
  const deleted = (await socket.told(2))[1];
  assert.equal(deleted?.payload.n, 1);
});

test('one message names every matching subscription; a repeated id replaces, and an ended one gets nothing', async () => {
  const some = await collection({ attributes, permissions: ['read("any")'] });
  const { path } = some;
  const channel = `${path.slice(1).replaceAll('/', '.')}.documents`;
  const socket = await subscribed(target, [channel]);
  const subscriptions = [
    { subscriptionId: 'one', channels: [`${channel}.one`] },
    { subscriptionId: 'deleted', channels: [`${channel}.delete`] },
    { subscriptionId: 'high', channels: ['rows'], queries: ['{"method":"greaterThan","attribute":"n","values":[5]}'] },
  ];
  const { data } = (await socket.ask('subscribe', subscriptions)) as {
    data: { subscriptions: { subscriptionId: string }[] };
  };
  assert.deepEqual(
    data.subscriptions.map(({ subscriptionId }) => subscriptionId),
    ['one', 'deleted', 'high'],
  );
  await create(some, 'one', { n: 1 });
  await create(some, 'two', { n: 6 });
  (await key.delete(`${some.documents}/two`)).expect(204);
  const sets = (await socket.told(3)).map(({ subscriptions: names }) => [...names].sort());
  assert.deepEqual(sets, [
    ['all', 'one'],
    ['all', 'high'],
    ['all', 'deleted', 'high'],
  ]);
  await socket.ask('unsubscribe', [{ subscriptionId: 'high' }, { subscriptionId: 'nobody' }]);
  await socket.ask('subscribe', [{ subscriptionId: 'all', channels: ['files'] }]);
  await create(some, 'three', { n: 9 });
  (await key.patch(`${some.documents}/one`, { data: { n: 2 } })).expect(200);
  const [, , , last] = await socket.told(4);
  assert.deepEqual([last?.payload.$id, last?.subscriptions], ['one', ['one']]);
});

const queries: [string, unknown[], string[]][] = [
  ['equal of several', [{ method: 'equal', attribute: 'n', values: [1, 3] }], ['d1', 'd3']],
  ['notEqual', [{ method: 'notEqual', attribute: 'n', values: [1] }], ['d2', 'd3', 'dnull']],
  [
    'two, which both have to fit',
    [
      { method: 'lessThan', attribute: 'n', values: [3] },
      { method: 'greaterThanEqual', attribute: 'n', values: [2] },
    ],
    ['d2'],
  ],
  ['isNull', [{ method: 'isNull', attribute: 'n', values: [] }], ['dnull']],
  [
    'or',
    [
      {
        method: 'or',
        values: [
          { method: 'equal', attribute: '$id', values: ['d1'] },
          { method: 'isNull', attribute: 'n' },
        ],
      },
    ],
    ['d1', 'dnull'],
  ],
  ['select of all', [{ method: 'select', values: ['*'] }], ['d1', 'd2', 'd3', 'dnull']],
];
for (const [name, given, expected] of queries) {
  test(`queries of a subscription: ${name}`, async () => {
    const some = await collection({ attributes, permissions: ['read("any")'] });
    const texts = given.map((one) => JSON.stringify(one));
    const socket = await subscribed(target, [`${some.path.slice(1).replaceAll('/', '.')}.documents`], {}, texts);
    for (const n of [1, 2, 3, null]) await create(some, `d${n}`, { n });
    await socket.told(expected.length);
    assert.deepEqual(
      socket.events().map(({ payload }) => payload.$id),
      expected,
    );
  });
}

test('messages that are not valid are refused, nothing of them holds, and the socket stays', async () => {
  const socket = await subscribed(target, ['documents']);
  const wrong: [string, unknown][] = [
    ['nothing', undefined],
    ['constructor', undefined],
    ['subscribe', { channels: ['documents'] }],
    ['subscribe', [{ channels: ['documents', 'executions'] }]],
    ['subscribe', [{ channels: ['databases.*.collections.*.documents'] }]],
    [
      'subscribe',
      [
        { subscriptionId: 'good', channels: ['documents'] },
        { subscriptionId: 'bad', channels: [] },
      ],
    ],
    ['subscribe', [{ channels: ['documents'], queries: ['{"method":"search","attribute":"n","values":["x"]}'] }]],
    ['subscribe', [{ channels: ['documents'], queries: ['no json'] }]],
    ['subscribe', Array.from({ length: 101 }, () => ({ channels: ['documents'] }))],
    ['subscribe', [{ channels: Array.from({ length: 500 }, (_, at) => `c${at}`) }]],
    ['unsubscribe', 'all'],
    ['authentication', {}],
    ['authentication', { session: 'ss_wrong' }],
  ];
  for (const [type, data] of wrong) {
    const { type: answer, data: error } = await socket.ask(type, data);
    assert.deepEqual(
      [answer, (error as { code: number }).code],
      ['error', 1003],
      JSON.stringify([type, data]).slice(0, 200),
    );
  }
  socket.socket.send('{');
  await eventually(() => assert.match(JSON.stringify(errorOf(socket)), /JSON object/));
  assert.equal((await socket.ask('ping')).type, 'pong');
  const some = await collection({ attributes, permissions: ['read("any")'] });
  await create(some, 'one');
  assert.deepEqual((await socket.told(1))[0]?.subscriptions, ['all']);
});

test('a caller without the right to read an event at that moment does not get it', async () => {
  const [ada, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const own = await collection({ attributes, documentSecurity: true });
  const sockets = await Promise.all(
    [asUser(ada), asUser(bob), {}].map((headers) => subscribed(target, ['documents'], headers)),
  );
  const [forAda, , forGuest] = sockets;
  await create(own, 'adas', {}, [`read("user:${ada.id}")`]);
  await create(own, 'users', {}, ['read("users")']);
  await create(own, 'guests', {}, ['read("guests")']);
  await create(own, 'label', {}, ['read("label:vip")']);
  await forAda?.told(2);
  (await key.put(`/users/${bob.id}/labels`, { labels: ['vip'] })).expect(200);
  await create(own, 'label2', {}, ['read("label:vip")']);
  // Whether the first document with the label was sent before the user had it is a matter of milliseconds.
  const seen = () =>
    sockets.map((socket) => socket.events().flatMap(({ payload: { $id } }) => ($id === 'label' ? [] : [$id])));
  await eventually(() => assert.deepEqual(seen(), [['adas', 'users'], ['users', 'label2'], ['guests']]));
  assert.doesNotMatch(JSON.stringify(forGuest?.messages), /adas/);
});

test('sockets are told of an event without another one, although it could not be read at first', async () => {
  const some = await collection({ attributes, permissions: ['read("any")'] });
  const socket = await subscribed(target, ['documents']);
  const { db } = target.appliance.runtime;
  const { lists } = db;
  let failed = 0;
  db.lists = () => {
    failed += 1;
    throw new DatabaseError('timeout', 'test');
  };
  try {
    await create(some, 'late');
    await eventually(() => assert.ok(failed > 0));
  } finally {
    db.lists = lists;
  }
  assert.equal((await socket.told(1))[0]?.payload.$id, 'late');
});

test('a team that a user joins and leaves', async () => {
  const ada = await aLoggedInUser(target);
  const own = await collection({ attributes, documentSecurity: true });
  const socket = await subscribed(target, ['documents', 'teams', 'memberships', 'account'], asUser(ada));
  (await key.post('/teams', { teamId: 'told', name: 'Told' })).expect(201);
  const teams = ['read("team:told/mate")'];
  await create(own, 'before', {}, teams);
  const member = (await key.post('/teams/told/memberships', { userId: ada.id, roles: ['mate'] }))
    .expect(201)
    .string('$id');
  await create(own, 'within', {}, teams);
  (await key.delete(`/teams/told/memberships/${member}`)).expect(204);
  await create(own, 'after', {}, teams);
  (await ada.client.patch('/account/name', { name: 'Ada' })).expect(200);
  await eventually(() =>
    assert.ok(socket.events().some(({ events: [name] }) => name === `users.${ada.id}.update.name`)),
  );
  const told = socket.events().map(({ events: [name] }) => name?.replace(/.*\.documents/, 'documents'));
  // Rights count at the moment of sending: when the user has joined and left is a matter of milliseconds.
  const open = [
    'teams.told.create',
    'documents.before.create',
    'documents.within.create',
    `teams.told.memberships.${member}.create`,
  ];
  const certain = told.filter((name) => !open.includes(name ?? ''));
  assert.deepEqual(certain, [`teams.told.memberships.${member}.delete`, `users.${ada.id}.update.name`]);
  assert.deepEqual(socket.events().at(-1)?.channels, ['account', `account.${ada.id}`]);
});

test('the names of a change of an account or a team name the changed member', async () => {
  const ada = await aLoggedInUser(target);
  (await ada.client.post('/teams', { teamId: 'named', name: 'Named' })).expect(201);
  const socket = await subscribed(target, ['account', 'teams'], asUser(ada));
  const password = 'another long password';
  const changes: [client: Client, method: 'patch' | 'put', path: string, body: object, named: string[]][] = [
    [ada.client, 'patch', '/account/name', { name: 'Ada' }, ['name']],
    [ada.client, 'patch', '/account/prefs', { prefs: { a: 1 } }, ['prefs']],
    [ada.client, 'patch', '/account/email', { email: `new-${ada.email}`, password: ada.password }, ['email']],
    [key, 'patch', `/users/${ada.id}/phone`, { number: '+4917012345' }, ['phone']],
    [key, 'patch', `/users/${ada.id}/mfa`, { mfa: true }, ['mfa']],
    [key, 'patch', `/users/${ada.id}/mfa`, { mfa: false }, ['mfa']],
    [key, 'put', `/users/${ada.id}/labels`, { labels: ['one'] }, []],
    [ada.client, 'put', '/teams/named/prefs', { prefs: { a: 1 } }, ['prefs']],
    [ada.client, 'put', '/teams/named', { name: 'Other' }, []],
    [ada.client, 'patch', '/account/password', { password, oldPassword: ada.password }, ['password']],
  ];
  for (const [client, method, path, body] of changes) (await client[method](path, body)).expect(200);
  const told = await socket.told(changes.length);
  const of = (id: string) => (id === ada.id ? 'users' : 'teams');
  for (const [at, [, , path, , named]] of changes.entries()) {
    const { events = [], payload } = told[at] ?? {};
    const id = String(payload?.$id);
    const own = [id, '*'].map((one) => `${of(id)}.${one}`);
    const updates = own.map((name) => `${name}.update`);
    const all = [...named.flatMap((one) => updates.map((name) => `${name}.${one}`)), ...updates, ...own];
    assert.deepEqual(events, all, path);
  }
});

test('a session in a message makes the socket its user’s', async () => {
  const ada = await aLoggedInUser(target);
  const socket = await subscribed(target, ['account']);
  assert.equal(userOf(socket), null);
  const { data } = await socket.ask('authentication', { session: ada.secret });
  const { to, success, user } = data as { to: string; success: boolean; user: { $id: string } };
  assert.deepEqual([to, success, user.$id], ['authentication', true, ada.id]);
  (await ada.client.patch('/account/name', { name: 'Ada' })).expect(200);
  await socket.told(1);
});

const revocations: [string, (user: LoggedInUser) => Promise<unknown>][] = [
  ['a logout', ({ client }) => client.delete('/account/sessions/current')],
  ['a block', ({ id }) => asOperator(target, id, 'block')],
  ['a deletion', ({ client }) => client.delete('/account')],
  ['a new password', (user) => user.client.with({ session: user.secret }).delete('/account/sessions')],
];
for (const [name, revoke] of revocations) {
  test(`after ${name} the socket closes within a second, and gets nothing more`, async () => {
    const ada = await aLoggedInUser(target);
    const some = await collection({ attributes, permissions: ['read("users")'] });
    const socket = await subscribed(target, ['documents', 'account'], asUser(ada));
    await revoke(ada);
    const started = performance.now();
    await create(some, 'unseen');
    assert.equal(await socket.closed, 1008);
    assert.ok(performance.now() - started < 3000);
    assert.deepEqual(
      socket.events().filter(({ payload }) => payload.$id === 'unseen'),
      [],
    );
    assert.equal((errorOf(socket) as { code: number }).code, 1008);
  });
}

test('the socket of a JWT ends with it', async () => {
  const ada = await aLoggedInUser(target);
  const jwt = (await ada.client.post('/account/jwts', { duration: 60 })).expect(201).string('jwt');
  const socket = await openSocket(target, { query: `?project=${target.project.id}&jwt=${jwt}` });
  assert.equal(userOf(socket), ada.id);
  target.clock.advance(61_000);
  await socket.ask('subscribe', [{ channels: ['account'] }]);
  (await ada.client.patch('/account/name', { name: 'Ada' })).expect(200);
  assert.equal(await socket.closed, 1008);
});

test('a JWT that ends right after an event closes its socket within a second', async () => {
  const ada = await aLoggedInUser(target);
  const some = await collection({ attributes, permissions: ['read("users")'] });
  /** For how long the socket was open after the end of its JWT. */
  const outlived = async (id: string): Promise<number> => {
    const jwt = (await ada.client.post('/account/jwts', { duration: 60 })).expect(201).string('jwt');
    const socket = await openSocket(target, { query: `?project=${target.project.id}&jwt=${jwt}` });
    await socket.ask('subscribe', [{ channels: ['documents'] }]);
    target.clock.advance(58_000);
    await create(some, id);
    await socket.told(1);
    target.clock.advance(2000);
    const ended = performance.now();
    assert.equal(await socket.closed, 1008);
    return performance.now() - ended;
  };
  const times: number[] = [];
  // On a slow machine a second may take longer.
  while (times.length < 4 && !times.some((time) => time < 3000)) times.push(await outlived(`told${times.length}`));
  assert.ok(Math.min(...times) < 3000, String(times));
});

test('clients that leave while they log in take no place of the user', async () => {
  const ada = await aLoggedInUser(target);
  for (let at = 0; at < 12; at++) {
    const leaving = await openSocket(target);
    leaving.send('authentication', { session: ada.secret });
    leaving.socket.terminate();
    await leaving.closed;
  }
  await eventually(async () => {
    const socket = await openSocket(target, { headers: asUser(ada) });
    socket.socket.close();
    assert.equal(userOf(socket), ada.id, JSON.stringify(socket.messages));
  });
});

test('a caller who may not open a socket gets the reason, and the socket is closed', async () => {
  const ada = await aLoggedInUser(target);
  const wrong: [string, { query?: string; headers?: Record<string, string> }][] = [
    ['no project', { query: '' }],
    ['an unknown project', { query: '?project=nobody' }],
    ['a wrong JWT', { query: `?project=${target.project.id}&jwt=a.b.c` }],
    ['a foreign origin', { headers: { Origin: 'https://evil.example' } }],
    ['a server key', { headers: { 'X-Service-Key': (await aServerKey(target)).secret } }],
    ['a JWT beside a session', { query: `?project=${target.project.id}&jwt=a.b.c`, headers: asUser(ada) }],
  ];
  for (const [name, given] of wrong) {
    const socket = await openSocket(target, given);
    assert.equal(await socket.closed, 1008, name);
    assert.deepEqual(
      socket.messages.map(({ type }) => type),
      ['error'],
      name,
    );
    assert.equal((errorOf(socket) as { code: number }).code, 1008, name);
  }
  const own = await openSocket(target, { headers: { Origin: 'http://localhost:3000' } });
  assert.equal(own.messages[0]?.type, 'connected');
});

test('a login that lacks its second factor has no rights on a socket', async () => {
  const { client } = await aServerKey(target);
  assert.ok(client);
  const ada = await aLoggedInUser(target);
  const { secret: seed } = (await ada.client.post('/account/mfa/authenticators/totp')).expect(200).body;
  const { TOTP, Secret } = await import('otpauth');
  const otp = new TOTP({ secret: Secret.fromBase32(String(seed)) }).generate({ timestamp: target.clock.now() });
  (await ada.client.put('/account/mfa/authenticators/totp', { otp })).expect(200);
  (await ada.client.patch('/account/mfa', { mfa: true })).expect(200);
  const answer = await createClient(target).post('/account/sessions/email', {
    email: ada.email,
    password: ada.password,
  });
  const { secret } = answer.refused(401, 'user_more_factors_required').body.pendingSession as { secret: string };
  const socket = await openSocket(target, { headers: { 'X-Service-Session': secret } });
  assert.equal(userOf(socket), null);
  const { type } = await socket.ask('authentication', { session: secret });
  assert.equal(type, 'error');
});

test('one socket too many of a user, messages that are too large or too many, and bytes instead of text', async () => {
  const ada = await aLoggedInUser(target);
  for (let at = 0; at < 3; at += 1)
    assert.equal((await openSocket(target, { headers: asUser(ada) })).messages[0]?.type, 'connected');
  const fourth = await openSocket(target, { headers: asUser(await logIn(target, ada)) });
  assert.equal(await fourth.closed, 1013);
  const large = await openSocket(target);
  large.socket.send('x'.repeat(realtimeLimits.frameBytes + 1));
  assert.equal(await large.closed, 1009);
  const bytes = await openSocket(target);
  bytes.socket.send(Buffer.from([1, 2]));
  assert.equal(await bytes.closed, 1003);
  const many = await openSocket(target);
  for (let at = 0; at < 200; at += 1) many.send('ping');
  assert.equal(await many.closed, 1008);
});

test('the sockets of one project leave room for those of others', async () => {
  const project = target.neighbour.id;
  const ofNeighbour = () => openSocket(target, { query: `?project=${project}` });
  const open = await Promise.all(Array.from({ length: 100 }, ofNeighbour));
  const further = await ofNeighbour();
  assert.equal(further.messages[0]?.type, 'error');
  assert.equal(await further.closed, 1013);
  assert.equal((await openSocket(target)).messages[0]?.type, 'connected');
  open[0]?.socket.close();
  await open[0]?.closed;
  await eventually(async () => assert.equal((await ofNeighbour()).messages[0]?.type, 'connected'));
  for (const { socket } of open) socket.close();
});

test('a client that does not read is cut off, and others get everything', async () => {
  const some = await collection({
    attributes: { text: { type: 'string', size: 200_000 } },
    permissions: ['read("any")'],
  });
  const channel = `${some.path.slice(1).replaceAll('/', '.')}.documents`;
  const cutOff = async () => {
    const { text } = await createClient(target).get('//metrics');
    const counts = text.matchAll(/svc_realtime_closed_total\{code="(?:1013|1006)"\} (\d+)/g);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const before = await cutOff();
  const slow = await subscribed(target, [channel]);
  const quick = await subscribed(target, [channel]);
  slow.socket.pause();
  for (let at = 0; at < 60; at += 1) await create(some, `d${at}`, { text: 'x'.repeat(150_000) });
  await quick.told(60);
  await eventually(async () => assert.equal(await cutOff(), before + 1));
  slow.socket.resume();
  await slow.closed;
  assert.ok(slow.events().length < 60);
});

test('a bulk request of several megabytes reaches a client that reads', async () => {
  const some = await collection({
    attributes: { text: { type: 'string', size: 200_000 } },
    permissions: ['read("any")'],
  });
  const reader = await subscribed(target, [`${some.path.slice(1).replaceAll('/', '.')}.documents`]);
  const documents = Array.from({ length: 30 }, (_, at) => ({ $id: `d${at}`, text: 'x'.repeat(100_000) }));
  assert.ok(30 * 100_000 > 2 * realtimeLimits.bufferedBytes);
  (await key.post(some.documents, { documents })).expect(201);
  await reader.told(30);
});

test('a request that asks for another protocol is answered as without, and a wrong handshake by an error', async () => {
  const upgrade = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABkAAQAAP__' };
  const { request } = await import('node:http');
  const send = (method: string, path: string, headers: Record<string, string>, body = '') =>
    new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const asked = request(`${target.origin}${path}`, { method, headers }, (response) => {
        let text = '';
        response.on('data', (part) => {
          text += part;
        });
        response.on('end', () => resolve({ status: response.statusCode, text }));
      });
      asked.on('error', reject);
      asked.end(body);
    });
  assert.deepEqual(await send('GET', '/v1/ping', { ...upgrade, 'X-Service-Project': target.project.id }), {
    status: 200,
    text: 'Pong!',
  });
  const { email, password } = await aLoggedInUser(target);
  const body = JSON.stringify({ email, password });
  const json = {
    'Content-Type': 'application/json',
    'Content-Length': String(body.length),
    'X-Service-Project': target.project.id,
  };
  assert.equal((await send('POST', '/v1/account/sessions/email', { ...upgrade, ...json }, body)).status, 201);
  const handshake = { Connection: 'Upgrade', Upgrade: 'websocket' };
  assert.equal((await send('GET', '/v1/nothing', handshake)).status, 404);
  assert.equal((await send('GET', '/v1/realtime', handshake)).status, 400);
});

test('a second process sends the changes of the first; both close their sockets at TERM', async () => {
  const sibling = await target.startSibling();
  const some = await collection({ attributes, permissions: ['read("any")'] });
  const socket = await subscribed(sibling, ['documents']);
  await create(some, 'one');
  await create(some, 'two');
  await socket.told(2);
  await sleep(100);
  await sibling.drain();
  assert.equal(await socket.closed, 1001);
});

test('the sockets of a project end with it', async () => {
  const socket = await openSocket(target, { query: `?project=${target.neighbour.id}` });
  const { features } = target.appliance;
  const by = { projectId: target.neighbour.id, actor: { kind: 'operator', id: 'test' }, requestId: '' };
  await features.projects.remove(by, target.neighbour.id);
  assert.equal(await socket.closed, 1008);
});
