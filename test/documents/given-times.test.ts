// `$createdAt` and `$updatedAt` of documents that a server key imports: in every kind of write, in lists of all callers, and from nobody else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import type { Client } from '../harness/client.js';
import { recordedBy } from '../harness/database.js';
import { someCallers } from './callers.js';
import { aBackend, queryString } from './setup.js';

const target = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const { key, collection: aCollection } = await aBackend(target);
const { ada, bob } = await someCallers(target);
const open = ['read', 'create', 'update', 'delete'].map((may) => `${may}("users")`);
const attributes = { n: { type: 'integer' } };
const year = (number: number) => `${number}-01-01T00:00:00.000+00:00`;
const given = (created: number, updated: number) => ({ $createdAt: year(created), $updatedAt: year(updated) });
const timesOf = ({ $createdAt, $updatedAt }: Record<string, unknown>) => [$createdAt, $updatedAt];
const idsOf = async (client: Client, path: string, ...queries: readonly unknown[]) =>
  (await client.get(path + queryString(queries)))
    .expect(200)
    .list('documents')
    .map(({ $id }) => $id);

test('a server key sets the times of documents in every kind of write', async () => {
  const { documents, databaseId, id } = await aCollection({ attributes });
  const one = `${documents}/one`;
  const create = {
    documentId: 'one',
    data: { n: 1, $createdAt: '1969-07-20 20:17:40', $updatedAt: '1999-12-31T23:00:00-01:00' },
  };
  const made = (await key.post(documents, create)).expect(201);
  assert.deepEqual(timesOf(made.body), ['1969-07-20T20:17:40.000+00:00', year(2000)]);
  assert.equal((await key.get(one)).text, made.text);
  assert.deepEqual(timesOf((await key.patch(one, { data: { n: 2, ...given(1998, 1999) } })).body), [
    year(1998),
    year(1999),
  ]);
  assert.deepEqual(timesOf((await key.put(one, { data: { n: 3, ...given(1996, 1997) } })).body), [
    year(1996),
    year(1997),
  ]);
  assert.deepEqual(timesOf((await key.put(`${documents}/two`, { data: given(1994, 1995) })).body), [
    year(1994),
    year(1995),
  ]);
  const bulk = async (method: string, body: object, status: number) =>
    (await key.request(method, documents, body)).expect(status).list('documents').map(timesOf);
  assert.deepEqual(await bulk('POST', { documents: [given(1992, 1993), given(1990, 1991)] }, 201), [
    [year(1992), year(1993)],
    [year(1990), year(1991)],
  ]);
  assert.deepEqual(await bulk('PUT', { documents: [{ $id: 'one', ...given(1988, 1989) }] }, 200), [
    [year(1988), year(1989)],
  ]);
  const queries = [JSON.stringify({ method: 'equal', attribute: '$id', values: ['one'] })];
  assert.deepEqual(await bulk('PATCH', { data: given(1986, 1987), queries }, 200), [[year(1986), year(1987)]]);
  const where = `databaseId: "${databaseId}", collectionId: "${id}", documentId: "one"`;
  const query = `mutation ($data: JSON!) { documentUpdate(${where}, data: $data) { createdAt updatedAt } }`;
  const answer = (await key.post('/graphql', { query, variables: { data: given(1984, 1985) } })).expect(200);
  assert.deepEqual(answer.body.data, { documentUpdate: { createdAt: year(1984), updatedAt: year(1985) } });
});

test('changing only the times is a change; the same times are none; without times all is as usual', async () => {
  const { documents } = await aCollection({ attributes });
  const one = `${documents}/one`;
  (await key.post(documents, { documentId: 'one', data: given(2000, 2001) })).expect(201);
  const changes: readonly (readonly [object, readonly unknown[], number])[] = [
    [{ $updatedAt: year(2002) }, [year(2000), year(2002)], 1],
    [{ $updatedAt: year(2002) }, [year(2000), year(2002)], 0],
    [given(2000, 2002), [year(2000), year(2002)], 0],
    [{ $updatedAt: null, $createdAt: null }, [year(2000), year(2002)], 0],
  ];
  for (const [data, times, count] of changes) {
    const { recorded } = await recordedBy(target, async () => {
      assert.deepEqual(timesOf((await key.patch(one, { data })).expect(200).body), times);
    });
    assert.equal(recorded.events.length, count, JSON.stringify(data));
  }
  const created = (await key.patch(one, { data: { $createdAt: year(1999) } })).expect(200).body;
  assert.equal(created.$createdAt, year(1999));
  assert.ok(String(created.$updatedAt) > year(2002));
  const later = (await key.patch(one, { data: { n: 1 } })).expect(200).body;
  assert.equal(later.$createdAt, year(1999));
});

test('refuses an invalid time; ignores times given by users', async () => {
  const { documents } = await aCollection({ permissions: open, attributes });
  for (const time of ['never', 7, '2023-02-29', '', {}, '9999-12-31T23:59:59-05:00'])
    for (const name of ['$createdAt', '$updatedAt']) {
      const refused = await key.post(documents, { documentId: 'x', data: { [name]: time } });
      const { message } = refused.refused(400, 'document_invalid_structure').body;
      assert.ok(String(message).includes(name), String(message));
    }
  const before = new Date(target.clock.now()).toISOString().slice(0, 16);
  const made = (await ada.client.post(documents, { documentId: 'hers', data: given(2000, 2001) })).expect(201).body;
  const put = (await ada.client.put(`${documents}/hers`, { data: { n: 1, ...given(2000, 2001) } })).expect(200).body;
  const changed = (await ada.client.patch(`${documents}/hers`, { data: { n: 2, $createdAt: 'never' } })).expect(
    200,
  ).body;
  for (const body of [made, put, changed])
    for (const time of timesOf(body)) assert.ok(String(time) >= before, `${time} ${before}`);
});

test('lists by time are right for everybody, before and after a time is changed', async () => {
  const { documents } = await aCollection({ documentSecurity: true, attributes });
  const permissions = [`read("user:${ada.name}")`, 'read("users")'];
  const made = [2005, 2001, 2003, 1965, 2099].map((created, at) => ({
    ...given(created, created + 1),
    $id: `d${at}`,
    $permissions: at === 2 ? ['read("user:nobody")'] : permissions,
  }));
  (await key.post(documents, { documents: made })).expect(201);
  const order = (attribute: string, method = 'orderAsc') => ({ method, attribute });
  for (const attribute of ['$createdAt', '$updatedAt']) {
    assert.deepEqual(await idsOf(key, documents, order(attribute)), ['d3', 'd1', 'd2', 'd0', 'd4']);
    for (const { client } of [ada, bob]) {
      assert.deepEqual(await idsOf(client, documents, order(attribute)), ['d3', 'd1', 'd0', 'd4']);
      assert.deepEqual(await idsOf(client, documents, order(attribute, 'orderDesc')), ['d4', 'd0', 'd1', 'd3']);
    }
  }
  (await key.patch(`${documents}/d3`, { data: given(2100, 2100) })).expect(200);
  (await key.put(`${documents}/d0`, { data: given(1800, 1800), permissions: ['read("users")'] })).expect(200);
  for (const { client } of [ada, bob]) {
    const after = { method: 'cursorAfter', values: ['d1'] };
    assert.deepEqual(await idsOf(client, documents, order('$createdAt')), ['d0', 'd1', 'd4', 'd3']);
    assert.deepEqual(await idsOf(client, documents, order('$createdAt'), after), ['d4', 'd3']);
    const since = { method: 'greaterThan', attribute: '$createdAt', values: ['2050-01-01'] };
    assert.deepEqual(await idsOf(client, documents, since, order('$createdAt', 'orderDesc')), ['d3', 'd4']);
  }
});
