// What a project says of its own collections: in the served OpenAPI document, from which openapi-typescript and openapi-fetch make a typed client,
// and in the types for the SDKs that the command line prints. Programs are compiled with `tsc --strict`, right ones and wrong ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import createTypedClient from 'openapi-fetch';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { typesOf } from '#src/cli/document-records/typescript.js';
import { aBackend } from '../documents/setup.js';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { createCompiler } from '../harness/compiler.js';
import { after } from '../harness/runner.js';

const target = await startAppliance();
const { key, collection } = await aBackend(target);
const made = await collection({
  documentSecurity: true,
  attributes: {
    title: { type: 'string', size: 100, required: true },
    count: { type: 'integer' },
    stars: { type: 'integer', min: 0, max: 5 },
    price: { type: 'float' },
    open: { type: 'boolean' },
    due: { type: 'datetime' },
    mail: { type: 'email' },
    page: { type: 'url' },
    host: { type: 'ip' },
    state: { type: 'enum', elements: ['new', 'done'] },
    tags: { type: 'string', size: 20, array: true },
    code: { type: 'varchar', size: 20 },
    body: { type: 'text' },
    story: { type: 'mediumtext' },
    scroll: { type: 'longtext' },
    big: { type: 'bigint' },
    prices: { type: 'float', array: true },
    flags: { type: 'boolean', array: true },
  },
});
const authors = await collection({ attributes: { name: { type: 'string', size: 20, required: true } } });
const writtenBy = {
  relatedCollectionId: authors.id,
  type: 'manyToOne',
  key: 'author',
  twoWay: true,
  twoWayKey: 'works',
};
(await key.post(`${made.attributes}/relationship`, writtenBy)).expect(202);
const documents = made.documents as '/documents';
const rows = `/tablesdb/${made.databaseId}/tables/${made.id}/rows` as '/rows';
const served = JSON.parse((await key.get('/openapi.json')).expect(200).text);

const { write, problemsOf, dispose } = createCompiler();
after(dispose);

test('an attribute is in the document at once, and only for keys that may read collections', async () => {
  const schema = (text: string, shape = 'Document') =>
    JSON.parse(text).components.schemas[`${shape}.${made.databaseId}.${made.id}`];
  (await key.post(`${made.attributes}/string`, { key: 'added', size: 10, required: false })).expect(202);
  const { text } = await key.get('/openapi.json');
  for (const shape of ['Document', 'Row', 'Data', 'Changes'])
    assert.ok('added' in schema(text, shape).properties, shape);
  assert.ok('$tableId' in schema(text, 'Row').properties && !('$collectionId' in schema(text, 'Row').properties));
  const few = (await aServerKey(target, { scopes: ['documents.read'] })).client;
  for (const client of [createClient(target), few])
    assert.equal(schema((await client.get('/openapi.json')).expect(200).text), undefined);
});

test('a client generated from the served document reads back the data it wrote', async () => {
  const { secret } = await aServerKey(target);
  const client = createTypedClient({
    baseUrl: `${target.origin}/v1`,
    headers: { 'X-Service-Project': target.project.id, 'X-Service-Key': secret },
  }) as unknown as Record<'POST' | 'GET', (path: string, init: object) => Promise<{ data?: Record<string, unknown> }>>;
  const data = { title: 'a', count: 7, state: 'new', tags: ['x'], due: '2020-01-01T00:00:00.000+00:00' };
  const { data: written } = await client.POST(made.documents, { body: { documentId: 'one', data } });
  const path = { documentId: written?.$id };
  const { data: read } = await client.GET(`${made.documents}/{documentId}`, { params: { path } });
  assert.deepEqual({ ...read, ...data }, read);
  const { data: row } = await client.POST(rows, { body: { rowId: 'two', data } });
  const { data: again } = await client.GET(`${rows}/{rowId}`, { params: { path: { rowId: 'two' } } });
  assert.deepEqual([row?.$tableId, { ...again, ...data }], [made.id, again]);
});

test('a program compiles against the served document and the types for an SDK, and a wrong attribute does not', async () => {
  const { runtime, features } = target.appliance;
  const collections = (await features.databases.describedCollections(runtime.db, target.project.id)) ?? [];
  const nameOf = ({ id }: { id: string }) =>
    `${made.databaseId}-${id}`.replace(/(^|-)(\w)/g, (_, __, letter: string) => letter.toUpperCase());
  const name = nameOf(made);
  write('api.ts', astToString(await openapiTypescript(served)));
  const types = typesOf(collections, 'node-appwrite');
  assert.match(types, /^ *tags: string\[\] \| null;$/m);
  write('shop.ts', types);
  const byDescription = `
    import createClient from 'openapi-fetch';
    import type { paths } from './api.js';
    const client = createClient<paths>({ baseUrl: 'http://localhost' });
    const create = (data: paths['${documents}']['post']['requestBody']['content']['application/json']['data']) =>
      client.POST('${documents}', { body: { documentId: 'one', data } });
    const { data: made } = await create({ title: 'a', state: 'new', tags: ['x'] });
    if (made === undefined) throw new Error('refused');
    export const read = made.title.length + (made.count ?? 0);
    export const texts = [made.due, made.mail, made.page, made.host, made.code, made.body, made.story, made.scroll].map(
      (text) => text?.toUpperCase(),
    );
    export const others = [made.open === true, made.big, made.price?.toFixed(), made.prices?.[0]?.toFixed(), made.flags?.[0] === true];
    const params = { path: { documentId: made.$id } };
    await client.PATCH('${documents}/{documentId}', { params, body: { data: { count: 2 } } });
    await create({ title: 'a', author: { name: 'Ada', works: ['one', { title: 'b' }] } });
    await create({ title: 'a', author: { $id: 'ada', $permissions: ['read("any")'] } });
    const { data: list } = await client.GET('${documents}', { params: { query: {} } });
    export const titles: string[] = (list?.documents ?? []).map(({ title }) => title);
    const nameOf = (author: typeof made.author) => (typeof author === 'object' ? author?.name.length : author?.toUpperCase());
    export const author = nameOf(made.author);`;
  const byRows = `
    import createClient from 'openapi-fetch';
    import type { paths } from './api.js';
    const client = createClient<paths>({ baseUrl: 'http://localhost' });
    const { data: row } = await client.POST('${rows}', { body: { rowId: 'one', data: { title: 'a', state: 'new' } } });
    if (row === undefined) throw new Error('refused');
    export const read = [row.$tableId, row.title.length + (row.count ?? 0)];
    await client.PATCH('${rows}/{rowId}', { params: { path: { rowId: row.$id } }, body: { data: { count: 2 } } });
    const { data: list } = await client.GET('${rows}', { params: { query: {} } });
    export const authors = (list?.rows ?? []).map(({ author }) => (typeof author === 'object' ? author?.$tableId : author));`;
  const bySdk = `
    import { Client, Databases, type Models, TablesDB } from 'node-appwrite';
    import type { ${name}, ${name}Changes, ${name}Data, ${name}Row, ${nameOf(authors)} } from './shop.js';
    const databases = new Databases(new Client());
    const { documents } = await databases.listDocuments<${name}>({ databaseId: 'a', collectionId: 'b' });
    export const read = documents.map((one) => one.title.length + (one.tags?.length ?? 0) + (one.stars ?? 0));
    export const names = documents.map(({ author }) => (typeof author === 'object' ? author?.name : author));
    export const works = (author: ${nameOf(authors)}) => author.works?.map(({ title }) => title.length);
    const { rows } = await new TablesDB(new Client()).listRows<${name}Row>({ databaseId: 'a', tableId: 'b' });
    export const ids = rows.map((row) => [row.$tableId, row.title, typeof row.author === 'object' ? row.author?.$tableId : '']);
    const place = { databaseId: 'a', collectionId: 'b', documentId: 'c' };
    const at = { databaseId: 'a', tableId: 'b', rowId: 'c' };
    const create = (data: ${name}Data) => databases.createDocument<Models.Document & ${name}Data>({ ...place, data });
    const made = await create({ title: 'a', count: 2n ** 60n, state: 'new', tags: ['x'], prices: [1.5], flags: null });
    export const read2 = [made.$id, made.title.length, made.count];
    await create({ title: 'a', author: 'ada' });
    await create({ title: 'a', author: { name: 'Ada', works: ['one', { title: 'b' }] } });
    const change = (data: ${name}Changes) => databases.updateDocument<Models.Document & ${name}Changes>({ ...place, data });
    await change({ author: { $id: 'ada' }, state: null });
    await databases.updateDocument<${name}>({ ...place, data: { count: 2 } satisfies ${name}Changes });
    const tablesDB = new TablesDB(new Client());
    const createRow = (data: ${name}Data) => tablesDB.createRow<Models.Row & ${name}Data>({ ...at, data });
    export const row = (await createRow({ title: 'a', open: true })).$tableId;
    const changeRow = (data: ${name}Changes) => tablesDB.updateRow<Models.Row & ${name}Changes>({ ...at, data });
    await changeRow({ count: 2 });
    await tablesDB.createRow<Models.Row & ${name}Data>({ ...at, data: { title: 'a' } });
    await tablesDB.createRows({ databaseId: 'a', tableId: 'b', rows: [{ title: 'a' }] satisfies ${name}Data[] });`;
  assert.deepEqual(problemsOf({ byDescription, byRows, bySdk }), []);
  const wrong = [
    "await create({ title: 'a', titel: 'b' });",
    'await create({ count: 1 });',
    "await create({ title: 'a', state: 'old' });",
    "await create({ title: 'a', prices: ['1'] });",
    "await create({ title: 'a', body: 1 });",
    "await create({ title: 'a', author: { nome: 'Ada' } });",
    'made.flags?.[0]?.length;',
    'made.count.toFixed();',
    'made.titel;',
    "if (made.author !== null && typeof made.author === 'object') made.author.nome;",
  ];
  const wrongRows = [
    "await client.POST('ROWS', { body: { rowId: 'one', data: { titel: 'a' } } });",
    'row.$collectionId;',
  ];
  const wrongBySdk = [
    'documents.map((one) => one.titel);',
    'rows.map((one) => one.$collectionId);',
    "await create({ titel: 'a', title: 'a' });",
    'await create({ count: 1 });',
    "await create({ title: 'a', state: 'old' });",
    "await create({ title: 'a', author: { nome: 'Ada' } });",
    "await create({ title: 'a', author: {} });",
    'await change({ titel: 1 });',
    'await change({ title: null });',
    "await createRow({ title: 'a', count: '1' });",
    "await changeRow({ titel: 'a' });",
    `await tablesDB.createRow<Models.Row & ${name}Data>({ ...at, data: { title: 'a', titel: 'b' } });`,
    `await databases.updateDocument<Models.Document & ${name}Changes>({ ...place, data: { titel: 'b' } });`,
  ];
  const problems = problemsOf({
    byDescription: [byDescription, ...wrong].join('\n'),
    byRows: [byRows, ...wrongRows].join('\n').replaceAll('ROWS', rows),
    bySdk: [bySdk, ...wrongBySdk].join('\n'),
  });
  assert.equal(problems.length, wrong.length + wrongRows.length + wrongBySdk.length, problems.join('\n'));
});
