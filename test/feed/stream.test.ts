// Server-sent events: what the feed has, as it happens, for server keys all of it and for users what they may read at that moment.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { aBackend, type TestCollection } from '../documents/setup.js';
import { aLoggedInUser, aServerKey, type LoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { rowsOf, runSql } from '../harness/database.js';
import { asOperator, changeSettings } from '../harness/project.js';
import { openSocket } from '../harness/socket.js';
import { eventually } from '../webhooks/setup.js';
import { numbered, openStream } from './sse.js';

const target = await startAppliance();
const project = { 'X-Service-Project': target.project.id };
const feedKey = await aServerKey(target, { scopes: ['events.read'] });
const ofKey = { ...project, 'X-Service-Key': feedKey.secret };
const ofUser = ({ secret }: LoggedInUser) => ({ ...project, 'X-Service-Session': secret });
const idsOf = (events: readonly { readonly data: Record<string, unknown> }[]) =>
  events.map(({ data }) => `${data.type} ${(data.data as { $id: string }).$id}`);

const { key, collection } = await aBackend(target);
const attributes = { n: { type: 'integer' } };
const create = async ({ documents }: TestCollection, documentId: string, permissions?: string[], by: Client = key) => {
  (await by.post(documents, { documentId, data: { n: 1 }, ...(permissions && { permissions }) })).expect(201);
};

test('a server key gets all events of the feed, and resumes after its last id', async () => {
  const some = await collection({ attributes });
  const stream = await openStream(target, ofKey);
  await create(some, 'one');
  await create(some, 'two');
  const [first, second] = await stream.arrived(2);
  assert.deepEqual(idsOf(stream.events), ['documentCreated one', 'documentCreated two']);
  assert.ok(stream.comments() > 0);
  stream.close();
  await create(some, 'three');
  const { client } = feedKey;
  const feed = (await client.get(`/events?cursor=${Number(first?.data.sequence) - 1}`)).expect(200).list('events');
  assert.deepEqual(
    feed.slice(0, 2),
    [first, second].map((one) => one?.data),
  );
  for (const [headers, query] of [
    [{ 'Last-Event-ID': String(first?.id) }, ''],
    [{}, `?lastEventId=${first?.id}`],
  ] as const) {
    const again = await openStream(target, { ...ofKey, ...headers }, query);
    await again.arrived(2);
    assert.deepEqual(idsOf(again.events), ['documentCreated two', 'documentCreated three']);
    again.close();
  }
  const filtered = await openStream(target, ofKey, `?cursor=0&types=documentCreated&resource=${some.path.slice(1)}`);
  await filtered.arrived(3);
  const unknown = { ...ofKey, Accept: 'text/event-stream', 'Last-Event-ID': 'nobody' };
  (await createClient(target).get('/events', unknown)).refused(404, 'event_not_found');
});

test('streams asked for ahead on one connection keep no places when it is closed', async () => {
  const { secret } = await aServerKey(target, { scopes: ['events.read'] });
  const head = `X-Service-Project: ${target.project.id}\r\nX-Service-Key: ${secret}\r\nAccept: text/event-stream`;
  for (let round = 0; round < 3; round++) {
    const socket = await openSocket(target);
    socket.write(`GET /v1/events HTTP/1.1\r\nHost: localhost\r\n${head}\r\n\r\n`.repeat(50));
    await once(socket, 'data');
    socket.destroy();
  }
  await eventually(async () => {
    const streams = await Promise.all(
      Array.from({ length: 50 }, () => openStream(target, { ...project, 'X-Service-Key': secret })),
    );
    for (const stream of streams) stream.close();
  });
});

test('a stream that is lost before its first event resumes at its beginning', async () => {
  const some = await collection({ attributes });
  const aborted = new AbortController();
  const lost = await fetch(`${target.origin}/v1/events`, {
    headers: { Accept: 'text/event-stream', ...ofKey },
    signal: aborted.signal,
  });
  const { value } = (await lost.body?.getReader().read()) ?? {};
  const [, id = ''] = /^: connected\nid: (\d+)\n\n$/.exec(new TextDecoder().decode(value)) ?? [];
  assert.notEqual(id, '');
  aborted.abort();
  await create(some, 'meanwhile');
  const stream = await openStream(target, { ...ofKey, 'Last-Event-ID': id });
  await eventually(async () => assert.ok(idsOf(stream.events).includes('documentCreated meanwhile')));
  stream.close();
});

test('a stream that cannot go on at a number is refused before it is open', async () => {
  const some = await collection({ attributes });
  await create(some, 'first');
  await numbered(target);
  const begin = (query: string, headers = {}) =>
    fetch(`${target.origin}/v1/events${query}`, { headers: { Accept: 'text/event-stream', ...ofKey, ...headers } });
  const refused = async (opened: Promise<Response>) => {
    const answer = await opened;
    const { type } = answer.status === 200 ? { type: 'opened' } : ((await answer.json()) as { type: string });
    if (answer.status === 200) await answer.body?.cancel();
    return `${answer.status} ${type}`;
  };
  assert.equal(await refused(begin('?cursor=999999')), '400 general_cursor_not_found');
  assert.equal(await refused(begin('', { 'Last-Event-ID': '999999' })), '404 event_not_found');
  assert.equal(await refused(begin('?lastEventId=9999999999999999')), '404 event_not_found');
  await runSql(target, 'delete from events where project_id = ? and sequence < 3', [target.project.id]);
  assert.equal(await refused(begin('?cursor=1')), '400 general_cursor_not_found');
  assert.equal(await refused(begin('', { 'Last-Event-ID': '1' })), '404 event_not_found');
  (await openStream(target, { ...ofKey, 'Last-Event-ID': '2' })).close();
});

test('a reader of a collection or bucket reads nothing of an earlier one with the same id', async () => {
  const ada = await aLoggedInUser(target);
  const { secret } = await aServerKey(target);
  const stream = await openStream(target, ofKey);
  const readable = ['read("users")'];
  (await key.post('/databases', { databaseId: 'again', name: 'again' })).expect(201);
  const make = async (permissions: readonly string[], documentSecurity = false) => {
    const body = { collectionId: 'c', name: 'c', permissions, documentSecurity };
    (await key.post('/databases/again/collections', body)).expect(201);
    const bucket = { bucketId: 'b', name: 'b', permissions, fileSecurity: documentSecurity };
    (await key.post('/storage/buckets', bucket)).expect(201);
  };
  const fill = async (id: string, permissions: readonly string[] = []) => {
    (await key.post('/databases/again/collections/c/documents', { documentId: id, data: {}, permissions })).expect(201);
    const form = new FormData();
    form.append('fileId', id);
    for (const one of permissions) form.append('permissions[]', one);
    form.append('file', new Blob(['x']), 'x.txt');
    const answer = await fetch(`${target.origin}/v1/storage/buckets/b/files`, {
      method: 'POST',
      headers: { ...project, 'X-Service-Key': secret },
      body: form,
    });
    assert.equal(answer.status, 201, await answer.text());
  };
  const remove = async () => {
    (await key.delete('/databases/again/collections/c')).expect(204);
    (await key.delete('/storage/buckets/b')).expect(204);
  };
  await make([]);
  await fill('secret');
  await fill('deleted');
  (await key.delete('/databases/again/collections/c/documents/deleted')).expect(204);
  (await key.delete('/storage/buckets/b/files/deleted')).expect(204);
  await remove();
  // The last state of one that was deleted says who may read it, of its own collection only.
  await make([], true);
  await fill('gone', readable);
  (await key.delete('/databases/again/collections/c/documents/gone')).expect(204);
  (await key.delete('/storage/buckets/b/files/gone')).expect(204);
  await remove();
  await make(readable, true);
  await fill('open');
  const all = (await stream.arrived(12)).map(({ id }) => id);
  const forAda = await openStream(target, { ...ofUser(ada), 'Last-Event-ID': String(all[0]) });
  (await key.post('/databases/again/collections/c/documents', { documentId: 'last', data: {} })).expect(201);
  await eventually(() => assert.ok(idsOf(forAda.events).includes('documentCreated last')));
  assert.deepEqual(idsOf(forAda.events), ['documentCreated open', 'fileCreated open', 'documentCreated last']);
  for (const one of [stream, forAda]) one.close();
});

test('users get the documents that they may read when it is sent, of the collection or by a permission', async () => {
  const [ada, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const open = await collection({ attributes, permissions: [`read("user:${bob.id}")`] });
  const own = await collection({ attributes, documentSecurity: true, permissions: ['create("users")'] });
  const streams = await Promise.all([ada, bob].map((user) => openStream(target, ofUser(user))));
  await create(open, 'bobs');
  await create(own, 'adas', [`read("user:${ada.id}")`]);
  await create(own, 'both', ['read("users")']);
  await create(own, 'nobodys', []);
  (await key.patch(`${own.documents}/both`, { permissions: [`read("user:${bob.id}")`] })).expect(200);
  (await key.patch(`${own.documents}/both`, { data: { n: 2 } })).expect(200);
  (await key.delete(`${own.documents}/adas`)).expect(204);
  const [forAda, forBob] = streams;
  await forBob?.arrived(4);
  assert.deepEqual(idsOf(forBob?.events ?? []), [
    'documentCreated bobs',
    'documentCreated both',
    'documentUpdated both',
    'documentUpdated both',
  ]);
  // Whether the creation of `both` was sent before its permission was taken is a matter of milliseconds.
  await eventually(() =>
    assert.deepEqual(
      idsOf(forAda?.events ?? []).filter((one) => one !== 'documentCreated both'),
      ['documentCreated adas', 'documentDeleted adas'],
    ),
  );
});

test('events readable in the past are not sent later: after the permission was removed, or the document deleted without it', async () => {
  const ada = await aLoggedInUser(target);
  const own = await collection({ attributes, documentSecurity: true, permissions: [] });
  const mine = [`read("user:${ada.id}")`];
  const before = await openStream(target, ofUser(ada));
  await create(own, 'first', mine);
  const [first] = await before.arrived(1);
  before.close();
  for (const id of ['taken', 'goneTaken', 'gone', 'kept']) await create(own, id, mine);
  for (const id of ['taken', 'goneTaken']) (await key.patch(`${own.documents}/${id}`, { permissions: [] })).expect(200);
  for (const id of ['goneTaken', 'gone']) (await key.delete(`${own.documents}/${id}`)).expect(204);
  // A later document of the same id that she may read shows nothing of the earlier states that she may not.
  await create(own, 'granted', []);
  (await key.patch(`${own.documents}/granted`, { permissions: mine })).expect(200);
  const again = await openStream(target, { ...ofUser(ada), 'Last-Event-ID': String(first?.id) });
  await again.arrived(4);
  assert.deepEqual(idsOf(again.events), [
    'documentCreated gone',
    'documentCreated kept',
    'documentDeleted gone',
    'documentUpdated granted',
  ]);
});

test('users get their own account and sessions, and the teams and memberships that they belong to', async () => {
  const [ada, bob, eve] = [await aLoggedInUser(target), await aLoggedInUser(target), await aLoggedInUser(target)];
  await changeSettings(target, { 'teams.hideMembers': true });
  const streams = await Promise.all([ada, bob, eve].map((user) => openStream(target, ofUser(user))));
  const [forAda, forBob, forEve] = streams;
  (await ada.client.patch('/account/name', { name: 'Ada' })).expect(200);
  (await ada.client.post('/teams', { teamId: 'crew', name: 'Crew' })).expect(201);
  await forAda?.arrived(3);
  const { client: backend } = await aServerKey(target);
  (await backend.post('/teams/crew/memberships', { userId: bob.id, roles: ['mate'] })).expect(201);
  await forAda?.arrived(4);
  await forBob?.arrived(1);
  (await ada.client.put('/teams/crew', { name: 'New crew' })).expect(200);
  await Promise.all([forAda?.arrived(5), forBob?.arrived(2)]);
  const { client: other } = await aServerKey(target);
  (await other.post('/teams/crew/memberships', { userId: eve.id, roles: [] })).expect(201);
  await Promise.all([forAda?.arrived(6), forBob?.arrived(3), forEve?.arrived(1)]);
  const shown = [forAda, forBob, forEve].map((stream) => {
    const { userEmail } = (stream?.events.at(-1)?.data.data ?? {}) as { userEmail?: string };
    return userEmail;
  });
  assert.deepEqual(
    shown,
    [eve.email, '', eve.email],
    'owners and the user are shown the address, other members are not',
  );
  (await ada.client.delete('/teams/crew')).expect(204);
  await Promise.all([forAda?.arrived(7), forBob?.arrived(4), forEve?.arrived(2)]);
  assert.deepEqual(
    forBob?.events.map(({ data }) => data.type),
    ['membershipCreated', 'teamUpdated', 'membershipCreated', 'teamDeleted'],
  );
  const again = await createClient(target).post('/account/sessions/email', {
    email: ada.email,
    password: ada.password,
  });
  again.expect(201);
  await forAda?.arrived(8);
  assert.equal(forAda?.events.at(-1)?.data.type, 'sessionCreated');
  for (const stream of streams) stream.close();
  await changeSettings(target, { 'teams.hideMembers': false });
});

test('who joins a team reads nothing of its memberships from before, whatever id the stream goes on at', async () => {
  const [ada, bob, eve] = [await aLoggedInUser(target), await aLoggedInUser(target), await aLoggedInUser(target)];
  const { client: backend } = await aServerKey(target);
  const began = await openStream(target, ofKey);
  (await ada.client.post('/teams', { teamId: 'band', name: 'Band' })).expect(201);
  await began.arrived(2);
  const [first] = began.events;
  const left = (await backend.post('/teams/band/memberships', { userId: eve.id, roles: [] })).expect(201);
  (await backend.delete(`/teams/band/memberships/${left.string('$id')}`)).expect(204);
  target.clock.advance(1000);
  const own = (await backend.post('/teams/band/memberships', { userId: bob.id, roles: [] })).expect(201).string('$id');
  await began.arrived(5);
  const forBob = await openStream(target, { ...ofUser(bob), 'Last-Event-ID': String(first?.id) });
  const forAda = await openStream(target, { ...ofUser(ada), 'Last-Event-ID': String(first?.id) });
  await forBob.arrived(1);
  assert.deepEqual(idsOf(forBob.events), [`membershipCreated ${own}`]);
  await forAda.arrived(4);
  for (const stream of [began, forBob, forAda]) stream.close();
});

const endings: [string, (user: LoggedInUser) => Promise<unknown>][] = [
  ['its logout', ({ client }) => client.delete('/account/sessions/current')],
  ['a block', ({ id }) => asOperator(target, id, 'block')],
  ['its deletion', ({ client }) => client.delete('/account')],
];
for (const [name, end] of endings) {
  test(`the stream of a user ends with ${name}, and nothing more is sent`, async () => {
    const ada = await aLoggedInUser(target);
    const some = await collection({ attributes, permissions: ['read("users")'] });
    const stream = await openStream(target, ofUser(ada));
    await create(some, 'seen');
    await stream.arrived(1);
    const count = stream.events.length;
    await end(ada);
    await create(some, 'unseen');
    const started = performance.now();
    await stream.ended;
    assert.ok(performance.now() - started < 3000);
    assert.equal(stream.events.length, count);
  });
}

test('the stream of a JWT ends with its time, and that of a key with its revocation', async () => {
  const ada = await aLoggedInUser(target);
  const jwt = (await ada.client.post('/account/jwts', { duration: 60 })).expect(201).string('jwt');
  const stream = await openStream(target, { ...project, 'X-Service-JWT': jwt });
  const { id, secret } = await aServerKey(target, { scopes: ['events.read'] });
  const keyStream = await openStream(target, { ...project, 'X-Service-Key': secret });
  target.clock.advance(61_000);
  const { runtime, features } = target.appliance;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'test' }, requestId: '' };
  await runtime.db.work(by, (unit) => features.serverKeys.revoke(unit, id));
  await ada.client.patch('/account/name', { name: 'Late' });
  await Promise.all([stream.ended, keyStream.ended]);
  assert.deepEqual([stream.events, keyStream.events], [[], []]);
});

test('a session that lacks its second factor, a guest and a wrong key open no stream', async () => {
  const accept = { Accept: 'text/event-stream' };
  (await createClient(target).get('/events', accept)).refused(401, 'general_unauthorized_scope');
  const { client } = await aServerKey(target, { scopes: ['users.read'] });
  (await client.get('/events', accept)).refused(401, 'general_unauthorized_scope');
  assert.equal((await feedKey.client.request('HEAD', '/events', undefined, accept)).status, 200);
});

test('a second process sends the events of the first, and both end at TERM', async () => {
  const sibling = await target.startSibling();
  const some = await collection({ attributes });
  const stream = await openStream(sibling, ofKey);
  await create(some, 'here');
  await stream.arrived(1);
  await sleep(50);
  await create(some, 'there');
  await stream.arrived(2);
  const started = performance.now();
  await sibling.drain();
  await stream.ended;
  assert.ok(performance.now() - started < 3000);
});

test('the stream ends with its project', async () => {
  const { secret } = await aServerKey(target, { scopes: ['events.read'], projectId: target.neighbour.id });
  const headers = { 'X-Service-Project': target.neighbour.id, 'X-Service-Key': secret };
  const stream = await openStream(target, headers);
  const { features } = target.appliance;
  const by = { projectId: target.neighbour.id, actor: { kind: 'operator', id: 'test' }, requestId: '' };
  await features.projects.remove(by, target.neighbour.id);
  await stream.ended;
});

test('of the past a user gets payloads that REST would give now; a server key gets all', async () => {
  const open = await collection({ attributes, permissions: [] });
  await numbered(target);
  const from = Math.max(...(await rowsOf(target, 'events', target.project.id)).map(({ sequence }) => Number(sequence)));
  await create(open, 'changed');
  await create(open, 'gone');
  await create(open, 'kept');
  (await key.patch(`${open.documents}/changed`, { data: { n: 2 } })).expect(200);
  (await key.delete(`${open.documents}/gone`)).expect(204);
  (await key.put(open.path, { name: 'Open', permissions: ['read("any")'] })).expect(200);
  const later = await aLoggedInUser(target);
  const ids = (id: string) => ({ $id: id, $databaseId: open.path.split('/')[2], $collectionId: open.id });
  const query = `?cursor=${from}&resource=${open.path.slice(1)}`;
  const all = await openStream(target, ofKey, query);
  const whole = (await all.arrived(5)).map(({ data }) => (data.data as { n?: number }).n);
  assert.deepEqual(whole, [1, 1, 1, 2, 1]);
  const stream = await openStream(target, ofUser(later), query);
  const payloads = (await stream.arrived(5)).map(({ data }) => data.data as Record<string, unknown>);
  const [first, gone, kept, changed, deleted] = payloads;
  assert.deepEqual([first, gone, deleted], [ids('changed'), ids('gone'), ids('gone')]);
  assert.deepEqual([kept?.n, changed?.n], [1, 2]);
  (await key.patch(`${open.documents}/kept`, { data: { n: 3 } })).expect(200);
  const [, , , , , now] = await stream.arrived(6);
  assert.equal((now?.data.data as { n: number } | undefined)?.n, 3, 'what happens now is whole');
  stream.close();
  const again = await openStream(target, ofUser(later), query);
  assert.deepEqual((await again.arrived(6)).at(2)?.data.data, ids('kept'));
});
