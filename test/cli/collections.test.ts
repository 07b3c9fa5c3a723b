// Databases, collections, attributes and indexes by command, beside a server that runs.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { buildSchema } from 'graphql';
import { type Installation, install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';

type Json = Record<string, unknown>;
const scope = ['--project', 'shop', '--database', 'blog'];
let place: Installation;
let server: Server;
let key: string;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const made = ['apikey', 'create', '--project', 'shop', '--name', 'test', '--scopes', 'all'];
  key = (await place.json<{ secret: string }>(made)).secret;
  server = await place.serve();
});
after(() => place.dispose());

/** The same by REST, with a server key. */
async function rest(path: string, body?: unknown): Promise<Json> {
  const headers = { 'X-Service-Project': 'shop', 'X-Service-Key': key, 'Content-Type': 'application/json' };
  const method = body === undefined ? 'GET' : 'POST';
  const answer = await fetch(server.url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await answer.json()) as Json;
}

test('what commands make a running server knows at once, and shows as they do', async () => {
  const database = await place.json<Json>(['database', 'create', 'Blog', '--project', 'shop', '--id', 'blog']);
  assert.deepEqual(await rest('/databases/blog'), database);
  const permission = ['--permission', 'read("any")', '--permission', 'create("users")'];
  await place.json([
    'collection',
    'create',
    'Posts',
    ...scope,
    '--id',
    'posts',
    ...permission,
    '--document-security',
    'on',
  ]);
  const attribute = (name: string, ...more: string[]) =>
    place.json<Json>(['collection', 'add-attribute', 'posts', name, ...scope, '--type', ...more]);
  await attribute('title', 'string', '--size', '80', '--required');
  const state = await attribute('state', 'enum', '--elements', 'draft, done', '--default', 'draft');
  assert.deepEqual([state.default, state.elements], ['draft', ['draft', 'done']]);
  await attribute('tags', 'string', '--size', '20', '--array');
  await attribute('rating', 'float', '--min', '0.5', '--default', '2.5');
  assert.equal((await attribute('open', 'boolean', '--default', 'false')).default, false);
  assert.equal((await attribute('note', 'varchar', '--size', '150', '--encrypt')).encrypt, true);
  const largest = '9223372036854775807';
  const { code, out } = await place.svc([
    'collection',
    'add-attribute',
    'posts',
    'big',
    ...scope,
    '--type',
    'integer',
    '--max',
    largest,
    '--default',
    largest,
    '--json',
  ]);
  assert.equal(code, 0);
  assert.match(out, new RegExp(`"max": ${largest},[^]*"default": ${largest}\\b`));
  await place.json(['collection', 'add-index', 'posts', 'by-state', ...scope, '--attributes', 'state,rating:desc']);
  const index = await place.json<Json>([
    'collection',
    'add-index',
    'posts',
    'one',
    ...scope,
    '--attributes',
    'title',
    '--type',
    'unique',
  ]);
  assert.deepEqual([index.type, index.attributes, index.orders], ['unique', ['title'], ['ASC']]);

  const made = await rest('/databases/blog/collections/posts/documents', {
    documentId: 'first',
    data: { title: 'First' },
  });
  assert.deepEqual([made.state, made.rating, made.open, made.tags], ['draft', 2.5, false, null]);
  const { rows, bytes, ...shown } = await place.json<Json>(['collection', 'show', 'posts', ...scope]);
  assert.equal(rows, 1);
  assert.ok(Number(bytes) >= 4096, `${bytes} bytes`);
  assert.deepEqual(await rest('/databases/blog/collections/posts'), shown);
  assert.deepEqual([shown.documentSecurity, shown.$permissions], [true, ['read("any")', 'create("users")']]);
  const { out: text } = await place.svc(['collection', 'show', 'posts', ...scope]);
  for (const words of [
    'documents +1',
    `bytes +${bytes}`,
    'title +string +yes',
    'tags +string\\[\\] +no',
    'rating +double +no +2.5 +from 0.5',
    'note +varchar +no +up to 150 characters encrypted',
    'one +unique +title',
    'by-state +key +state, rating descending',
    `big +integer +no +${largest}`,
  ])
    assert.match(text, new RegExp(`^${words}`, 'm'));

  await place.json(['collection', 'remove-index', 'posts', 'by-state', ...scope]);
  await place.json(['collection', 'remove-attribute', 'posts', 'state', ...scope, '--yes']);
  assert.ok(!('state' in (await rest('/databases/blog/collections/posts/documents/first'))));
  const open = await place.json<Json>([
    'collection',
    'update',
    'posts',
    ...scope,
    '--permission',
    'none',
    '--document-security',
    'off',
    '--name',
    'Articles',
  ]);
  assert.deepEqual([open.$permissions, open.documentSecurity, open.name, open.enabled], [[], false, 'Articles', true]);
  await place.json(['database', 'update', 'blog', '--project', 'shop', '--enabled', 'off']);
  assert.equal((await rest('/databases/blog')).enabled, false);
});

test('relationships of every kind are made by command, and are in the description of the API at once', async () => {
  await place.json(['database', 'create', 'Related', '--project', 'shop', '--id', 'related']);
  const at = ['--project', 'shop', '--database', 'related'];
  for (const id of ['things', 'people']) await place.json(['collection', 'create', id, ...at, '--id', id]);
  const schemas = async () => {
    const { components } = (await rest('/openapi.json')) as { components: { schemas: Record<string, Json> } };
    const keys = (id: string) => Object.keys((components.schemas[`Data.related.${id}`]?.properties ?? {}) as Json);
    return { things: keys('things'), people: keys('people') };
  };
  for (const [kind, onDelete] of [
    ['oneToOne', 'restrict'],
    ['oneToMany', 'cascade'],
    ['manyToOne', 'setNull'],
    ['manyToMany', 'setNull'],
  ] as const) {
    const relation = ['--type', 'relationship', '--related', 'people', '--relation', kind, '--two-way', `of-${kind}`];
    const made = await place.json<Json>([
      ...['collection', 'add-attribute', 'things', kind, ...at, ...relation, '--on-delete', onDelete],
    ]);
    const { relatedCollection, relationType, twoWay, twoWayKey, side } = made;
    const seen = [relatedCollection, relationType, twoWay, twoWayKey, made.onDelete, side];
    assert.deepEqual(seen, ['people', kind, true, `of-${kind}`, onDelete, 'parent']);
    assert.deepEqual(await rest(`/databases/related/collections/things/attributes/${kind}`), made);
    const { out } = await place.svc(['collection', 'show', 'things', ...at]);
    assert.ok(out.includes(`${kind} to people, back by of-${kind}, on delete ${onDelete}`), out);
    const { things, people } = await schemas();
    assert.ok(things.includes(kind) && people.includes(`of-${kind}`), `${kind}: ${things} ${people}`);
  }
});

test('the audit log names the operator', async () => {
  const rows = await place.sql(
    "select action, actor_kind, actor_id from audit_entries where action like 'collection%' or action like 'index%'",
  );
  assert.ok(rows.length >= 5);
  for (const row of rows) assert.deepEqual([row.actor_kind, row.actor_id], ['operator', 'cli'], String(row.action));
});

test('mistakes end with the code that scripts expect, and a next step', async () => {
  const add = ['collection', 'add-attribute', 'posts', 'new', ...scope, '--type'];
  const table: [number, string, string[]][] = [
    [2, 'general_argument_invalid', ['database', 'create', 'Bad', '--project', 'shop', '--id', '_bad']],
    [2, 'usage_invalid', ['database', 'update', 'blog', '--project', 'shop']],
    [2, 'usage_invalid', ['database', 'update', 'blog', '--project', 'shop', '--enabled', 'maybe']],
    [2, 'general_argument_invalid', ['collection', 'update', 'posts', ...scope, '--permission', 'read(all)']],
    [2, 'usage_invalid', ['collection', 'update', 'posts', ...scope]],
    [2, 'usage_invalid', [...add, 'point']],
    [2, 'general_argument_invalid', [...add, 'string']],
    [2, 'usage_invalid', [...add, 'integer', '--default', 'many']],
    [2, 'general_argument_invalid', [...add, 'integer', '--default', '1.5']],
    [2, 'usage_invalid', [...add, 'boolean', '--default', 'yes']],
    [2, 'usage_invalid', [...add, 'boolean', '--size', '5']],
    [2, 'usage_invalid', [...add, 'string', '--size', '5', '--elements', 'a,b']],
    [2, 'usage_invalid', [...add, 'email', '--encrypt']],
    [2, 'general_bad_request', [...add, 'string', '--size', '149', '--encrypt']],
    [2, 'attribute_default_unsupported', [...add, 'boolean', '--default', 'true', '--required']],
    [2, 'attribute_unknown', ['collection', 'add-index', 'posts', 'bad', ...scope, '--attributes', 'none']],
    [3, 'project_not_found', ['database', 'list', '--project', 'none']],
    [3, 'database_not_found', ['database', 'show', 'none', '--project', 'shop']],
    [3, 'collection_not_found', ['collection', 'show', 'none', ...scope]],
    [3, 'attribute_not_found', ['collection', 'remove-attribute', 'posts', 'none', ...scope, '--yes']],
    [3, 'index_not_found', ['collection', 'remove-index', 'posts', 'none', ...scope]],
    [4, 'confirmation_refused', ['database', 'delete', 'blog', '--project', 'shop', '--yes']],
    [4, 'confirmation_refused', ['collection', 'delete', 'posts', ...scope, '--confirm', 'other']],
    [4, 'confirmation_refused', ['collection', 'remove-attribute', 'posts', 'title', ...scope]],
    [5, 'database_already_exists', ['database', 'create', 'Again', '--project', 'shop', '--id', 'blog']],
    [5, 'collection_already_exists', ['collection', 'create', 'Again', ...scope, '--id', 'posts']],
    [5, 'attribute_already_exists', ['collection', 'add-attribute', 'posts', 'title', ...scope, '--type', 'boolean']],
    [5, 'index_already_exists', ['collection', 'add-index', 'posts', 'one', ...scope, '--attributes', 'title']],
  ];
  for (const [code, type, args] of table) {
    const run = await place.svc([...args, '--json']);
    assert.equal(run.code, code, `${args.join(' ')}: ${run.err}`);
    const { error } = JSON.parse(run.err);
    assert.deepEqual([error.type, run.out], [type, ''], args.join(' '));
    assert.ok(error.message !== '' && error.fix !== '');
  }
});

test('prints the GraphQL schema as served; deleted collections are gone', async () => {
  const { schema } = await place.json<{ schema: string }>(['graphql', 'schema', '--project', 'shop']);
  assert.ok(buildSchema(schema).getQueryType()?.getFields().documentGet);
  assert.equal((await place.svc(['graphql', 'schema', '--project', 'shop'])).out, `${schema}\n`);
  const saidOf = (text: string) => {
    const node = buildSchema(text).getType('Document')?.astNode;
    return node && 'fields' in node
      ? String(node.fields?.find(({ name }) => name.value === 'data')?.description?.value)
      : '';
  };
  assert.match(saidOf(schema), /^blog\/posts$/m);
  await place.json([
    'collection',
    'add-attribute',
    'posts',
    'subtitle',
    '--type',
    'string',
    '--size',
    '20',
    '--array',
    ...scope,
  ]);
  const next = await place.json<{ schema: string }>(['graphql', 'schema', '--project', 'shop']);
  assert.match(saidOf(next.schema), /^ {2}subtitle: string\[\]$/m);
  assert.doesNotMatch(saidOf(schema), /subtitle/);
  await place.json(['collection', 'delete', 'posts', ...scope, '--confirm', 'Articles']);
  assert.equal((await rest('/databases/blog/collections/posts')).type, 'collection_not_found');
  await place.json(['database', 'delete', 'blog', '--project', 'shop', '--confirm', 'blog']);
  assert.equal((await rest('/databases/blog')).type, 'database_not_found');
  const { databases } = await place.json<{ databases: Json[] }>(['database', 'list', '--project', 'shop']);
  assert.deepEqual(
    databases.map(({ $id }) => $id),
    ['related'],
  );
});
