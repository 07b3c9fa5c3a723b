// The unmodified TablesDB service of node-appwrite: the same databases under other names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, ID, type Models, Permission, Query, Role, TablesDB } from 'node-appwrite';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { recordedBy } from '../harness/database.js';
import { refused } from './sdk.js';

const target = await startAppliance();
const { secret } = await aServerKey(target);
const ada = await aLoggedInUser(target);
const client = () => new Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id);
const server = new TablesDB(client().setKey(secret));
const adas = new TablesDB(client().setSession(ada.secret));
const key = createClient(target, { key: secret });
const of = { databaseId: 'blog', tableId: 'posts' };
const row = (rowId: string) => ({ ...of, rowId });
const old = '/databases/blog/collections/posts';

test('a backend makes a database, tables, columns and indexes', async () => {
  assert.equal((await server.create({ databaseId: 'blog', name: 'Blog' })).$id, 'blog');
  assert.equal((await server.list()).databases.length, 1);
  assert.equal((await server.get({ databaseId: 'blog' })).name, 'Blog');
  assert.equal((await server.update({ databaseId: 'blog', name: 'Journal' })).name, 'Journal');
  const permissions = [Permission.create(Role.users()), Permission.read(Role.users())];
  const made = await server.createTable({ ...of, name: 'Posts', permissions, rowSecurity: true });
  assert.deepEqual([made.$id, made.rowSecurity, made.columns, made.indexes], ['posts', true, [], []]);
  const optional = { ...of, required: false };
  await server.createStringColumn({ ...of, key: 'title', size: 40, required: true });
  await server.createIntegerColumn({ ...optional, key: 'n', xdefault: 1 });
  await server.createFloatColumn({ ...optional, key: 'ratio' });
  await server.createBooleanColumn({ ...optional, key: 'flag' });
  await server.createDatetimeColumn({ ...optional, key: 'at' });
  await server.createEmailColumn({ ...optional, key: 'mail' });
  await server.createUrlColumn({ ...optional, key: 'link' });
  await server.createIpColumn({ ...optional, key: 'ip' });
  await server.createEnumColumn({ ...optional, key: 'kind', elements: ['a', 'b'] });
  assert.equal(
    (await server.updateStringColumn({ ...of, key: 'title', required: true, xdefault: null as never, size: 60 })).size,
    60,
  );
  assert.equal((await server.listColumns(of)).columns.length, 9);
  assert.equal((await server.getColumn({ ...of, key: 'n' })).key, 'n');
  await server.deleteColumn({ ...of, key: 'ip' });
  const index = await server.createIndex({ ...of, key: 'by-n', type: 'key' as never, columns: ['n'] });
  assert.deepEqual(index.columns, ['n']);
  assert.deepEqual((await server.listIndexes(of)).indexes[0]?.columns, ['n']);
  await server.deleteIndex({ ...of, key: 'by-n' });
  await refused(server.getIndex({ ...of, key: 'by-n' }), 404, 'column_index_not_found');
  const table = await server.getTable(of);
  assert.equal(table.columns.length, 8);
  assert.deepEqual(
    (await server.listTables({ databaseId: 'blog' })).tables.map(({ $id }) => $id),
    ['posts'],
  );
  assert.equal((await server.updateTable({ ...of, name: 'Notes' })).name, 'Notes');
  await refused(server.createTable({ ...of, name: 'Twice' }), 409, 'table_already_exists');
  await refused(server.getTable({ ...of, tableId: 'none' }), 404, 'table_not_found');
});

test('rows are the documents of the collection, with the same events and permissions', async () => {
  const { recorded } = await recordedBy(target, async () => {
    const made = await adas.createRow({
      ...row('one'),
      data: { title: ',"$collectionId":"x" "documents":[', n: 2n ** 60n },
    });
    assert.deepEqual([made.$tableId, made.title, made.n], ['posts', ',"$collectionId":"x" "documents":[', 2n ** 60n]);
    assert.ok(!('$collectionId' in made));
  });
  assert.deepEqual(recorded, { audit: ['documentCreated'], events: ['documentCreated'], messages: [] });
  const document = (await key.get(`${old}/documents/one`)).expect(200);
  const shown = (await key.get('/tablesdb/blog/tables/posts/rows/one')).expect(200);
  assert.equal(shown.text, document.text.replace(',"$collectionId":"posts"', ',"$tableId":"posts"'));
  assert.equal(shown.headers.get('etag'), document.headers.get('etag'));

  assert.equal((await adas.updateRow({ ...row('one'), data: { n: 5 } })).n, 5);
  assert.equal((await adas.upsertRow({ ...row('one'), data: { title: 'B', n: 6 } })).title, 'B');
  assert.equal((await adas.incrementRowColumn({ ...row('one'), column: 'n', value: 2 })).n, 8);
  assert.equal((await adas.decrementRowColumn({ ...row('one'), column: 'n' })).n, 7);
  const listed = await adas.listRows({ ...of, queries: [Query.equal('n', 7)] });
  assert.deepEqual([listed.total, listed.rows.map(({ $id, $tableId }) => [$id, $tableId])], [1, [['one', 'posts']]]);
  const both = [{ title: 'x' }, { $id: 'two', title: 'y' }];
  assert.equal((await server.createRows({ ...of, rows: both })).rows.length, 2);
  assert.equal((await server.upsertRows({ ...of, rows: [{ $id: 'two', title: 'z' }] })).rows[0]?.title, 'z');
  assert.equal(
    (await server.updateRows({ ...of, data: { flag: true }, queries: [Query.equal('title', 'z')] })).total,
    1,
  );
  assert.equal((await server.deleteRows({ ...of, queries: [Query.equal('flag', true)] })).rows[0]?.$id, 'two');
  await refused(adas.getRow(row('none')), 404, 'row_not_found');
  await refused(
    server.createRow<Models.DefaultRow>({ ...row(ID.unique()), data: { other: 1 } }),
    400,
    'row_invalid_structure',
  );
  await refused(
    server.createRow<Models.DefaultRow>({ ...row('one'), data: { title: 'again' } }),
    409,
    'row_already_exists',
  );
  await refused(server.incrementRowColumn({ ...row('one'), column: 'none' }), 404, 'column_not_found');
  const wrong = await key.post('/tablesdb/blog/tables/posts/rows', { rowId: '$', data: {} });
  assert.match(wrong.refused(400, 'general_argument_invalid').string('message'), /`rowId`/);
  const rows = '/tablesdb/blog/tables/posts/rows';
  const told = async (path: string, body: object) => (await key.post(path, body)).expect(400).string('message');
  assert.equal(await told(rows, { data: { title: 't' } }), 'Param "rowId" is not optional.');
  assert.equal(await told(`${old}/documents`, { data: { title: 't' } }), 'Param "documentId" is not optional.');
  assert.match(
    await told(rows, { rows: [{ title: 't' }], rowId: 'x' }),
    /`rows`, or `rowId` with `data` and `permissions`/,
  );
  const invalid = (data: object) => told(rows, { rowId: 'x', data });
  assert.equal(await invalid({ title: 't', document: 1 }), 'Invalid row structure: unknown column "document".');
  assert.equal(await invalid({}), 'Invalid row structure: missing required column "title".');
  assert.match(await told(`${old}/documents`, { documentId: 'x', data: {} }), /^Invalid document .* attribute "title"/);
  // What the caller calls a column stays what it is.
  assert.match(await told(rows, { rowId: 'x', data: { title: 't', documentId: 1 } }), /"documentId"/);
  const header = { 'Idempotency-Key': 'row' };
  const repeat = () =>
    key.post('/tablesdb/blog/tables/posts/rows', { rowId: 'unique()', data: { title: 't' } }, header);
  const [first, second] = [await repeat(), await repeat()];
  assert.equal(second.expect(201).text, first.expect(201).text);
  assert.ok(first.text.includes('"$tableId"'));
  (await key.patch('/tablesdb/blog/tables/posts/rows/one', { data: {} }, { 'If-Match': '"x"' })).refused(
    412,
    'general_precondition_failed',
  );
  await adas.deleteRow(row('one'));
  await refused(adas.getRow(row('one')), 404, 'row_not_found');
});

test('the content of a table is removed with it', async () => {
  await server.deleteTable(of);
  await refused(adas.listRows(of), 404, 'table_not_found');
  await server.delete({ databaseId: 'blog' });
  await refused(adas.listRows(of), 404, 'database_not_found');
});
