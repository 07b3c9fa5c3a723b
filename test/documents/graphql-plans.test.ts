// A query without directives is answered by its plan, the same with a directive by graphql-js. Both answers must be the same, byte by byte, but for
// whole doubles that the database has printed: a plan shows them as REST does, 1.0, where graphql-js prints 1.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { execute } from 'graphql';
import { operatorReading } from '#src/contract/reading.js';
import { createDocumentCache } from '#src/graphql/document-cache.js';
import { createResolvers, type GraphqlCaller } from '#src/graphql/resolvers.js';
import { createSchema } from '#src/graphql/schema.js';
import { parseJson, printJson } from '#src/platform/text/json.js';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { aRequest, directed, plain, type RandomRequest } from './graphql-generator.js';
import { createRandom, seed } from './random.js';
import { aDocument, attributes } from './rows.js';
import { aBackend, queryString, type TestCollection } from './setup.js';

const target = await startAppliance();
const guest = createClient(target);
const { client: user } = await aLoggedInUser(target);
const { key, databaseId, collection } = await aBackend(target);
const random = createRandom(seed);
const { features } = target.appliance;
const resolvers = createResolvers([...features.valueOperations, ...features.operations]);
const prepared = createDocumentCache(createSchema(resolvers), resolvers);

/** What a reader of printed documents could stumble over. */
const stones = [
  ...['"', '\\', '\\"', '{', '}', '[', ']', ',', ':', '"]', ')"]', '\\")"]', '"$permissions":[]', ',{"$id":"x"'],
  ...['{"$id":', '"}', '},{"$id":"y","$sequence":"1"', ']}', '"$createdAt":"', '\n', '\u2028', '\u007f', '😀', 'ü'],
];
const stony = (most: number) => {
  const text = Array.from({ length: random.below(6) }, () => random.pick(stones)).join('');
  return [...text].slice(0, most).join('');
};
const someData = () => ({
  ...aDocument(random),
  ...(random.chance(0.7) ? { title: stony(56) } : {}),
  ...(random.chance(0.5) ? { tags: [stony(16), '', stony(16)] } : {}),
});
const somePermissions = () =>
  Array.from({ length: random.below(4) }, () =>
    random.pick([
      ...['read("any")', 'read("users")', 'update("user:somebody/verified")', 'write("label:gold")'],
      ...['read("team:crew/]},\\ {[)")', 'delete("team:crew/\\")', 'read("team:crew/ü\'),(")'],
    ]),
  );
const ids = Array.from({ length: 40 }, (_, at) => `d.${at}_-`);

const aCollection = () =>
  collection({ documentSecurity: true, permissions: ['create("users")'], attributes: { ...attributes } });
const fill = async ({ documents }: TestCollection) => {
  for (const documentId of ids) {
    const body = { documentId, data: someData(), permissions: somePermissions() };
    (await key.post(documents, printJson(body))).expect(201);
  }
};
type Shown = Readonly<Record<string, unknown>>;
let posts: TestCollection;

before(async () => {
  posts = await aCollection();
  await fill(posts);
});

/** An answer; the errors of fields that run side by side come in the order in which the database is done with them. */
function sorted(text: string): string {
  const end = text.indexOf(',"data":');
  if (end === -1 || !text.startsWith('{"errors":')) return text;
  const errors = (JSON.parse(`${text.slice(0, end)}}`) as { errors: unknown[] }).errors.map((error) =>
    JSON.stringify(error),
  );
  return `{"errors":[${errors.sort()}]${text.slice(end)}`;
}

/** Sends a request both ways, as one caller or to two collections, and says what came of it. */
async function compare(
  asked: RandomRequest,
  client: Client,
  twin?: { readonly first: string; readonly second: string },
) {
  const send = async (request: RandomRequest, id: string) => {
    const body = twin === undefined ? printJson(request) : printJson(request).replaceAll(twin.first, id);
    const { status, text } = await client.post('/graphql', body, { 'X-Request-Id': 'the-request' });
    return `${status} ${sorted(twin === undefined ? text : printJson(parseJson(text)).replaceAll(id, 'twin').replace(instant, 'then'))}`;
  };
  const planned = await send(plain(asked), twin?.first ?? '');
  const executed = await send(directed(asked), twin?.second ?? '');
  if (planned !== executed) {
    const at = [...planned].findIndex((character, index) => character !== executed[index]);
    const shown = (text: string) => text.slice(Math.max(0, at - 60), at + 60);
    assert.fail(`seed ${seed}: ${printJson(plain(asked))}\n${shown(planned)}\n${shown(executed)}`);
  }
  const hasData = planned.includes('"data":{');
  return hasData ? (planned.includes('"errors":[') ? 'partly' : 'clean') : 'failed';
}
const instant = /\d{4}-\d\d-\d\dT[\d:.]{12}\+00:00/g;

/** Whether the request has a plan, where it is one that can be executed at all. */
const isPlanned = ({ query, operationName }: RandomRequest) =>
  prepared(query).operation(operationName)?.plan !== undefined;

test(`queries of everybody, seed ${seed}`, async () => {
  const subject = { databaseId, collectionId: posts.id, ids, data: someData };
  const seen = { clean: 0, partly: 0, failed: 0 };
  for (let round = 0; round < 250; round++) {
    const asked = aRequest(random, 'query', subject);
    const outcome = await compare(asked, random.pick([key, key, user, guest]));
    if (outcome !== 'failed') assert.deepEqual([isPlanned(plain(asked)), isPlanned(directed(asked))], [true, false]);
    seen[outcome] += 1;
  }
  assert.ok(seen.clean > 40 && seen.partly > 40 && seen.failed > 10, JSON.stringify(seen));
});

test(`mutations, one after the other, seed ${seed}`, async () => {
  let [one, other] = [await aCollection(), await aCollection()];
  // Errors have the column where their field stands, behind the ids.
  while (one.id.length !== other.id.length) [one, other] = [other, await aCollection()];
  const twin = { first: one.id, second: other.id };
  const subject = { databaseId, collectionId: one.id, ids: ids.slice(0, 6), data: someData };
  const seen = { clean: 0, partly: 0, failed: 0 };
  for (let round = 0; round < 200; round++) {
    const asked = aRequest(random, 'mutation', subject);
    seen[await compare(asked, random.pick([key, key, key, user]), twin)] += 1;
  }
  assert.ok(seen.clean > 5 && seen.partly > 40 && seen.failed > 5, JSON.stringify(seen));
});

test('a number beyond 32 bits is an error in its place', async () => {
  const much = {
    ...resolvers,
    Query: { ...resolvers.Query, documentList: async () => ({ total: '2147483648', documents: [] }) },
  };
  const schema = createSchema(much);
  const query = '{ first: documentList(databaseId: "a", collectionId: "b") { all: total } kind: __typename }';
  const { document, operation } = createDocumentCache(schema, much)(query);
  const request: Pick<GraphqlCaller['request'], 'budget'> = {
    budget: target.appliance.runtime.budgets.open(operatorReading),
  };
  const caller = { request } as GraphqlCaller;
  const { data, errors } = (await operation(undefined)?.plan?.(undefined, caller)) ?? {};
  const executed = await execute({ schema, document, contextValue: caller });
  assert.match(JSON.stringify(executed), /"path":\["first","all"\]/);
  assert.equal(`{"errors":${JSON.stringify(errors)},"data":${data}}`, JSON.stringify(executed));
});

test('documents are the same as in REST, whoever printed them', async () => {
  const get = `query ($d: String!, $c: String!, $id: String!) {
    documentGet(databaseId: $d, collectionId: $c, documentId: $id) { id createdAt updatedAt permissions data }
  }`;
  const list = `query ($d: String!, $c: String!, $q: [String!]) {
    documentList(databaseId: $d, collectionId: $c, queries: $q) { total documents { id createdAt updatedAt permissions data } }
  }`;
  const variables = { d: databaseId, c: posts.id };
  const parts = ({
    $id,
    $createdAt,
    $updatedAt,
    $permissions,
    $sequence,
    $collectionId,
    $databaseId,
    ...data
  }: Shown) => ({
    ...{ id: $id, createdAt: $createdAt, updatedAt: $updatedAt, permissions: $permissions, data },
  });
  const shown = async (query: string, more: object) =>
    (parseJson((await key.post('/graphql', { query, variables: { ...variables, ...more } })).expect(200).text) as Shown)
      .data;
  const rest = async (path: string) =>
    parseJson((await key.get(`${posts.documents}${path}`)).expect(200).text) as Shown;

  // Updated, a document is printed by the database, and selected, all are.
  for (const id of ids.slice(0, 20))
    (await key.patch(`${posts.documents}/${id}`, printJson({ data: { title: stony(56) } }))).expect(200);
  for (const id of ids) assert.deepEqual(await shown(get, { id }), { documentGet: parts(await rest(`/${id}`)) });
  for (const select of [[], ['title'], ['$id'], ['ratio', 'tags', 'numbers', 'count']]) {
    const queries = [
      { method: 'limit', values: [100] },
      ...(select.length === 0 ? [] : [{ method: 'select', values: select }]),
    ];
    const { total, documents } = (await rest(queryString(queries))) as { total: number; documents: Shown[] };
    const answer = await shown(list, { q: queries.map((query) => JSON.stringify(query)) });
    assert.deepEqual(answer, { documentList: { total, documents: documents.map(parts) } });
  }
  assert.deepEqual(await shown(list, { q: ['{"method":"equal","attribute":"title","values":["nothing"]}'] }), {
    documentList: { total: 0, documents: [] },
  });
});
