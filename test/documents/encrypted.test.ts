// Encrypted attributes: every reader gets the clear value, and the database holds none, neither in documents nor in copies of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, TablesDB } from 'node-appwrite';
import { stored } from '../audit/setup.js';
import { numbered } from '../feed/sse.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import type { Answer } from '../harness/client.js';
import { rowsOf, runSql } from '../harness/database.js';
import { startReceiver } from '../harness/receiver.js';
import { openSocket } from '../realtime/client.js';
import { aWebhook, bodyOf, eventually, startOpen } from '../webhooks/setup.js';
import { graphql } from './graphql.js';
import { aBackend, addAttribute, queryString, type TestCollection } from './setup.js';

type Json = Record<string, unknown>;

const maxBytes = 262_144;
const target = await startOpen({ settings: { SVC_ANSWER_MAX_BYTES: String(maxBytes) } });
const { key, databaseId, collection } = await aBackend(target);
const { secret } = await aServerKey(target);
const sdk = new Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id).setKey(secret);
const tables = new TablesDB(sdk);
const open = ['read("any")', 'create("any")', 'update("any")', 'delete("any")'];
const [marker, plain] = ['zq-marker', 'zq-plain'];
/** Looks like the members of a printed document. */
const hostile = `${plain} \\"iban":"v2.x","$id":":","iban":"`;

let made = 0;
const said = (text: string) => `${marker} ${text} ${++made} é😀 "'\\`;

function vault(given: { documentSecurity?: boolean } = {}): Promise<TestCollection> {
  return collection({
    permissions: open,
    ...given,
    attributes: {
      title: { type: 'string', size: 100 },
      labels: { type: 'string', size: 100, array: true },
      body: { type: 'longtext' },
      iban: { type: 'string', size: 150, encrypt: true },
      notes: { type: 'mediumtext', array: true, encrypt: true },
    },
  });
}

async function numberOf({ id }: TestCollection): Promise<number> {
  const [row] = await runSql(target, 'select number from collections where id = ?', [id]);
  return Number(row?.number);
}

/** The attribute of a collection as its column in the database. */
async function columnOf(of: TestCollection, name: string) {
  const [row] = await runSql(target, 'select attributes from collections where id = ?', [of.id]);
  const attributes: { key: string; number: number }[] = JSON.parse(String(row?.attributes));
  const { number } = attributes.find((one) => one.key === name) ?? {};
  return { table: `d_${await numberOf(of)}`, column: `a_${number}` };
}

/** Plain values are found in the same way. */
async function nothingStored(): Promise<void> {
  const everything = await stored(target);
  assert.deepEqual([everything.includes(marker), everything.includes(plain)], [false, true]);
}

test('only text can be encrypted', async () => {
  const { databaseId, id } = await collection();
  const attributes = `/databases/${databaseId}/collections/${id}/attributes`;
  for (const type of ['email', 'url', 'ip', 'integer', 'float', 'boolean', 'datetime']) {
    const given = { key: type, required: false };
    (await key.post(`${attributes}/${type}`, { ...given, encrypt: true })).refused(400, 'general_argument_invalid');
    (await key.post(`${attributes}/${type}`, { ...given, encrypt: false })).expect(202);
  }
  const inline = { collectionId: 'inline', name: 'Inline', attributes: [{ key: 'm', type: 'email', encrypt: true }] };
  (await key.post(`/databases/${databaseId}/collections`, inline)).refused(400, 'general_argument_invalid');
});

test('neither queries nor indexes name an encrypted attribute, and selections do', async () => {
  const { documents, indexes } = await vault();
  (await key.post(documents, { documentId: 'one', data: { iban: 'x', notes: ['y'] } })).expect(201);
  for (const query of [
    { method: 'equal', attribute: 'iban', values: ['x'] },
    { method: 'isNull', attribute: 'iban' },
    { method: 'contains', attribute: 'notes', values: ['y'] },
    { method: 'search', attribute: 'iban', values: ['x'] },
    { method: 'orderAsc', attribute: 'iban' },
    { method: 'or', values: [1, 2].map(() => ({ method: 'startsWith', attribute: 'iban', values: ['x'] })) },
  ]) {
    const { message } = (await key.get(documents + queryString([query]))).refused(400, 'general_query_invalid').body;
    assert.match(String(message), /(iban|notes) is encrypted/);
    const texts = [JSON.stringify(query)];
    const change = { data: { title: 'x' }, queries: texts };
    (await key.patch(documents, change)).refused(400, 'general_query_invalid');
  }
  for (const type of ['key', 'unique', 'fulltext'])
    (await key.post(indexes, { key: 'i', type, attributes: ['iban'] })).refused(400, 'index_invalid');
  (await key.post(indexes, { key: 'i', type: 'key', attributes: ['title', 'notes'] })).refused(400, 'index_invalid');
  const select = queryString([{ method: 'select', values: ['iban'] }]);
  assert.equal((await key.get(documents + select)).expect(200).list('documents')[0]?.iban, 'x');
  assert.equal((await key.get(`${documents}/one${select}`)).expect(200).body.iban, 'x');
  (await key.patch(`${documents}/one/iban/increment`, {})).refused(400, 'attribute_type_invalid');
});

test('every change stores sealed values, and every read opens them', async () => {
  const of = await vault();
  const { documents } = of;
  const expected = new Map<string, Json>();
  const say = (id: string, data: Json = {}): Json => {
    const values = { title: hostile, labels: [':', hostile], iban: said(id), notes: [said('n'), '', ':'], ...data };
    expected.set(id, values);
    return values;
  };
  const shows = (shown: Json, id: string) => {
    const values = expected.get(id) ?? {};
    assert.deepEqual(Object.fromEntries(Object.keys(values).map((name) => [name, shown[name]])), values);
  };
  const answered = (answer: Answer, id: string, status: number) => shows(answer.expect(status).body, id);
  answered(await key.post(documents, { documentId: 'one', data: say('one') }), 'one', 201);
  answered(await key.patch(`${documents}/one`, { data: say('one') }), 'one', 200);
  answered(await key.put(`${documents}/two`, { data: say('two') }), 'two', 200);
  answered(await key.put(`${documents}/two`, { data: say('two') }), 'two', 200);
  answered(await key.put(`${documents}/none`, { data: say('none', { iban: null, notes: null }) }), 'none', 200);
  answered(await key.put(`${documents}/empty`, { data: say('empty', { iban: '', notes: [] }) }), 'empty', 200);
  const given = ['three', 'four', 'five'].map(($id) => ({ $id, ...say($id) }));
  const bulk = (await key.post(documents, { documents: given })).expect(201).list('documents');
  for (const shown of bulk) shows(shown, String(shown.$id));
  const iban = said('all');
  const queries = [JSON.stringify({ method: 'equal', attribute: '$id', values: ['three', 'four'] })];
  const changed = (await key.patch(documents, { data: { iban }, queries })).expect(200).list('documents');
  for (const id of ['three', 'four']) say(id, { ...expected.get(id), iban });
  for (const shown of changed) shows(shown, String(shown.$id));
  (await key.put(documents, { documents: [{ $id: 'five', ...say('five') }] })).expect(200);
  // Operators compute from the clear value.
  const concat = JSON.stringify({ method: 'stringConcat', values: [` ${marker}`] });
  const append = JSON.stringify({ method: 'arrayAppend', values: [marker] });
  const { iban: text, notes } = expected.get('one') as { iban: string; notes: string[] };
  const operated = await key.patch(`${documents}/one`, { data: { iban: concat, notes: append } });
  say('one', { iban: `${text} ${marker}`, notes: [...notes, marker] });
  answered(operated, 'one', 200);
  await nothingStored();
  const listed = (await key.get(documents)).expect(200).list('documents');
  assert.deepEqual(new Set(listed.map(({ $id }) => $id)), new Set(expected.keys()));
  for (const shown of listed) shows(shown, String(shown.$id));
  for (const id of expected.keys()) answered(await key.get(`${documents}/${id}`), id, 200);
  const where = `databaseId: "${databaseId}", collectionId: "${of.id}"`;
  const { data, errors } = await graphql(
    key,
    `{ documentList(${where}) { documents { id data } } documentGet(${where}, documentId: "one") { data } }`,
  );
  assert.deepEqual(errors, []);
  for (const { id, data: shown } of (data.documentList as { documents: { id: string; data: Json }[] }).documents)
    shows(shown, id);
  shows((data.documentGet as { data: Json }).data, 'one');
  shows((await tables.getRow({ databaseId, tableId: of.id, rowId: 'one' })) as never, 'one');
  const place = { project: target.project, databaseId, collectionId: of.id };
  for await (const page of target.appliance.features.transfer.exported(place))
    for (const document of page.documents) shows(JSON.parse(`{${document.data}}`), document.id);
});

test('a value that is set again keeps its bytes, and so does one beside a change', async () => {
  const of = await vault();
  const { documents } = of;
  const { table, column } = await columnOf(of, 'iban');
  const bytes = async () => (await runSql(target, `select ${column} as sealed from ${table}`))[0]?.sealed;
  const data = { iban: said('same'), notes: ['a'] };
  const first = (await key.post(documents, { documentId: 'one', data })).expect(201);
  const before = await bytes();
  assert.match(String(before), /^v2\.[\w-]+$/);
  const again = (await key.patch(`${documents}/one`, { data })).expect(200);
  assert.deepEqual(again.body, first.body);
  assert.equal(again.headers.get('etag'), first.headers.get('etag'));
  const etag = String(again.headers.get('etag'));
  const other = { data: { ...data, title: 'new' } };
  (await key.patch(`${documents}/one`, other, { 'If-Match': etag })).expect(200);
  (await key.patch(`${documents}/one`, other, { 'If-Match': etag })).refused(412, 'general_precondition_failed');
  assert.equal(await bytes(), before);
  (await key.patch(`${documents}/one`, { data: { iban: null } })).expect(200);
  assert.equal(await bytes(), null);
  assert.equal((await key.get(`${documents}/one`)).expect(200).body.iban, null);
});

test('an attribute of a new name keeps its values, and no other attribute gets those of a removed one', async () => {
  const { documents, attributes, path } = await vault();
  const iban = said('renamed');
  (await key.post(documents, { documentId: 'one', data: { iban } })).expect(201);
  const rename = { required: false, default: null, newKey: 'account.no' };
  (await key.patch(`${attributes}/string/iban`, rename)).expect(200);
  assert.equal((await key.get(`${documents}/one`)).expect(200).body['account.no'], iban);
  assert.equal((await key.get(documents)).expect(200).list('documents')[0]?.['account.no'], iban);
  (await key.delete(`${attributes}/account.no`)).expect(204);
  await addAttribute(key, path, 'account.no', { type: 'string', size: 150, encrypt: true });
  assert.equal((await key.get(`${documents}/one`)).expect(200).body['account.no'], null);
});

test('transactions, nested documents and repeated requests store no clear value either', async () => {
  const of = await vault();
  const parents = await collection({ permissions: open, attributes: { name: { type: 'string', size: 50 } } });
  const relation = { relatedCollectionId: of.id, type: 'oneToMany', key: 'kids', twoWay: true, twoWayKey: 'mom' };
  (await key.post(`${parents.attributes}/relationship`, relation)).expect(202);
  const [one, two, three] = [said('staged'), said('nested'), said('staged nested')];
  const transactionId = (await key.post('/databases/transactions', {})).expect(201).string('$id');
  const staged = { documentId: 'one', data: { iban: one }, transactionId };
  const headers = { 'Idempotency-Key': 'staged' };
  const answer = (await key.post(of.documents, staged, headers)).expect(201);
  assert.equal(answer.body.iban, one);
  const inside = { documentId: 'p2', data: { kids: [{ $id: 'three', iban: three }] }, transactionId };
  (await key.post(parents.documents, inside)).expect(201);
  assert.equal((await rowsOf(target, 'transaction_operations')).length, 2);
  await nothingStored();
  assert.equal((await key.post(of.documents, staged, headers)).expect(201).text, answer.text);
  assert.equal((await key.get(`${of.documents}/one?transactionId=${transactionId}`)).expect(200).body.iban, one);
  (await key.patch(`/databases/transactions/${transactionId}`, { commit: true })).expect(200);
  const nested = { documentId: 'p1', data: { kids: [{ $id: 'two', iban: two }] } };
  const repeated = { 'Idempotency-Key': 'nested' };
  const written = (await key.post(parents.documents, nested, repeated)).expect(201);
  assert.equal((written.list('kids')[0] as Json).iban, two);
  assert.equal((await key.post(parents.documents, nested, repeated)).expect(201).text, written.text);
  await nothingStored();
  for (const [id, iban] of [
    ['one', one],
    ['two', two],
    ['three', three],
  ])
    assert.equal((await key.get(`${of.documents}/${id}`)).expect(200).body.iban, iban);
  const populated = (await key.get(`${parents.documents}?populate[0]=kids`)).expect(200).list('documents');
  assert.deepEqual(
    populated.map(({ kids }) => (kids as Json[]).map(({ iban }) => iban)),
    [[three], [two]],
  );
  const query = { method: 'equal', attribute: 'kids.iban', values: [two] };
  (await key.get(parents.documents + queryString([query]))).refused(400, 'general_query_invalid');
});

test('webhooks, the feed and sockets carry the clear document, and the stored event is sealed', async () => {
  const receiver = await startReceiver();
  const of = await vault({ documentSecurity: true });
  await aWebhook(key, receiver.origin, { events: ['documentCreated', 'documentUpdated', 'documentDeleted'] });
  const { socket, told, ask } = await openSocket(target);
  const channels = [`databases.${databaseId}.collections.${of.id}.documents`];
  await ask('subscribe', [{ subscriptionId: 's', channels, queries: [] }]);
  const iban = said('told');
  const data = { iban, notes: [iban] };
  (
    await key.post(of.documents, {
      documentId: 'one',
      data,
      permissions: open.filter((one) => !one.startsWith('create')),
    })
  ).expect(201);
  (await key.patch(`${of.documents}/one`, { data: { title: 'x' } })).expect(200);
  (await key.delete(`${of.documents}/one`)).expect(204);
  await numbered(target);
  await nothingStored();
  const rows = (await rowsOf(target, 'events')).filter(({ resource }) => String(resource).includes(of.id));
  assert.equal(rows.length, 3);
  assert.ok(rows.every((row) => /^v2\.[\w-]+$/.test(String(row.data))));
  const payloads = (await told(3)).map(({ payload }) => payload);
  socket.terminate();
  const posted = await eventually(() => {
    const bodies = receiver.calls.map(bodyOf).filter(({ data: body }) => (body as Json).$collectionId === of.id);
    assert.equal(bodies.length, 3);
    return bodies.sort((a, b) => Number(a.sequence) - Number(b.sequence));
  });
  const resource = of.documents.slice(1).replace(/\/documents$/, '');
  const fed = (await key.get(`/events?resource=${resource}`)).expect(200).list('events');
  assert.deepEqual(fed, posted);
  assert.deepEqual(
    fed.map((event) => event.data),
    payloads,
  );
  assert.ok(payloads.every((payload) => payload.iban === iban));
});

test('the feed and webhooks have a document whose event is too long for an answer once it is sealed', async () => {
  const receiver = await startReceiver();
  const of = await vault();
  await aWebhook(key, receiver.origin, { events: ['documentCreated'] });
  const iban = said('long');
  const body = 'x'.repeat(maxBytes - 10_000);
  (await key.post(of.documents, { documentId: 'long', data: { iban, body } })).expect(201);
  (await key.post(of.documents, { documentId: 'sealed', data: { notes: [body] } })).refused(
    400,
    'document_invalid_structure',
  );
  (await key.post(of.documents, { documentId: 'short', data: { notes: [body.slice(0, 0.7 * maxBytes)] } })).expect(201);
  (await key.patch(`${of.documents}/short`, { data: { notes: [body] } })).refused(400, 'document_invalid_structure');
  await numbered(target);
  const resource = of.documents.slice(1).replace(/\/documents$/, '');
  const first = (await key.get(`/events?resource=${resource}`)).expect(200);
  const rest = (await key.get(`/events?resource=${resource}&cursor=${first.string('cursor')}`)).expect(200);
  const events = [...first.list('events'), ...rest.list('events')];
  assert.deepEqual(
    events.map(({ data }) => (data as Json).$id),
    ['long', 'short'],
  );
  assert.ok(JSON.stringify(events[0]).includes(JSON.stringify(iban)));
  await eventually(() => {
    const posted = receiver.calls.map(bodyOf).map(({ data }) => (data as Json).$id);
    assert.deepEqual(posted.sort(), ['long', 'short']);
  });
});

test('the erasure of a person finds the person in sealed events', async () => {
  const of = await vault();
  const [ada, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  for (const [id, person] of [
    ['a', ada],
    ['b', bob],
  ] as const)
    (await key.post(of.documents, { documentId: id, data: { title: person.id, iban: said(id) } })).expect(201);
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'cli' }, requestId: 'erase' };
  await target.appliance.features.erasure.run(by, target.project, ada.id);
  await numbered(target);
  const resource = of.documents.slice(1).replace(/\/documents$/, '');
  const events = (await key.get(`/events?resource=${resource}`)).expect(200).list('events');
  assert.deepEqual(
    events.map(({ data }) => [(data as Json).$id, (data as Json).erased, (data as Json).title]),
    [
      ['a', true, undefined],
      ['b', undefined, bob.id],
    ],
  );
});

test('a value that was changed or moved by SQL is an error of its document, which can be repaired and deleted', async () => {
  const of = await vault();
  const { documents } = of;
  const { table, column } = await columnOf(of, 'iban');
  const notes = await columnOf(of, 'notes');
  for (const documentId of ['one', 'two', 'three'])
    (await key.post(documents, { documentId, data: { iban: said(documentId), notes: ['a'] } })).expect(201);
  const replaced = [
    ['one', `(select ${column} from ${table} where id = 'two')`],
    ['one', notes.column],
    ['one', `'v2.AAAA'`],
    ['one', `'a " b'`],
  ] as const;
  for (const [id, value] of replaced) {
    await runSql(target, `update ${table} set ${column} = ${value}, shape = 'x' where id = '${id}'`);
    const { message } = (await key.get(`${documents}/${id}`)).refused(503, 'general_unavailable').body;
    assert.match(String(message), /"iban" in the document "one"/);
    (await key.get(documents)).refused(503, 'general_unavailable');
    (await key.patch(`${documents}/${id}`, { data: { title: 'x' } })).refused(503, 'general_unavailable');
    (await key.get(`${documents}/two`)).expect(200);
    const iban = said('repaired');
    assert.equal((await key.patch(`${documents}/${id}`, { data: { iban } })).expect(200).body.iban, iban);
    assert.equal((await key.get(documents)).expect(200).list('documents').length, 3);
  }
  await runSql(target, `update ${table} set ${column} = 'v2.AAAA', shape = 'x'`);
  (await key.delete(`${documents}/one`)).expect(204);
  const queries = [JSON.stringify({ method: 'equal', attribute: '$id', values: ['two'] })];
  (await key.request('DELETE', documents, { queries })).expect(200);
  await runSql(target, `update events set data = 'v2.AAAA' where resource like ?`, [`%${of.id}/documents/three`]);
  await numbered(target);
  const resource = of.documents.slice(1).replace(/\/documents$/, '');
  const events = (await key.get(`/events?resource=${resource}/documents/three`)).expect(200).list('events');
  const ids = { $id: 'three', $databaseId: databaseId, $collectionId: of.id };
  assert.deepEqual(events[0]?.data, { ...ids, erased: true });
});
