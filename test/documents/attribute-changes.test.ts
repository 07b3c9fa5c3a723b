// The types of attributes that newer SDKs have, and changes of attributes that meet stored values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, Databases, TablesDB } from 'node-appwrite';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { refused } from './sdk.js';
import { aBackend } from './setup.js';

const target = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const sibling = await target.startSibling();
const { key, databaseId, collection: aCollection } = await aBackend(target);
const { secret } = await aServerKey(target);
const there = createClient(sibling, { key: secret });
const sdk = new Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id).setKey(secret);
const [databases, tables] = [new Databases(sdk), new TablesDB(sdk)];
const largest = 2n ** 63n - 1n;

test('the SDKs make and change the newer types, under both names', async () => {
  const { id } = await aCollection();
  const of = { databaseId, collectionId: id, required: false };
  const inTable = { databaseId, tableId: id, required: false };
  const made = [
    await databases.createVarcharAttribute({ ...of, key: 'varchar', size: 16_381, xdefault: 'x' }),
    await databases.createTextAttribute({ ...of, key: 'text', array: true }),
    await databases.createMediumtextAttribute({ ...of, key: 'mediumtext', xdefault: 'y' }),
    await databases.createLongtextAttribute({ ...of, key: 'longtext', encrypt: false }),
    await databases.createBigIntAttribute({
      ...of,
      key: 'bigint',
      min: -largest,
      max: largest,
      xdefault: largest - 1n,
    }),
    await tables.createVarcharColumn({ ...inTable, key: 'v', size: 9 }),
    await tables.createTextColumn({ ...inTable, key: 't', xdefault: 'z' }),
    await tables.createMediumtextColumn({ ...inTable, key: 'm' }),
    await tables.createLongtextColumn({ ...inTable, key: 'l' }),
    await tables.createBigIntColumn({ ...inTable, key: 'b' }),
  ];
  const types = ['varchar', 'text', 'mediumtext', 'longtext', 'bigint'];
  assert.deepEqual(
    made.map(({ type, status }) => [type, status]),
    [...types, ...types].map((type) => [type, 'available']),
  );
  assert.deepEqual(
    (await databases.listAttributes({ databaseId, collectionId: id })).attributes,
    (await tables.listColumns({ databaseId, tableId: id })).columns,
  );
  const {
    min,
    max,
    default: value,
  } = (await databases.getAttribute({ databaseId, collectionId: id, key: 'bigint' })) as never as Record<
    string,
    unknown
  >;
  assert.deepEqual([min, max, value], [-largest, largest, largest - 1n]);
  const varchar = await databases.updateVarcharAttribute({
    ...of,
    key: 'varchar',
    xdefault: 'q',
    size: 20,
    newKey: 'v2',
  });
  assert.deepEqual([varchar.key, varchar.size, varchar.default], ['v2', 20, 'q']);
  await databases.updateTextAttribute({ ...of, key: 'text', xdefault: null as never, newKey: 'text2' });
  await databases.updateMediumtextAttribute({ ...of, key: 'mediumtext', xdefault: 'w' });
  await databases.updateLongtextAttribute({ ...of, key: 'longtext', required: true, xdefault: null as never });
  await databases.updateBigIntAttribute({ ...of, key: 'bigint', min: 5, xdefault: 7 });
  await tables.updateVarcharColumn({ ...inTable, key: 'v', xdefault: null as never, size: 10 });
  await tables.updateTextColumn({ ...inTable, key: 't', xdefault: 'u' });
  await tables.updateMediumtextColumn({ ...inTable, key: 'm', xdefault: null as never });
  await tables.updateLongtextColumn({ ...inTable, key: 'l', xdefault: null as never });
  await tables.updateBigIntColumn({ ...inTable, key: 'b', xdefault: -5 });
  const row = (await tables.createRow({
    databaseId,
    tableId: id,
    rowId: 'one',
    data: { longtext: 'x'.repeat(100_000) } as never,
  })) as unknown as Record<string, unknown>;
  assert.deepEqual([row.v2, row.mediumtext, row.bigint, row.t, row.b, row.text2], ['q', 'w', 7, 'u', -5, null]);
  const { components } = (await key.get('/openapi.json')).expect(200).body as never as {
    components: { schemas: Record<string, { properties: Record<string, unknown> }> };
  };
  const { v2, b } = components.schemas[`Document.${databaseId}.${id}`]?.properties ?? {};
  assert.deepEqual(
    [v2, b],
    [{ type: 'string', maxLength: 20 }, { type: 'integer' }].map((one) => ({ anyOf: [one, { type: 'null' }] })),
  );
  await refused(databases.updateBigIntAttribute({ ...of, key: 't', xdefault: 1 }), 400, 'attribute_type_invalid');
  await refused(databases.createVarcharAttribute({ ...of, key: 'x', size: 16_382 }), 400, 'general_argument_invalid');
  await refused(tables.createBigIntColumn({ ...inTable, key: 'x', min: 5, max: 4 }), 400, 'column_value_invalid');
});

test('attributes that are places are a feature that there is not', async () => {
  const { id, path, attributes } = await aCollection();
  const of = { databaseId, collectionId: id, key: 'x', required: false };
  const inTable = { databaseId, tableId: id, key: 'x', required: false };
  const unsupported = [
    () => databases.createPointAttribute(of),
    () => databases.createLineAttribute(of),
    () => databases.createPolygonAttribute(of),
    () => databases.updatePointAttribute(of),
    () => tables.createPointColumn(inTable),
    () => tables.createLineColumn(inTable),
    () => tables.createPolygonColumn(inTable),
    () => tables.updatePolygonColumn(inTable),
  ];
  for (const act of unsupported) await refused(act(), 400, 'general_feature_unsupported');
  (await key.post(`${attributes}/text`, { key: 'point', required: false })).expect(202);
  assert.equal((await key.get(`${attributes}/point`)).expect(200).body.type, 'text');
  (await key.put(`${attributes}/point`, {})).refused(405, 'general_method_unsupported');
  assert.equal((await key.get(path)).expect(200).list('attributes').length, 1);
});

test('the SDK makes encrypted attributes of every type of text, and answers show it', async () => {
  const { id, attributes } = await aCollection();
  const of = { databaseId, collectionId: id, required: false, encrypt: true };
  const inTable = { databaseId, tableId: id, required: false, encrypt: true };
  const created = [
    await databases.createStringAttribute({ ...of, key: 'string', size: 150 }),
    await databases.createVarcharAttribute({ ...of, key: 'varchar', size: 150, array: true }),
    await databases.createTextAttribute({ ...of, key: 'text' }),
    await databases.createMediumtextAttribute({ ...of, key: 'mediumtext' }),
    await databases.createLongtextAttribute({ ...of, key: 'longtext', xdefault: 'plain' }),
    await tables.createStringColumn({ ...inTable, key: 's', size: 200 }),
    await tables.createTextColumn({ ...inTable, key: 't' }),
  ];
  assert.ok(created.every(({ encrypt }) => encrypt === true));
  // A push of appwrite-cli recreates a column whose answer has a member that its file lacks.
  assert.ok(!('encrypt' in (await databases.createStringAttribute({ ...of, key: 'plain', size: 9, encrypt: false }))));
  const listed = (await key.get(attributes)).expect(200).list('attributes');
  assert.deepEqual(
    listed.map(({ encrypt }) => encrypt),
    [...created.map(() => true), undefined],
  );
  // The update has no such parameter, and leaves it.
  const change = { databaseId, collectionId: id, key: 'string', required: false, xdefault: 'x', encrypt: false };
  assert.equal((await databases.updateStringAttribute(change as never)).encrypt, true);
  assert.equal((await databases.updateStringAttribute({ ...change, size: 160 } as never)).encrypt, true);
});

test('an encrypted attribute has a size of at least 150, also after a change and with a new collection', async () => {
  const { id, documents, attributes } = await aCollection({
    attributes: { iban: { type: 'string', size: 150, encrypt: true } },
  });
  const of = { databaseId, collectionId: id, required: false };
  const small = { ...of, key: 'x', size: 149, encrypt: true };
  await refused(databases.createStringAttribute(small), 400, 'general_bad_request');
  await refused(databases.createVarcharAttribute(small), 400, 'general_bad_request');
  const given = { key: 'x', type: 'string', size: 150, encrypt: true };
  const base = `/databases/${databaseId}/collections`;
  const answer = await key.post(base, { collectionId: 'given', name: 'Given', attributes: [given] });
  assert.equal(answer.expect(201).list('attributes')[0]?.encrypt, true);
  const few = { collectionId: 'few', name: 'Few', attributes: [{ ...given, size: 149 }] };
  (await key.post(base, few)).refused(400, 'general_bad_request');
  const resize = (size: number) => key.patch(`${attributes}/string/iban`, { required: false, default: null, size });
  (await resize(149)).refused(400, 'general_bad_request');
  (await resize(500)).expect(200);
  (await resize(400)).expect(200);
  (await key.post(documents, { documentId: 'one', data: { iban: 'x' } })).expect(201);
  (await resize(300)).refused(400, 'attribute_invalid_resize');
  (await key.post(documents, { documentId: 'two', data: { iban: 'x'.repeat(401) } })).refused(
    400,
    'document_invalid_structure',
  );
});

test('a size is not made smaller than a stored value, in arrays as well', async () => {
  const { documents, attributes } = await aCollection({
    attributes: {
      one: { type: 'string', size: 9 },
      two: { type: 'varchar', size: 9 },
      some: { type: 'string', size: 9, array: true },
    },
  });
  const resize = (type: string, name: string, size: number) =>
    key.patch(`${attributes}/${type}/${name}`, { required: false, default: null, size });
  const data = { one: '😀😀😀😀', two: 'abcde', some: ['a', '😀😀😀', ''] };
  (await key.post(documents, { documentId: 'a', data })).expect(201);
  (await key.post(documents, { documentId: 'b', data: { some: [] } })).expect(201);
  for (const [type, name, size] of [
    ['string', 'one', 3],
    ['varchar', 'two', 4],
    ['string', 'some', 2],
  ] as const) {
    (await resize(type, name, size)).refused(400, 'attribute_invalid_resize');
    const table = `${attributes.replace('/databases/', '/tablesdb/').replace('/collections/', '/tables/')}`.replace(
      'attributes',
      'columns',
    );
    (await key.patch(`${table}/${type}/${name}`, { required: false, default: null, size })).refused(
      400,
      'column_invalid_resize',
    );
    assert.equal((await resize(type, name, size + 1)).expect(200).body.size, size + 1);
    (await key.patch(`${documents}/b`, { data: { [name]: name === 'some' ? ['xxxx'] : 'xxxxxx' } })).refused(
      400,
      'document_invalid_structure',
    );
    assert.equal((await resize(type, name, 100)).expect(200).body.size, 100);
  }
});

test('while sizes shrink and grow, no value becomes longer than its attribute', async () => {
  const { documents, attributes } = await aCollection({ attributes: { t: { type: 'string', size: 8 } } });
  (await key.post(documents, { documentId: 'a', data: { t: '' } })).expect(201);
  let over = false;
  const write = async (client: typeof key) => {
    for (let at = 0; !over; at++) {
      const { status, body } = await client.patch(`${documents}/a`, { data: { t: 'x'.repeat(at % 9) } });
      assert.ok(status === 200 || (status === 400 && body.type === 'document_invalid_structure'), JSON.stringify(body));
    }
  };
  const writers = [write(key), write(there), write(there)];
  for (let at = 0; at < 30; at++) {
    const size = at % 2 === 0 ? 4 : 8;
    const { status, body } = await key.patch(`${attributes}/string/t`, { required: false, default: null, size });
    assert.ok(status === 200 || body.type === 'attribute_invalid_resize', JSON.stringify(body));
    const now = Number((await key.get(`${attributes}/t`)).body.size);
    const { t } = (await key.get(`${documents}/a`)).expect(200).body;
    assert.ok(String(t).length <= now, `${t} in ${now}`);
  }
  over = true;
  await Promise.all(writers);
});

test('long texts have no index, and operators know the newer types', async () => {
  const { documents, indexes } = await aCollection({
    attributes: {
      t: { type: 'text' },
      v: { type: 'varchar', size: 700 },
      b: { type: 'bigint', max: 9 },
      list: { type: 'text', array: true },
    },
  });
  const index = (name: string) => key.post(indexes, { key: name, type: 'key', attributes: [name] });
  (await index('t')).refused(400, 'index_invalid');
  for (const name of ['v', 'b', 'list']) (await index(name)).expect(202);
  (await key.post(documents, { documentId: 'a', data: { t: 'a', v: 'b', b: 1, list: [] } })).expect(201);
  const operator = (method: string, ...values: unknown[]) => JSON.stringify({ method, values });
  const data = {
    t: operator('stringConcat', 'b'),
    v: operator('stringReplace', 'b', 'c'),
    b: operator('power', 2),
    list: operator('arrayAppend', 'x'),
  };
  const { t, v, b, list } = (await key.patch(`${documents}/a`, { data })).expect(200).body;
  assert.deepEqual([t, v, b, list], ['ab', 'c', 1, ['x']]);
  assert.equal((await key.patch(`${documents}/a/b/increment`, { value: 8 })).expect(200).body.b, 9);
  (await key.patch(`${documents}/a/b/increment`, {})).refused(400, 'attribute_limit_exceeded');
});
