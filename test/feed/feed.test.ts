// The pull feed: every event of a project once, in the order of its numbers, page by page, waiting for what comes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { aBackend } from '../documents/setup.js';
import { aLoggedInUser, aServerKey, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { runSql } from '../harness/database.js';
import { asOperator } from '../harness/project.js';
import { eventually } from '../webhooks/setup.js';
import { numbered } from './sse.js';

type Json = Record<string, unknown>;

const target = await startAppliance({ settings: { SVC_ANSWER_MAX_BYTES: '1048576' } });
const { client: key } = await aServerKey(target, { scopes: ['events.read'] });

/** Everything from a cursor on, once all of it has its number. */
async function rest(cursor: string, query = ''): Promise<Json[]> {
  await numbered(target);
  const events: Json[] = [];
  for (let at = cursor; ; ) {
    const answer = (await key.get(`/events?limit=17&cursor=${at}${query}`)).expect(200);
    events.push(...answer.list('events'));
    at = answer.string('cursor');
    if (answer.body.more !== true) return events;
  }
}
const end = async () => String((await rest('0')).at(-1)?.sequence);
const typesOf = (events: readonly Json[]) => events.map(({ type }) => type);

test('a feed without events has a cursor that goes on', async () => {
  const { body } = (await key.get('/events')).expect(200);
  assert.deepEqual(body, { events: [], cursor: '0', more: false });
  await aLoggedInUser(target);
  const [first] = await rest('0');
  const { id, timestamp, ...shown } = first as Json & { data: Json };
  assert.match(String(id), /^[0-9a-f]{20}$/);
  assert.match(String(timestamp), /^\d{4}-.*\+00:00$/);
  assert.deepEqual([shown.type, shown.sequence, shown.projectId], ['sessionCreated', 1, target.project.id]);
  assert.equal(shown.data.secret, '');
});

test('pages hold every event once, in the order of its number, whatever their size', async () => {
  const { collection } = await aBackend(target);
  const { documents } = await collection({ attributes: { n: { type: 'integer' } } });
  const { client: writer } = await aServerKey(target);
  const from = await end();
  await Promise.all(
    Array.from({ length: 40 }, async (_, n) => {
      (await writer.post(documents, { documentId: `d${n}`, data: { n } })).expect(201);
    }),
  );
  const events = await rest(from);
  assert.deepEqual(
    events.map(({ sequence }) => sequence),
    events.map((_, at) => Number(from) + 1 + at),
  );
  assert.equal(new Set(events.map(({ id }) => id)).size, 40);
  assert.ok(events.every(({ data }) => (data as Json).$databaseId !== undefined));
  const path = documents.slice(1).replace(/\/documents$/, '');
  assert.equal((await rest(from, `&resource=${path}/documents/d7`)).length, 1);
  assert.equal((await rest(from, `&resource=${path}`)).length, 40);
  assert.equal((await rest(from, `&resource=${path.slice(0, -1)}`)).length, 0);
  assert.deepEqual(await rest(from, '&types=documentDeleted'), []);
  assert.equal((await rest(from, '&types=documentDeleted&types=documentCreated')).length, 40);
});

test('a page ends where its bytes would be too many', async () => {
  const { collection, key: writer } = await aBackend(target);
  const { documents } = await collection({ attributes: { text: { type: 'string', size: 300_000 } } });
  const from = await end();
  for (const id of ['a', 'b', 'c', 'd', 'e'])
    (await writer.post(documents, { documentId: id, data: { text: id.repeat(300_000) } })).expect(201);
  await numbered(target);
  const answer = (await key.get(`/events?cursor=${from}`)).expect(200);
  assert.deepEqual([answer.list('events').length, answer.body.more], [3, true]);
  assert.equal((await rest(from)).length, 5);
});

const changes: [string, () => Promise<() => Promise<unknown>>, string[]][] = [
  [
    'a user gets another name, the same again, and other preferences',
    async () => {
      const { client } = await aLoggedInUser(target);
      return async () => {
        await client.patch('/account/name', { name: 'New' });
        await client.patch('/account/name', { name: 'New' });
        await client.patch('/account/prefs', { prefs: { a: 1 } });
      };
    },
    ['accountUpdated', 'accountUpdated'],
  ],
  [
    'a user is blocked',
    async () => {
      const { id } = await aLoggedInUser(target);
      return () => asOperator(target, id, 'block');
    },
    ['accountUpdated', 'sessionDeleted'],
  ],
  [
    'a password is changed: one event of the account, however many changes',
    async () => {
      const user = await aLoggedInUser(target);
      await logIn(target, user);
      return () => user.client.patch('/account/password', { password: 'a new password', oldPassword: user.password });
    },
    ['accountUpdated', 'sessionDeleted'],
  ],
  [
    'a user founds a team, renames it, sets its preferences and deletes it',
    async () => {
      const { client } = await aLoggedInUser(target);
      return async () => {
        (await client.post('/teams', { teamId: 'told', name: 'Told' })).expect(201);
        (await client.put('/teams/told', { name: 'Untold' })).expect(200);
        (await client.put('/teams/told/prefs', { prefs: { a: 1 } })).expect(200);
        (await client.delete('/teams/told')).expect(204);
      };
    },
    ['membershipCreated', 'teamCreated', 'teamDeleted', 'teamUpdated', 'teamUpdated'],
  ],
  [
    'a member is added, gets other roles and is removed',
    async () => {
      const { client: backend } = await aServerKey(target);
      const { id: userId } = await aLoggedInUser(target);
      return async () => {
        (await backend.post('/teams', { teamId: 'staff', name: 'Staff' })).expect(201);
        const memberships = '/teams/staff/memberships';
        const member = (await backend.post(memberships, { userId, roles: ['a'] })).expect(201).string('$id');
        (await backend.patch(`${memberships}/${member}`, { roles: ['b'] })).expect(200);
        (await backend.delete(`${memberships}/${member}`)).expect(204);
      };
    },
    ['membershipCreated', 'membershipDeleted', 'membershipUpdated', 'teamCreated'],
  ],
];
for (const [name, prepare, expected] of changes) {
  test(`${name}: ${expected.join(', ')}`, async () => {
    const act = await prepare();
    const from = await end();
    await act();
    const events = await rest(from);
    assert.deepEqual(typesOf(events).sort(), expected);
    assert.doesNotMatch(JSON.stringify(events), /passwordHash|secretDigest|\$scrypt/);
  });
}

test('the last state of a deleted team, with its members counted', async () => {
  const { client } = await aLoggedInUser(target);
  (await client.post('/teams', { teamId: 'gone', name: 'Gone' })).expect(201);
  const from = await end();
  (await client.delete('/teams/gone')).expect(204);
  const [deleted] = await rest(from);
  const { $id, name, total } = (deleted?.data ?? {}) as Json;
  assert.deepEqual([$id, name, total], ['gone', 'Gone', 1]);
});

test('an empty answer waits for an event, up to the given time', async () => {
  const cursor = await end();
  const started = performance.now();
  const waiting = key.get(`/events?cursor=${cursor}&wait=20`);
  await sleep(100);
  await aLoggedInUser(target);
  const answer = (await waiting).expect(200);
  assert.deepEqual(typesOf(answer.list('events')), ['sessionCreated']);
  assert.ok(performance.now() - started < 5000);
  const empty = (await key.get(`/events?cursor=${answer.string('cursor')}&wait=1`)).expect(200);
  assert.deepEqual(empty.body, { events: [], cursor: answer.string('cursor'), more: false });
  // What is filtered out does not end the wait, and moves the cursor.
  const filtered = key.get(`/events?cursor=${answer.string('cursor')}&wait=2&types=teamDeleted`);
  await sleep(100);
  await aLoggedInUser(target);
  const { events, cursor: moved } = (await filtered).expect(200).body;
  assert.deepEqual([events, Number(moved) > Number(answer.string('cursor'))], [[], true]);
});

test('a waiting reader learns of a revoked key, and an account has a limited number of waiting requests', async () => {
  const { client, id } = await aServerKey(target, { scopes: ['events.read'] });
  const cursor = await end();
  const waiting = client.get(`/events?cursor=${cursor}&wait=20`);
  await sleep(100);
  const { runtime, features } = target.appliance;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'test' }, requestId: '' };
  await runtime.db.work(by, (unit) => features.serverKeys.revoke(unit, id));
  await aLoggedInUser(target);
  (await waiting).refused(401, 'general_unauthorized_scope');

  const { client: many } = await aServerKey(target, { scopes: ['events.read'] });
  const at = await end();
  const warnings: Error[] = [];
  const warned = (warning: Error) => void warnings.push(warning);
  process.on('warning', warned);
  const all = Array.from({ length: 55 }, () => many.get(`/events?cursor=${at}&wait=2`));
  const statuses = (await Promise.all(all)).map(({ status }) => status);
  assert.deepEqual(
    [200, 429].map((status) => statuses.filter((one) => one === status).length),
    [50, 5],
  );
  process.off('warning', warned);
  assert.deepEqual(warnings, []);
  assert.match((await createClient(target).get('//metrics')).text, /svc_feed_readers 0/);
});

test('that a client goes away while it waits is no error', async () => {
  const { secret } = await aServerKey(target, { scopes: ['events.read'] });
  await aLoggedInUser(target);
  const hangUp = new AbortController();
  const headers = { 'X-Service-Project': target.project.id, 'X-Service-Key': secret };
  const url = `${target.origin}/v1/events?cursor=${await end()}&types=fileDeleted&wait=20`;
  const waiting = fetch(url, { headers, signal: hangUp.signal }).catch(() => undefined);
  await sleep(300);
  hangUp.abort();
  await waiting;
  await eventually(() => assert.match(target.log(), /"route":"events.list","status":499/));
  assert.doesNotMatch(target.log(), /request.unavailable/);
  const { text } = await createClient(target, { project: null }).get('//metrics');
  assert.match(text, /svc_http_errors_total\{type="general_query_timeout"\} 0\n/);
});

test('what happens in another project is not in the feed', async () => {
  const from = await end();
  await aLoggedInUser(target, {}, { project: target.neighbour.id });
  assert.deepEqual(await rest(from), []);
});

test('what cannot be read is refused, and nothing is left out silently', async () => {
  for (const query of [
    'cursor=x',
    'cursor=-1',
    'limit=0',
    'limit=1001',
    'wait=31',
    'types=nothing',
    'resource=/users',
    'resource=%00',
    'lastEventId=a%00',
  ])
    (await key.get(`/events?${query}`)).refused(400, 'general_argument_invalid');
  (await key.get('/events?cursor=999999')).refused(400, 'general_cursor_not_found');
  const { client: other } = await aServerKey(target, { scopes: ['documents.read'] });
  (await other.get('/events')).refused(401, 'general_unauthorized_scope');
  (await createClient(target).get('/events')).refused(401, 'general_unauthorized_scope');
  const { client } = await aLoggedInUser(target);
  (await client.get('/events')).refused(401, 'general_unauthorized_scope');
  await numbered(target);
  await runSql(target, 'delete from events where project_id = ? and sequence < 4', [target.project.id]);
  (await key.get('/events?cursor=2')).refused(400, 'general_cursor_not_found');
  assert.equal((await key.get('/events?cursor=3&limit=1')).expect(200).list('events')[0]?.sequence, 4);
  assert.equal((await key.get('/events?limit=1')).expect(200).list('events')[0]?.sequence, 4);
});

test('wakes a reader that begins to wait while an event gets its number', async () => {
  const project = target.neighbour.id;
  const { client, secret } = await aServerKey(target, { scopes: ['events.read'], projectId: project });
  await aLoggedInUser(target, {}, { project });
  const before = await eventually(async () => {
    const { cursor } = (await client.get('/events')).expect(200).body;
    assert.notEqual(cursor, '0');
    return String(cursor);
  });
  // Many events of others, so that the first look for one takes a while.
  const many = 10_000;
  for (let part = 0; part < 10; part++) {
    await runSql(
      target,
      `insert into events (id, project_id, type, created_at, data, resource, audience, dispatched_at, sequence)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < ${many})
        select 'filler' || ${part} || '-' || n.i, project_id, type, created_at, data, resource, audience, dispatched_at, sequence + n.i
          from n cross join (select * from events where project_id = ? order by sequence desc limit 1) as one`,
      [project],
    );
    await runSql(target, `update event_sequences set last = last + ${many} where project_id = ?`, [project]);
  }
  // Another reader, for whom the service looks for further events.
  const other = await fetch(`${target.origin}/v1/events`, {
    headers: { Accept: 'text/event-stream', 'X-Service-Project': project, 'X-Service-Key': secret },
  });
  for (let at = 0; at < 8; at++) {
    const { client: user, id } = await aLoggedInUser(target, {}, { project });
    const started = performance.now();
    const waits = [0, 10, 20, 40].map(async (ms) => {
      await sleep(ms);
      return client.get(`/events?types=sessionDeleted&resource=users/${id}&cursor=${before}&wait=20`);
    });
    await sleep(at * 5);
    (await user.delete('/account/sessions/current')).expect(204);
    for (const answer of await Promise.all(waits))
      assert.deepEqual(typesOf(answer.expect(200).list('events')), ['sessionDeleted']);
    assert.ok(performance.now() - started < 15_000, `${at}: ${performance.now() - started}`);
  }
  await other.body?.cancel();
});
