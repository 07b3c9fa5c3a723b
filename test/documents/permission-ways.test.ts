// Who may do what with documents, by every other way to them: the names of tables, batches of GraphQL, transactions, many at once, selections,
// and the documents that another one is related to.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { type Action, actions, allowed, type Caller, crew, type Place, someCallers } from './callers.js';
import { batchCalls, type Outcome, operationCalls, stagedCalls, tableCalls } from './calls.js';
import { addDocument, answerOf, attributes, checkPlace, compare, onDocument } from './matrix.js';
import { aBackend, queryString, type TestCollection } from './setup.js';

const target = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const backend = await aBackend(target);
const { key, databaseId } = backend;
const callers = await someCallers(target);
const { ada } = callers;
// The other callers are told apart by their roles alone, which permissions.test.ts has.
const everybody = (['guest', 'ada', 'mia', 'key', 'weakKey'] as const).map((name) => callers[name]);

const all = (role: string, list: readonly Action[] = actions) => list.map((action) => `${action}("${role}")`);
const places: readonly Place[] = [
  { collection: all(`user:${ada.name}`), documentSecurity: false, document: [] },
  { collection: [], documentSecurity: true, document: all(`team:${crew}/cook`, onDocument) },
  { collection: [], documentSecurity: false, document: all('any', onDocument) },
  { collection: all('any', ['create', 'delete']), documentSecurity: true, document: all('any', ['read']) },
  { collection: all('any', ['read']), documentSecurity: true, document: all('any', ['update']) },
  { collection: [], documentSecurity: true, document: all('any', ['update', 'delete']) },
];

const ways = { tables: tableCalls, batch: batchCalls, transaction: stagedCalls, operations: operationCalls };
for (const [way, calls] of Object.entries(ways)) {
  test(`grants hold by ${way}`, async () => {
    for (const place of places) await checkPlace(backend, everybody, place, (made) => ({ [way]: calls(made) }));
  });
}

const select = (...values: string[]) => queryString([{ method: 'select', values }]);
const outcome = (status: number, body: Record<string, unknown>): Outcome => ({
  ...{ status, ids: [], total: undefined },
  type: status >= 400 ? String(body.type) : 'ok',
});

async function aPlace({ collection: permissions, documentSecurity, ...place }: Place): Promise<TestCollection> {
  const made = await backend.collection({ permissions, documentSecurity, attributes });
  await addDocument(key, made.path, { ...place, collection: permissions, documentSecurity });
  return made;
}

test('grants hold for selections', async () => {
  for (const place of places) {
    const { documents } = await aPlace(place);
    for (const caller of everybody) {
      const may = answerOf(caller, place);
      const { status, body } = await caller.client.get(`${documents}/one${select('n')}`);
      compare(['select', outcome(status, body), may('read', 'document_not_found')], caller, place);
      const list = (await caller.client.get(documents + select('n'))).body.documents ?? [];
      const seen = (list as { $id: string }[]).map(({ $id }) => $id);
      assert.deepEqual(seen, may('read', '') === 'ok' ? ['one'] : [], `${caller.name} ${JSON.stringify(place)}`);
    }
  }
});

test('many documents at once are for server keys alone, whatever is granted', async () => {
  const place = { collection: all('any'), documentSecurity: true, document: all('any', onDocument) };
  const { documents, id: collectionId } = await aPlace(place);
  const queries = ['{"method":"equal","attribute":"$id","values":["one"]}'];
  const bodies: Record<string, readonly [string, object]> = {
    'bulk create': ['POST', { documents: [{ n: 1 }] }],
    'bulk upsert': ['PUT', { documents: [{ $id: 'one', n: 2 }] }],
    'bulk update': ['PATCH', { data: { n: 3 }, queries }],
    'bulk delete': ['DELETE', { queries }],
  };
  const operations: Record<string, object> = {
    bulkCreate: { data: [{ n: 1 }] },
    bulkUpsert: { data: [{ $id: 'one', n: 2 }] },
    bulkUpdate: { data: { data: { n: 3 }, queries } },
    bulkDelete: { data: { queries } },
  };
  for (const caller of everybody) {
    const { client, roles: held, scopeless } = caller;
    const expected = held !== null || scopeless ? 'general_unauthorized_scope' : 'ok';
    const { $id: transactionId = 'none' } = (await client.post('/databases/transactions', {})).body;
    for (const [action, rest] of Object.entries(operations)) {
      if (transactionId === 'none') continue;
      const operation = { databaseId, collectionId, action, ...rest };
      const path = `/databases/transactions/${transactionId}/operations`;
      const { status, body } = await client.post(path, { operations: [operation] });
      compare([action, outcome(status, body), expected], caller, place);
    }
    for (const [what, [method, given]] of Object.entries(bodies)) {
      if (transactionId !== 'none') {
        const staged = await client.request(method, documents, { ...given, transactionId });
        const afterwards = what === 'bulk upsert' || what === 'bulk create' || expected !== 'ok' ? expected : 'ok';
        compare([`staged ${what}`, outcome(staged.status, staged.body), afterwards], caller, place);
      }
      const { status, body } = await client.request(method, documents, given);
      compare([what, outcome(status, body), expected], caller, place);
    }
  }
});

/** Documents that everybody can read and change, related to those of a place. */
async function related(place: Place): Promise<{ readonly parents: TestCollection; readonly made: TestCollection }> {
  const made = await aPlace(place);
  const parents = await backend.collection({ permissions: all('any') });
  for (const [name, type] of [
    ['single', 'manyToOne'],
    ['many', 'manyToMany'],
  ])
    (await key.post(`${parents.attributes}/relationship`, { relatedCollectionId: made.id, type, key: name })).expect(
      202,
    );
  (await key.post(parents.documents, { documentId: 'p', data: { single: 'one', many: ['one'] } })).expect(201);
  return { parents, made };
}

type Json = Record<string, unknown>;
/** The value of the document, by each way to read a related one. */
async function* readings({ client }: Caller, { documents, id }: TestCollection): AsyncGenerator<[string, Json | null]> {
  const both = '?populate[0]=single&populate[1]=many';
  for (const rest of [both, select('single.n', 'many.n'), select('*', 'single.*', 'many.*')]) {
    const one = (await client.get(`${documents}/p${rest}`)).expect(200).body;
    yield [`get ${rest}`, one];
    const [listed = null] = (await client.get(documents + rest)).expect(200).list('documents');
    yield [`list ${rest}`, listed];
  }
  const query = `query ($d: String!, $c: String!, $p: [String!]) {
    documentGet(databaseId: $d, collectionId: $c, documentId: "p", populate: $p) { data }
    documentList(databaseId: $d, collectionId: $c, populate: $p) { documents { data } } }`;
  const request = { query, variables: { d: databaseId, c: id, p: ['single', 'many'] } };
  const batch = (await client.post('/graphql', [request, request])).expect(200).body as unknown as {
    data: { documentGet: { data: Json }; documentList: { documents: { data: Json }[] } };
  }[];
  for (const { data } of batch) {
    yield ['GraphQL get', data.documentGet.data];
    yield ['GraphQL list', data.documentList.documents[0]?.data ?? null];
  }
}

test('grants hold for related documents, read and written', async () => {
  for (const place of places) {
    const { parents, made } = await related(place);
    for (const caller of everybody) {
      const { client, scopeless } = caller;
      const name = `${caller.name} at ${JSON.stringify(place)}`;
      const may = answerOf(caller, place);
      if (scopeless)
        (await client.get(`${parents.documents}/p?populate=single`)).refused(401, 'general_unauthorized_scope');
      else
        for await (const [way, document] of readings(caller, parents)) {
          const shown = allowed(caller, 'read', place);
          const { single, many } = (document ?? {}) as { single: Json | null; many: Json[] };
          assert.equal(single?.$id, shown ? 'one' : undefined, `${way} ${name}`);
          assert.deepEqual(
            many.map(({ $id }) => $id),
            shown ? ['one'] : [],
            `${way} ${name}`,
          );
        }
      const write = async (what: string, id: string, single: unknown, expected: string) => {
        const { status, body } = await client.put(`${parents.documents}/${id}`, { data: { single } });
        compare([what, outcome(status, body), expected], caller, place);
        if (id !== 'p') await key.delete(`${parents.documents}/${id}`);
      };
      await write('link', 'q', 'one', may('read', 'relationship_value_invalid'));
      await write('nested update', 'p', { $id: 'one', n: 7 }, may('update', 'user_unauthorized'));
      await write('nested create', 'q', { $id: 'fresh', n: 8 }, may('create', 'user_unauthorized'));
      await key.delete(`${made.documents}/fresh`);
    }
  }
});
