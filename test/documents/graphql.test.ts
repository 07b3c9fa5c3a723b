// The six operations of the GraphQL endpoint with their arguments, and how it refuses.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery } from 'graphql';
import { createResolvers } from '#src/graphql/resolvers.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { recordedBy, runSql } from '../harness/database.js';
import { byGet, graphql, graphqlAnswer, graphqlByGet } from './graphql.js';
import { aBackend, type TestCollection } from './setup.js';

const target = await startAppliance();
const guest = createClient(target);
const { client: user, id: userId } = await aLoggedInUser(target);
const backend = await aBackend(target);
const { key, databaseId } = backend;
const largest = '9223372036854775807';
let posts: TestCollection;
let at: { databaseId: string; collectionId: string };

before(async () => {
  posts = await backend.collection({
    permissions: ['read("users")', 'create("users")'],
    documentSecurity: true,
    attributes: { title: { type: 'string', size: 100 }, views: { type: 'integer' } },
  });
  at = { databaseId, collectionId: posts.id };
});

const place = '$databaseId: String!, $collectionId: String!';
const where = 'databaseId: $databaseId, collectionId: $collectionId';
const create = `mutation (${place}, $documentId: String!, $data: JSON!, $permissions: [String!]) {
  documentCreate(${where}, documentId: $documentId, data: $data, permissions: $permissions) { id data permissions createdAt updatedAt }
}`;
const update = `mutation (${place}, $documentId: String!, $data: JSON, $permissions: [String!]) {
  documentUpdate(${where}, documentId: $documentId, data: $data, permissions: $permissions) { id data permissions }
}`;
const remove = `mutation (${place}, $documentId: String!) { documentDelete(${where}, documentId: $documentId) { id data } }`;
const get = `query (${place}, $documentId: String!, $populate: [String!]) {
  documentGet(${where}, documentId: $documentId, populate: $populate) { id data permissions createdAt updatedAt }
}`;
const list = `query (${place}, $queries: [String!], $populate: [String!]) {
  documentList(${where}, queries: $queries, populate: $populate) { total documents { id data } }
}`;
const collections = '{ collectionList(databaseId: "DATABASE") { total collections { id name attributes } } }'.replace(
  'DATABASE',
  databaseId,
);

test('the six operations work with exactly their arguments, by POST and by GET', async () => {
  const { value: made, recorded } = await recordedBy(target, () =>
    graphql(user, create, { ...at, documentId: 'one', data: { title: 'One', views: 1 }, permissions: ['read("any")'] }),
  );
  assert.deepEqual([recorded.audit, recorded.events], [['documentCreated'], ['documentCreated']]);
  const { createdAt, updatedAt, ...document } = made.data.documentCreate ?? {};
  assert.deepEqual(document, { id: 'one', data: { title: 'One', views: 1 }, permissions: ['read("any")'] });
  const rest = (await key.get(`${posts.documents}/one`)).expect(200).body;
  assert.deepEqual([createdAt, updatedAt], [rest.$createdAt, rest.$updatedAt]);

  const read = await graphql(user, get, { ...at, documentId: 'one', populate: [] });
  assert.deepEqual(read.data.documentGet, made.data.documentCreate);
  assert.deepEqual((await graphqlByGet(user, get, { ...at, documentId: 'one' })).data, read.data);

  const second = { ...at, documentId: 'unique()', data: { title: 'Two' } };
  const { id, permissions } = (await graphql(user, create, second)).data.documentCreate ?? {};
  assert.match(String(id), /^[a-z0-9]{20,36}$/i);
  assert.deepEqual(
    permissions,
    ['read', 'update', 'delete'].map((action) => `${action}("user:${userId}")`),
  );
  const queries = [
    JSON.stringify({ method: 'orderDesc', attribute: 'title' }),
    JSON.stringify({ method: 'limit', values: [1] }),
  ];
  const listed = { total: 2, documents: [{ id, data: { title: 'Two', views: null } }] };
  assert.deepEqual((await graphql(user, list, { ...at, queries })).data.documentList, listed);
  assert.deepEqual((await graphqlByGet(user, list, { ...at, queries })).data.documentList, listed);

  const changed = await graphql(key, update, { ...at, documentId: 'one', data: { views: 2 } });
  assert.deepEqual(changed.data.documentUpdate?.data, { title: 'One', views: 2 });
  const granted = await graphql(key, update, { ...at, documentId: 'one', permissions: [] });
  assert.deepEqual(
    [granted.data.documentUpdate?.data, granted.data.documentUpdate?.permissions],
    [changed.data.documentUpdate?.data, []],
  );
  const gone = await graphql(key, remove, { ...at, documentId: 'one' });
  assert.deepEqual(gone.data.documentDelete, { id: 'one', data: { title: 'One', views: 2 } });
  assert.equal((await graphql(key, get, { ...at, documentId: 'one' })).errors[0]?.type, 'document_not_found');

  const { total, collections: found } = (await graphql(key, collections)).data.collectionList ?? {};
  const { attributes } = (await key.get(posts.path)).body;
  assert.deepEqual([total, found], [1, [{ id: posts.id, name: 'Test', attributes }]]);
});

test('whole numbers of 64 bits stay exact in variables, in the text of a query and on the way out', async () => {
  const exact = new RegExp(`"views":${largest}\\b`);
  const body = JSON.stringify({ query: create, variables: { ...at, documentId: 'big', data: { views: 0 } } });
  assert.match((await key.post('/graphql', body.replace('"views":0', `"views":${largest}`))).expect(200).text, exact);
  const literal = `mutation { documentUpdate(databaseId: "${databaseId}", collectionId: "${posts.id}", documentId: "big", data: {views: -${largest}}) { data } }`;
  assert.match((await key.post('/graphql', { query: literal })).expect(200).text, new RegExp(`"views":-${largest}\\b`));
});

test('introspection tells the schema with the standard query, by GET too, and each field has its resolver', async () => {
  const query = getIntrospectionQuery();
  const { data } = graphqlAnswer(await guest.post('/graphql', { query }));
  const schema = buildClientSchema(data as unknown as IntrospectionQuery);
  const names = {
    Query: Object.keys(schema.getQueryType()?.getFields() ?? {}),
    Mutation: Object.keys(schema.getMutationType()?.getFields() ?? {}),
  };
  const rows = createResolvers(target.appliance.features.valueOperations.concat(target.appliance.features.operations));
  assert.deepEqual(names, { Query: Object.keys(rows.Query), Mutation: Object.keys(rows.Mutation) });
  assert.deepEqual(graphqlAnswer(await guest.get(byGet(query))).data, data);
  (await guest.with({ project: null }).post('/graphql', { query })).refused(404, 'project_not_found');
});

test('there is nothing to populate', async () => {
  const answer = await graphql(key, list, { ...at, populate: ['author'] });
  assert.deepEqual(
    answer.errors.map(({ code, type, path }) => [code, type, path]),
    [[400, 'general_query_invalid', ['documentList']]],
  );
  assert.equal(answer.data.documentList, null);
});

test('what REST refuses GraphQL refuses in the same words', async () => {
  (await key.post(posts.documents, { documentId: 'hidden', data: {} })).expect(201);
  const doc = `${posts.documents}/hidden`;
  const pairs: [typeof guest, string, object, string, string, unknown?][] = [
    [guest, get, { documentId: 'hidden' }, 'GET', doc],
    [guest, list, {}, 'GET', posts.documents],
    [guest, create, { documentId: 'new', data: {} }, 'POST', posts.documents, { documentId: 'new', data: {} }],
    [guest, update, { documentId: 'hidden', data: {} }, 'PATCH', doc, { data: {} }],
    [user, update, { documentId: 'hidden', data: {} }, 'PATCH', doc, { data: {} }],
    [user, remove, { documentId: 'hidden' }, 'DELETE', doc],
    [user, create, { documentId: 'hidden', data: {} }, 'POST', posts.documents, { documentId: 'hidden', data: {} }],
    [user, create, { documentId: 'x', data: { no: 1 } }, 'POST', posts.documents, { documentId: 'x', data: { no: 1 } }],
    [user, create, { documentId: '!', data: {} }, 'POST', posts.documents, { documentId: '!', data: {} }],
    [(await aServerKey(target, { scopes: ['databases.read'] })).client, get, { documentId: 'hidden' }, 'GET', doc],
  ];
  for (const [client, query, variables, method, path, body] of pairs) {
    const answer = await graphql(client, query, { ...at, ...variables });
    const rest = await client.request(method, path, body);
    assert.equal(answer.http.status, 200);
    if (rest.status < 400) assert.deepEqual(answer.errors, [], answer.http.text);
    else {
      const { code, type, message } = rest.body;
      const [error] = answer.errors;
      assert.deepEqual([error?.code, error?.type, error?.message], [code, type, message], `${method} ${path}`);
    }
  }
  const { errors } = await graphql(user, collections);
  const rest = await user.get(`/databases/${databaseId}/collections`);
  assert.deepEqual([errors[0]?.type, errors[0]?.message], ['general_unauthorized_scope', rest.body.message]);
});

test('an error of ours is masked and carries the id of the request', async () => {
  const broken = await backend.collection({ attributes: { title: { type: 'string', size: 10 } } });
  const [row] = await runSql(target, 'select number from collections where id = ?', [broken.id]);
  await runSql(target, `drop table r_${row?.number}`);
  await runSql(target, `drop table d_${row?.number}`);
  const variables = { ...at, collectionId: broken.id, documentId: 'x' };
  const http = await key.post('/graphql', { query: get, variables }, { 'X-Request-Id': 'the-broken-one' });
  const { errors } = http.expect(200).body as { errors: object[] };
  const extensions = { code: 500, type: 'general_unknown', requestId: 'the-broken-one' };
  assert.deepEqual(
    errors.map((error) => ({ ...error, locations: 0 })),
    [{ message: 'Internal error', locations: 0, path: ['documentGet'], extensions }],
  );
  assert.match(target.log(), /"graphql\.failed".*the-broken-one|the-broken-one.*"graphql\.failed"/);
});
