// Requests that arrive several times are carried out once, and changes that were made for another state of a document are refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idempotencyLimits } from '#src/contract/limits.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Answer, type Client, createClient } from '../harness/client.js';
import { recordedBy, rowsOf, runSql } from '../harness/database.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const sibling = await target.startSibling();
const { key, collection: aCollection } = await aBackend(target);
const { secret } = await aServerKey(target);
const [here, there] = [createClient(target, { key: secret }), createClient(sibling, { key: secret })];
const attributes = { title: { type: 'string', size: 40 }, n: { type: 'integer' } };
const open = ['read("users")', 'create("users")', 'update("users")', 'delete("users")'];
const { documents } = await aCollection({ permissions: open, attributes });
const named = (name: string) => ({ 'Idempotency-Key': name });
const ifMatch = (tag: string | null) => ({ 'If-Match': String(tag) });
const body = { documentId: 'unique()', data: { title: 'Hello' } };
const nothing = { audit: [], events: [], messages: [] };

test('fifty duplicates at once, over two processes, make one document and get one answer', async () => {
  const { recorded } = await recordedBy(target, async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? here : there).post(documents, body, named('fifty'))),
    );
    for (const answer of answers) answer.expect(201);
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    assert.equal(new Set(answers.map(({ headers }) => headers.get('etag'))).size, 1);
  });
  assert.deepEqual(recorded, { audit: ['documentCreated'], events: ['documentCreated'], messages: [] });
  const restarted = await target.startSibling();
  const again = await createClient(restarted, { key: secret }).post(documents, body, named('fifty'));
  assert.equal((await here.get(`${documents}/${again.expect(201).string('$id')}`)).expect(200).text, again.text);
  await restarted.close();
});

test('a request that ended while the database was away keeps no retry waiting', async () => {
  const { driver } = target.appliance.runtime;
  const { transact } = driver;
  for (const passing of [0, 1]) {
    let left = passing;
    const failing: typeof transact = async (run, until) => {
      left -= 1;
      if (left >= 0) return transact(run, until);
      // As if the connection were cut after the commit: the claim is stored, and its caller does not know.
      if (passing === 0 && left === -1) await transact(run, until);
      throw new DatabaseError('unavailable', 'ECONNREFUSED');
    };
    Object.assign(driver, { transact: failing });
    try {
      (await here.post(documents, body, named(`away-${passing}`))).refused(503, 'general_unavailable');
    } finally {
      Object.assign(driver, { transact });
    }
    const [row] = (await rowsOf(target, 'idempotent_requests')).filter(({ status }) => status === null);
    assert.ok(row !== undefined, 'the claim is stored');
    (await here.post(documents, body, named(`away-${passing}`))).expect(201);
  }
});

test('each operation on one document can be repeated, and is carried out once', async () => {
  (await key.post(documents, { documentId: 'one', data: { n: 1 } })).expect(201);
  const path = `${documents}/one`;
  const requests: readonly (readonly [string, string, unknown, number])[] = [
    ['PATCH', path, { data: { title: 'B' } }, 200],
    ['PUT', path, { data: { title: 'C' } }, 200],
    ['PATCH', `${path}/n/increment`, {}, 200],
    ['PATCH', `${path}/n/decrement`, { value: 5 }, 200],
    ['DELETE', path, undefined, 204],
  ];
  for (const [at, [method, where, given, status]] of requests.entries()) {
    const first = (await here.request(method, where, given, named(`each-${at}`))).expect(status);
    const second = await recordedBy(target, async () => {
      const answer = (await there.request(method, where, given, named(`each-${at}`))).expect(status);
      assert.equal(answer.text, first.text, method);
      assert.equal(answer.headers.get('etag'), first.headers.get('etag'));
    });
    assert.deepEqual(second.recorded, nothing);
  }
});

test('a key is of one caller, one operation and one request', async () => {
  const first = (await here.post(documents, body, named('mine'))).expect(201);
  for (const other of [
    { ...body, data: { title: 'Other' } },
    { ...body, documentId: 'other' },
  ])
    (await here.post(documents, other, named('mine'))).refused(422, 'general_idempotency_mismatch');
  const user = await aLoggedInUser(target);
  const others = (await user.client.post(documents, body, named('mine'))).expect(201);
  assert.notEqual(others.body.$id, first.body.$id);
  (await here.patch(`${documents}/${first.string('$id')}`, { data: { n: 1 } }, named('mine'))).expect(200);
  (await here.delete(`${documents}/none`, named('mine'))).refused(404, 'document_not_found');
  for (const bad of ['x'.repeat(256), 'two words', 'é'])
    (await here.post(documents, body, named(bad))).refused(400, 'general_argument_invalid');
});

test('what fails is not kept, and a kept answer is no way around a permission', async () => {
  (await here.post(documents, { ...body, data: { wrong: 1 } }, named('fails'))).refused(
    400,
    'document_invalid_structure',
  );
  assert.deepEqual(
    (await rowsOf(target, 'idempotent_requests')).filter(({ status }) => status === null),
    [],
  );
  (await here.post(documents, { ...body, documentId: 'late' }, named('fails'))).expect(201);
  (await createClient(target).post(documents, body, named('mine'))).refused(401, 'user_unauthorized');
});

test('a caller that has lost a right gets no kept answer, also from another process', async () => {
  const all = ['create("users")', 'read("users")', 'update("users")', 'delete("users")'];
  const own = await aCollection({ permissions: all, attributes });
  const { client, secret: session } = await aLoggedInUser(target);
  const elsewhere = createClient(sibling, { session });
  const granted = async (...permissions: string[]) =>
    (await key.put(own.path, { name: 'Test', permissions })).expect(200);
  const rows = `/tablesdb/${own.databaseId}/tables/${own.id}/rows`;
  const { documents: path } = own;
  const requests = {
    create: ['POST', path, { documentId: 'lost', data: { title: 'Mine' } }],
    update: ['PATCH', `${path}/lost`, { data: { n: 1 } }],
    upsert: ['PUT', `${path}/lost`, { data: { n: 1 } }],
    increment: ['PATCH', `${path}/lost/n/increment`, {}],
    row: ['PATCH', `${rows}/lost`, { data: { n: 5 } }],
  } as const;
  const send = (from: Client, name: keyof typeof requests) => {
    const [method, where, given] = requests[name];
    return from.request(method, where, given, named(`lost-${name}`));
  };
  const names = Object.keys(requests) as (keyof typeof requests)[];
  const first = new Map<string, Answer>();
  for (const name of names) first.set(name, await send(client, name));
  for (const name of names) assert.equal((await send(elsewhere, name)).text, first.get(name)?.text, name);

  await granted('create("users")', 'update("users")', 'delete("users")');
  for (const name of names) {
    const answer = await send(elsewhere, name);
    const isCreate = name === 'create';
    assert.equal(answer.status, isCreate ? 201 : 200, name);
    assert.equal(answer.body.title, isCreate ? 'Mine' : undefined, name);
    assert.equal(answer.body.n, isCreate ? null : undefined, name);
    if (!isCreate) assert.equal(answer.body.$id, 'lost');
    if (name === 'row') assert.equal(answer.body.$tableId, own.id);
    if (!isCreate) assert.notEqual(answer.headers.get('etag'), first.get(name)?.headers.get('etag') ?? '');
  }
  await granted('read("users")');
  for (const name of names) (await send(elsewhere, name)).refused(401, 'user_unauthorized');
  await granted(...all);
  for (const name of names) assert.equal((await send(elsewhere, name)).text, first.get(name)?.text, name);

  (await key.put(own.path, { name: 'Test', permissions: all, enabled: false })).expect(200);
  const rowNames: readonly string[] = ['row'];
  for (const name of names)
    (await send(elsewhere, name)).refused(404, rowNames.includes(name) ? 'table_not_found' : 'collection_not_found');
  assert.equal((await key.get(`${path}/lost`)).expect(200).body.n, 5, 'each was carried out once');
});

test('the permissions of the document itself count for a duplicate', async () => {
  const { documents: path } = await aCollection({ permissions: [], documentSecurity: true, attributes });
  const { id, client } = await aLoggedInUser(target);
  const granted = (...actions: string[]) => actions.map((action) => `${action}("user:${id}")`);
  const body = { documentId: 'own', data: { n: 1 }, permissions: granted('read', 'update', 'delete') };
  (await key.post(path, body)).expect(201);
  const change = () => client.patch(`${path}/own`, { data: { n: 2 } }, named('own-change'));
  const first = (await change()).expect(200);
  assert.equal((await change()).text, first.text);
  const permit = async (...actions: string[]) =>
    (await key.patch(`${path}/own`, { permissions: granted(...actions) })).expect(200);
  await permit('update');
  assert.equal((await change()).expect(200).body.n, undefined);
  await permit('read');
  (await change()).refused(401, 'user_unauthorized');
  await permit();
  (await change()).refused(404, 'document_not_found');
  await permit('read', 'update', 'delete');
  assert.equal((await change()).text, first.text);

  // Documents that are not there any more, or not yet, cannot be asked for a right.
  const remove = () => client.delete(`${path}/own`, named('own-delete'));
  (await remove()).expect(204);
  (await remove()).expect(204);
  (await change()).refused(404, 'document_not_found');
  const open = await aCollection({ permissions: ['create("users")'], documentSecurity: true, attributes });
  const transactionId = (await client.post('/databases/transactions', {})).expect(201).string('$id');
  (await client.post(open.documents, { documentId: 'staged', data: {}, transactionId })).expect(201);
  const stage = () => client.patch(`${open.documents}/staged`, { data: { n: 3 }, transactionId }, named('own-staged'));
  const staged = (await stage()).expect(200);
  assert.equal(staged.body.n, 3);
  assert.equal((await stage()).expect(200).text, staged.text);
});

test('a duplicate waits for the first request, and takes over if its process is gone', async () => {
  const wanted = { ...body, documentId: 'waits' };
  (await here.post(documents, wanted, named('waits'))).expect(201);
  const rows = async () => (await rowsOf(target, 'idempotent_requests')).map(({ hash }) => String(hash));
  const before = new Set(await rows());
  (await here.post(documents, { ...body, documentId: 'waits-2' }, named('waits-2'))).expect(201);
  const [hash] = (await rows()).filter((one) => !before.has(one));
  const until = target.clock.now() + 100_000;
  await runSql(target, 'update idempotent_requests set status = null, claimed_until = ? where hash = ?', [
    until,
    hash ?? '',
  ]);
  const late = await there.post(documents, { ...body, documentId: 'waits-2' }, named('waits-2'));
  late.refused(409, 'general_resource_locked');
  assert.equal(late.headers.get('retry-after'), '1');
  (await key.delete(`${documents}/waits-2`)).expect(204);
  target.clock.advance(101_000);
  (await there.post(documents, { ...body, documentId: 'waits-2' }, named('waits-2'))).expect(201);
});

test('an answer is kept for a day', async () => {
  (await here.post(documents, { ...body, documentId: 'day' }, named('day'))).expect(201);
  target.clock.advance(idempotencyLimits.hours * 3_600_000 + 1000);
  (await here.post(documents, { ...body, documentId: 'day' }, named('day'))).refused(409, 'document_already_exists');
  await target.appliance.features.jobs.run('idempotency.prune');
  assert.deepEqual(await rowsOf(target, 'idempotent_requests'), []);
});

test('a change takes If-Match', async () => {
  const path = `${documents}/tagged`;
  const made = (await here.post(documents, { documentId: 'tagged', data: { n: 1 } })).expect(201);
  const [user, writer] = [
    await aLoggedInUser(target),
    await aCollection({ permissions: ['update("users")'], attributes }),
  ];
  const tag = (await user.client.get(path)).expect(200).headers.get('etag');
  assert.equal(made.headers.get('etag'), tag);
  assert.match(String(tag), /^"[\w-]{27}"$/);
  const selected = new URLSearchParams({ 'queries[0]': '{"method":"select","values":["n"]}' });
  assert.equal((await here.get(`${path}?${selected}`)).headers.get('etag'), null);
  const patched = (await here.patch(path, { data: { n: 2 } }, ifMatch(tag))).expect(200).headers.get('etag');
  assert.notEqual(patched, tag);
  const stale: readonly (readonly [string, string, unknown])[] = [
    ['PATCH', path, { data: { n: 3 } }],
    ['PUT', path, { data: { n: 3 } }],
    ['PATCH', `${path}/n/increment`, {}],
    ['DELETE', path, undefined],
    ['PUT', `${documents}/no-such`, { data: {} }],
  ];
  const { recorded } = await recordedBy(target, async () => {
    for (const [method, where, given] of stale)
      for (const bad of [tag, `W/${patched}`, 'nonsense'])
        (await here.request(method, where, given, ifMatch(bad))).refused(412, 'general_precondition_failed');
  });
  assert.deepEqual(recorded, nothing);
  (await here.patch(`${documents}/no-such`, { data: {} }, ifMatch('*'))).refused(404, 'document_not_found');
  (await here.patch(`${path}/n/increment`, {}, ifMatch(`${tag}, ${patched}`))).expect(200);
  (await here.delete(path, ifMatch('*'))).expect(204);
  // Who may not read has no tag, and cannot try contents by their tags.
  const hidden = (await key.post(writer.documents, { documentId: 'h', data: { n: 1 } })).expect(201);
  const probe = ifMatch(hidden.headers.get('etag'));
  (await user.client.patch(`${writer.documents}/h`, { data: { n: 1 } }, probe)).refused(
    412,
    'general_precondition_failed',
  );
});

test('a caller without the right to a change learns nothing of the state of the document', async () => {
  const permissions = { read: ['read("users")'], update: ['update("users")'], none: [] };
  const user = await aLoggedInUser(target);
  const { client } = user;
  const stale = ifMatch('"stale"');
  const increment = { method: 'increment', values: [1] };
  const requests: readonly (readonly [keyof typeof permissions, string, string, unknown])[] = [
    ['read', 'PATCH', '/d', { data: { n: 2 } }],
    ['read', 'PUT', '/d', { data: { n: 2 } }],
    ['read', 'PUT', '/no-such', { data: { n: 2 } }],
    ['read', 'PATCH', '/d/n/increment', {}],
    ['read', 'PATCH', '/d/n/decrement', {}],
    ['read', 'DELETE', '/d', undefined],
    ['none', 'PUT', '/d', { data: { n: 2 } }],
    ['none', 'PUT', '/no-such', { data: { n: 2 } }],
    // These need the right to read besides, and one gives a right that the caller has not.
    ['update', 'PATCH', '/d/n/increment', {}],
    ['update', 'PATCH', '/d', { data: { n: JSON.stringify(increment) } }],
    ['update', 'PATCH', '/d', { permissions: ['read("user:somebody")'] }],
  ];
  for (const [granted, method, path, given] of requests) {
    const { documents: own } = await aCollection({ permissions: permissions[granted], attributes });
    (await key.post(own, { documentId: 'd', data: { n: 1 } })).expect(201);
    (await client.request(method, own + path, given, stale)).refused(401, 'user_unauthorized');
    const transactionId = (await client.post('/databases/transactions', {})).expect(201).string('$id');
    const staged = { ...(given as object), transactionId };
    (await client.request(method, own + path, staged, stale)).refused(401, 'user_unauthorized');
    (await key.delete(`${own}/d`)).expect(204);
  }
});

test('of many changes for one state one is made', async () => {
  const made = (await here.post(documents, { documentId: 'race', data: { n: 0 } })).expect(201);
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, at) =>
      (at % 2 === 0 ? here : there).patch(
        `${documents}/race`,
        { data: { n: at + 1 } },
        ifMatch(made.headers.get('etag')),
      ),
    ),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 15 }, () => 412)]);
});

test("a user's stored answers go when the person is erased", async () => {
  const user = await aLoggedInUser(target);
  const { documents: own } = await aCollection({ permissions: ['create("users")', 'read("users")'], attributes: {} });
  const headers = { 'Idempotency-Key': 'of-a-person' };
  (await user.client.post(own, { documentId: 'of-a-person', data: {} }, headers)).expect(201);
  const kept = async () =>
    (await rowsOf(target, 'idempotent_requests')).filter(({ caller }) => caller === `user:${user.id}`).length;
  assert.equal(await kept(), 1);
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'test' }, requestId: 'test' };
  await target.appliance.features.erasure.run(by, target.project, user.id);
  assert.equal(await kept(), 0);
});

/** Requests of other callers as if they had been made an hour less than a day ago, each of another of so many users. */
async function madeBefore(count: number, callers: readonly string[]): Promise<void> {
  const madeAt = target.clock.now() - (idempotencyLimits.hours - 1) * 3_600_000;
  for (const caller of callers)
    await runSql(
      target,
      `with recursive numbers(i) as (select 1 union all select i + 1 from numbers where i < ${count})
        insert into idempotent_requests (hash, project_id, caller, fingerprint, claim, claimed_until, created_at, status, bytes)
        select cast(? as text) || i, ?, ?, '', '', 0, ${madeAt}, 204, 0 from numbers`,
      [`${caller}-`, target.project.id, caller],
    );
}

test('stored answers of a caller have a byte limit; further requests are still carried out once', async () => {
  const [eve, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const large = { type: 'string', size: 1_000_000 };
  const { documents: own } = await aCollection({ permissions: open, attributes: { ...attributes, large } });
  const path = `${own}/large`;
  (await key.post(own, { documentId: 'large', data: { large: 'x'.repeat(1_000_000) } })).expect(201);
  const change = (n: number) => eve.client.patch(path, { data: { n } }, named(`large-${n}`));
  const answers: Answer[] = [];
  for (let n = 0; n < 10; n++) answers.push((await change(n)).expect(200));
  const repeated = await recordedBy(target, async () => {
    for (let n = 0; n < 8; n++) assert.equal((await change(n)).expect(200).text, answers[n]?.text);
    for (let n = 8; n < 10; n++) (await change(n)).refused(400, 'general_answer_too_large');
  });
  assert.deepEqual(repeated.recorded, nothing);
  const answersTwice = async (client: Client, name: string) => {
    const wanted = { documentId: name, data: { title: name } };
    const first = (await client.post(own, wanted, named(name))).expect(201);
    assert.equal((await client.post(own, wanted, named(name))).expect(201).text, first.text);
  };
  await answersTwice(bob.client, 'of-bob');
  // Where those of all users are too many, those of server keys are still kept.
  const caller = `user:${eve.id}`;
  const rest = idempotencyLimits.bytesForUsers - 8_000_000;
  await runSql(target, `update idempotent_requests set bytes = ${rest} where caller = ? and bytes < 0`, [caller]);
  target.clock.advance(idempotencyLimits.usageSeconds * 1000 + 1);
  await answersTwice(here, 'of-a-key');
  const wanted = { documentId: 'late', data: { title: 'late' } };
  (await bob.client.post(own, wanted, named('late'))).expect(201);
  (await bob.client.post(own, wanted, named('late'))).refused(400, 'general_answer_too_large');
});

test('a caller with too many requests learns when the first one expires; other callers go on', async () => {
  const [eve, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  await madeBefore(idempotencyLimits.requestsOfCaller, [`user:${eve.id}`]);
  const post = (client: Client, name: string) => client.post(documents, { ...body, documentId: name }, named(name));
  const refused = await post(eve.client, 'one-too-many');
  refused.refused(429, 'general_rate_limit_exceeded');
  const seconds = Number(refused.headers.get('retry-after'));
  assert.ok(seconds > 3500 && seconds <= 3600, String(seconds));
  (await eve.client.post(documents, { ...body, documentId: 'without-a-key' })).expect(201);
  (await post(bob.client, 'of-another')).expect(201);
  (await post(here, 'of-the-backend')).expect(201);
  target.clock.advance(seconds * 1000);
  (await post(eve.client, 'one-too-many')).expect(201);
});

test('users who use up the requests of all users leave those of server keys alone', async () => {
  const callers = Array.from({ length: 50 }, (_, at) => `user:many-${at}`);
  await madeBefore(idempotencyLimits.requests / callers.length, callers);
  target.clock.advance(idempotencyLimits.usageSeconds * 1000 + 1);
  const bob = await aLoggedInUser(target);
  const post = (client: Client, name: string) => client.post(documents, { ...body, documentId: name }, named(name));
  const refused = await post(bob.client, 'of-a-user');
  refused.refused(429, 'general_rate_limit_exceeded');
  assert.equal(refused.headers.get('retry-after'), String(idempotencyLimits.fullRetrySeconds));
  (await post(here, 'of-a-key-still')).expect(201);
});
