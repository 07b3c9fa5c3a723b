// Indexes: what they may be made of, unique values, and texts of any length.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { runSql } from '../harness/database.js';
import { aBackend, queryString } from './setup.js';

const target = await startAppliance();
const { key, collection: aCollection } = await aBackend(target);

test('an index is read, listed and removed; invalid definitions are refused', async () => {
  const { indexes } = await aCollection({
    attributes: {
      a: { type: 'string', size: 500 },
      b: { type: 'string', size: 400 },
      n: { type: 'integer' },
      tags: { type: 'string', size: 9, array: true },
    },
  });
  const create = (body: object) => key.post(indexes, { key: 'by', type: 'key', attributes: ['n', 'a'], ...body });
  const made = (await create({ orders: ['DESC', 'asc'] })).expect(202).body;
  assert.deepEqual([made.status, made.attributes, made.orders], ['available', ['n', 'a'], ['DESC', 'ASC']]);
  assert.deepEqual((await key.get(`${indexes}/by`)).expect(200).body, made);
  assert.deepEqual((await key.get(indexes)).expect(200).body, { total: 1, indexes: [made] });
  (await create({})).refused(409, 'index_already_exists');
  const plain = (await create({ key: 'plain', lengths: [0, 9] })).expect(202).body;
  assert.deepEqual([plain.orders, plain.lengths], [[], [0, 9]]);
  (await key.delete(`${indexes}/plain`)).expect(204);
  (await create({ key: 'x', attributes: ['no'] })).refused(400, 'attribute_unknown');
  for (const wrong of [
    { attributes: ['n', 'n'] },
    { attributes: ['a', 'b'] },
    { type: 'unique', attributes: ['tags'] },
  ])
    (await create({ key: 'x', ...wrong })).refused(400, 'index_invalid');
  for (const wrong of [{ attributes: [] }, { type: 'spatial' }, { orders: ['UP'] }, { key: 'a"b' }])
    (await create({ key: 'x', ...wrong })).refused(400, 'general_argument_invalid');
  (await key.delete(`${indexes}/by`)).expect(204);
  (await key.delete(`${indexes}/by`)).refused(404, 'index_not_found');
  (await key.get(`${indexes}/by`)).refused(404, 'index_not_found');
});

test('a unique index refuses equal values, heeds the case, and lets nulls be', async () => {
  const { documents, indexes } = await aCollection({
    attributes: { a: { type: 'string', size: 9 }, n: { type: 'integer' } },
  });
  const create = (documentId: string, data: object) => key.post(documents, { documentId, data });
  (await create('one', { a: 'x', n: 1 })).expect(201);
  (await create('two', { a: 'x', n: 1 })).expect(201);
  const unique = { key: 'u', type: 'unique', attributes: ['a', 'n'] };
  (await key.post(indexes, unique)).refused(400, 'index_invalid');
  (await key.delete(`${documents}/two`)).expect(204);
  (await key.post(indexes, unique)).expect(202);

  const conflict = 'document_unique_constraint_violation';
  (await create('two', { a: 'x', n: 1 })).refused(409, conflict);
  (await create('one', { a: 'y', n: 1 })).refused(409, 'document_already_exists');
  for (const [id, data] of Object.entries({
    b: { a: 'X', n: 1 },
    c: { a: 'x' },
    d: { a: 'x' },
    e: {},
    f: { n: 2, a: 'x' },
  }))
    (await create(id, data)).expect(201);
  (await key.patch(`${documents}/f`, { data: { n: 1 } })).refused(409, conflict);
  assert.equal((await key.get(`${documents}/f`)).expect(200).body.n, 2);
  (await key.patch(`${documents}/one`, { data: { a: 'x', n: 1 } })).expect(200);
  assert.equal((await key.get(documents)).expect(200).body.total, 6);

  const at = await Promise.all(Array.from({ length: 8 }, (_, n) => create(`p${n}`, { a: 'same', n: 9 })));
  assert.deepEqual(at.map(({ status }) => status).sort(), [201, ...Array(7).fill(409)]);
});

test('a query answers the same with an index as without', async () => {
  const { documents, indexes } = await aCollection({
    attributes: { a: { type: 'string', size: 9 }, n: { type: 'integer' } },
  });
  for (let at = 0; at < 30; at++)
    (await key.post(documents, { documentId: `d${at}`, data: { a: at % 5 ? `${at % 3}` : null, n: at % 4 } })).expect(
      201,
    );
  const orders = [
    ['orderDesc', 'orderAsc'],
    ['orderAsc', 'orderDesc'],
    ['orderAsc', 'orderAsc'],
  ].map(([a, n]) => [
    { method: a, attribute: 'a' },
    { method: n, attribute: 'n' },
  ]);
  const ask = async () => {
    const answers = orders.map((order) =>
      key.get(documents + queryString([...order, { method: 'limit', values: [9] }])),
    );
    return (await Promise.all(answers)).map(({ text }) => text);
  };
  const before = await ask();
  (await key.post(indexes, { key: 'i', type: 'key', attributes: ['a', 'n'], orders: ['DESC', 'ASC'] })).expect(202);
  assert.deepEqual(await ask(), before);
});

test('a value that is too long for an index is refused in words, and a list is never too long', async () => {
  // Hard to compress, so that nothing makes them shorter.
  let state = 7;
  const letters = (count: number, from: number, range: number) =>
    String.fromCodePoint(
      ...Array.from({ length: count }, () => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
        return from + ((state >>> 8) % range);
      }),
    );
  const long = letters(768, 0x20000, 0xa000);
  const url = `https://a.example/${letters(2020, 0x4e00, 0x5000)}`;
  const list = Array.from({ length: 60 }, () => letters(100, 0x4e00, 0x5000));
  const collection = await aCollection({
    attributes: {
      long: { type: 'string', size: 768 },
      url: { type: 'url' },
      list: { type: 'string', size: 100, array: true },
    },
  });
  const { documents, indexes } = collection;
  for (const name of ['long', 'url', 'list']) {
    const create = () => key.post(indexes, { key: name, type: 'key', attributes: [name] });
    (await create()).expect(202);
    const data = { long: { long }, url: { url }, list: { list } }[name];
    const answer = await key.post(documents, { documentId: name, data });
    // SQLite has room for all of them, Postgres for 2.7 KB in an index.
    if (answer.status !== 201) assert.notEqual(name, 'list');
    if (answer.status !== 201) answer.refused(400, 'document_invalid_structure');
    (await key.post(documents, { documentId: `short-${name}`, data: {} })).expect(201);
    const changed = await key.patch(`${documents}/short-${name}`, { data });
    assert.equal(changed.status, answer.status === 201 ? 200 : 400, changed.text.slice(0, 200));
    (await key.delete(`${indexes}/${name}`)).expect(204);
    (await key.patch(`${documents}/short-${name}`, { data })).expect(200);
    const again = await create();
    if (again.status !== 202) again.refused(400, 'index_invalid');
  }
});

test('a collection whose table has had as many columns as it may says so', async () => {
  const { id, attributes } = await aCollection();
  const [row] = await runSql(target, 'select number from collections where id = ?', [id]);
  const isPostgres = target.appliance.runtime.sql.dialect === 'postgres';
  const churn = `do $$ begin for i in 1..1588 loop
    execute 'alter table d_${row?.number} add column x' || i || ' int';
    execute 'alter table d_${row?.number} drop column x' || i;
  end loop; end $$`;
  if (isPostgres) await runSql(target, churn);
  const create = (name: string) => key.post(`${attributes}/boolean`, { key: name, required: false });
  for (let at = 0; at < 5; at++) (await create(`a${at}`)).expect(202);
  const { status, body } = await create('last');
  assert.deepEqual([status, body.type], isPostgres ? [400, 'attribute_limit_exceeded'] : [202, 'boolean']);
});
