// Lists that are asked for at the same moment and differ in their values only: each gets its own answer, of the state and the schema of its time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '#src/platform/text/json.js';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import type { Client } from '../harness/client.js';
import { aBackend, addAttribute, queryString } from './setup.js';

const target = await startAppliance();
const { key, collection: aCollection } = await aBackend(target);
const collection = await aCollection({
  attributes: {
    text: { type: 'string', size: 20 },
    whole: { type: 'integer' },
    ratio: { type: 'float' },
    flag: { type: 'boolean' },
    at: { type: 'datetime' },
    words: { type: 'string', size: 9, array: true },
  },
});
const index = { key: 'by_text', type: 'key', attributes: ['text', 'whole'], orders: ['ASC', 'DESC'] };
(await key.post(collection.indexes, index)).expect(202);

const count = 40;
const large = 2n ** 60n;
const instant = (at: number) => `2026-01-01T00:00:${String(at).padStart(2, '0')}.000+00:00`;
const idOf = (at: number) => `d${at}`;
for (let at = 0; at < count; at++) {
  const own = { text: `t${at}`, ratio: at / 10, flag: at % 2 === 0, at: instant(at), words: [`w${at}`] };
  const body = `{"documentId":"${idOf(at)}","data":${JSON.stringify(own).slice(0, -1)},"whole":${large + BigInt(at)}}}`;
  (await key.post(collection.documents, body)).expect(201);
}

interface Answer {
  readonly total: number;
  readonly documents: readonly { readonly $id: string; readonly [key: string]: unknown }[];
}

async function list(client: Client, path: string, queries: readonly unknown[]): Promise<[number, ...string[]]> {
  const { text } = (await client.get(`${path}${queryString(queries)}`)).expect(200);
  const { total, documents } = parseJson(text) as Answer;
  return [total, ...documents.map(({ $id }) => $id)];
}

const all = Array.from({ length: count }, (_, at) => at);
const only = (at: number) => [1, idOf(at)];

/** One shape of a list each: what it asks with a number, and what it is answered. */
const shapes: Readonly<Record<string, { asks: (at: number) => unknown[]; gets: (at: number) => unknown[] }>> = {
  text: { asks: (at) => [{ method: 'equal', attribute: 'text', values: [`t${at}`] }], gets: only },
  'text in the order of an index': {
    asks: (at) => [
      { method: 'equal', attribute: 'text', values: [`t${at}`] },
      { method: 'orderDesc', attribute: 'whole' },
    ],
    gets: only,
  },
  '64 bits': { asks: (at) => [{ method: 'equal', attribute: 'whole', values: [large + BigInt(at)] }], gets: only },
  doubles: { asks: (at) => [{ method: 'equal', attribute: 'ratio', values: [at / 10] }], gets: only },
  'truth values': {
    asks: (at) => [
      { method: 'equal', attribute: 'flag', values: [at % 2 === 0] },
      { method: 'limit', values: [2] },
    ],
    gets: (at) => [count / 2, idOf(at % 2), idOf((at % 2) + 2)],
  },
  instants: {
    asks: (at) => [
      { method: 'between', attribute: 'at', values: [instant(at), instant(at)] },
      { method: 'isNotNull', attribute: 'text' },
    ],
    gets: only,
  },
  sequences: { asks: (at) => [{ method: 'equal', attribute: '$sequence', values: [String(at + 1)] }], gets: only },
  elements: { asks: (at) => [{ method: 'contains', attribute: 'words', values: [`w${at}`, 'none'] }], gets: only },
  'pieces of text': {
    asks: (at) => [{ method: 'endsWith', attribute: 'text', values: [`t${at}`] }],
    gets: only,
  },
  offsets: {
    asks: (at) => [
      { method: 'offset', values: [at] },
      { method: 'limit', values: [1] },
    ],
    gets: (at) => [count, idOf(at)],
  },
};

for (const [name, { asks, gets }] of Object.entries(shapes)) {
  test(`many at once by ${name}`, async () => {
    const answers = await Promise.all(all.map((at) => list(key, collection.documents, asks(at))));
    assert.deepEqual(
      answers,
      all.map((at) => gets(at)),
    );
  });
}

test('each caller gets exactly the documents it may read', async () => {
  const shared = await aCollection({ documentSecurity: true, attributes: { n: { type: 'integer' } } });
  const users = await Promise.all(Array.from({ length: 6 }, () => aLoggedInUser(target)));
  for (const { id } of users) {
    const body = { documentId: `of-${id}`, data: { n: 1 }, permissions: [`read("user:${id}")`] };
    (await key.post(shared.documents, body)).expect(201);
  }
  const queries = [{ method: 'equal', attribute: 'n', values: [1] }];
  const turns = [...users, ...users, ...users];
  const answers = await Promise.all(turns.map(({ client }) => list(client, shared.documents, queries)));
  assert.deepEqual(
    answers,
    turns.map(({ id }) => [1, `of-${id}`]),
  );
});

test('the same texts again are answered from the rows and the schema of that moment', async () => {
  const changing = await aCollection({ attributes: { n: { type: 'integer' } } });
  const queries = [{ method: 'equal', attribute: 'n', values: [1] }];
  assert.deepEqual(await list(key, changing.documents, queries), [0]);
  (await key.post(changing.documents, { documentId: 'one', data: { n: 1 } })).expect(201);
  assert.deepEqual(await list(key, changing.documents, queries), [1, 'one']);
  await addAttribute(key, changing.path, 'added', { type: 'string', size: 9 });
  const { body } = (await key.get(`${changing.documents}${queryString(queries)}`)).expect(200);
  assert.equal((body as unknown as Answer).documents[0]?.added, null);
  (await key.delete(`${changing.attributes}/n`)).expect(204);
  const refused = (await key.get(`${changing.documents}${queryString(queries)}`)).expect(400);
  assert.equal(refused.body.type, 'general_query_invalid');
});

test('texts that sort alike in one row are distinguished', async () => {
  const queries = [
    { method: 'limit', values: [1] },
    { method: 'offset', values: [1] },
  ];
  assert.deepEqual(await list(key, collection.documents, queries), [count, idOf(1)]);
  const joined = encodeURIComponent(queries.map((query) => JSON.stringify(query)).join('\0'));
  const refused = (await key.get(`${collection.documents}?queries[0]=${joined}`)).expect(400);
  assert.equal(refused.body.type, 'general_query_invalid');
});
