// With document security a list is what it would be if the documents one may not read did not exist.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { allowed, type Caller, someCallers } from './callers.js';
import { createEvaluator, type Row, type Total, type WireQuery } from './evaluator.js';
import { createRandom, seed } from './random.js';
import { aBackend, queryString } from './setup.js';

const target = await startAppliance();
const { key, collection: aCollection } = await aBackend(target);
const callers = await someCallers(target);
const { ada, eve, guest } = callers;
const collection = await aCollection({
  documentSecurity: true,
  attributes: { rank: { type: 'integer' }, secret: { type: 'string', size: 40 } },
});
const rows: { readonly row: Row; readonly document: readonly string[] }[] = [];
const random = createRandom(seed);
const roles = [
  'any',
  'guests',
  'users',
  'users/verified',
  'label:gold',
  `user:${ada.name}`,
  `user:${eve.name}`,
  'user:x',
];

before(async () => {
  for (let at = 0; at < 40; at++) {
    // Several roles of the same caller on one document, and none at all.
    const document = [...new Set(Array.from({ length: random.below(4) }, () => `read("${random.pick(roles)}")`))];
    const data = { rank: random.below(4), secret: `secret of ${at}.` };
    const body = { documentId: `${random.pick(['x', 'y', 'z'])}${at}`, data, permissions: document };
    const { $id = '', $sequence, $createdAt = '' } = (await key.post(collection.documents, body)).expect(201).body;
    const system = { $id: String($id), $sequence: BigInt(String($sequence)), $createdAt: String($createdAt) };
    rows.push({ row: { ...data, ...system, rank: BigInt(data.rank) }, document });
  }
});

const place = (document: readonly string[]) => ({ collection: [], documentSecurity: true, document });
const isVisible = (caller: Caller) => (each: { readonly document: readonly string[] }) =>
  allowed(caller, 'read', place(each.document));

async function compare(caller: Caller, queries: readonly WireQuery[], total: Total = 'exact'): Promise<void> {
  const visible = rows.filter(isVisible(caller)).map(({ row }) => row);
  const expected = createEvaluator(visible, { datetimes: [], totalLimit: 5_000 })(queries, total);
  const name = `${caller.name} ${total} ${JSON.stringify(queries)}`;
  const answer = await caller.client.get(`${collection.documents}${queryString(queries, { total })}`);
  if ('error' in expected) {
    assert.deepEqual([answer.status, answer.body.type], [400, expected.error], name);
    return;
  }
  const seen = answer
    .expect(200)
    .list('documents')
    .map(({ $id }) => $id);
  assert.deepEqual([answer.body.total, seen], [expected.total, expected.rows.map(({ $id }) => $id)], name);
  for (const { row } of rows.filter((each) => !isVisible(caller)(each)))
    assert.ok(!answer.text.includes(String(row.secret)), name);
}

const asked: readonly (readonly WireQuery[])[] = [
  [],
  [{ method: 'orderDesc', attribute: 'rank' }],
  [{ method: 'orderAsc', attribute: 'secret' }],
  [{ method: 'equal', attribute: 'rank', values: [1, 2] }],
  [{ method: 'contains', attribute: 'secret', values: ['secret'] }],
  [
    { method: 'select', values: ['secret'] },
    { method: 'orderDesc', attribute: '$id' },
  ],
  [{ method: 'isNull', attribute: 'secret' }],
];

for (const caller of Object.values(callers).filter(({ scopeless }) => !scopeless)) {
  test(`lists and totals as ${caller.name} sees them`, async () => {
    for (const queries of asked)
      for (const total of ['true', 'false', 'exact'] as const)
        for (const limit of [1, 7, 100])
          await compare(caller, [...queries, { method: 'limit', values: [limit] }], total);
    for (let offset = 0; offset <= 40; offset += 3)
      for (const queries of asked)
        await compare(caller, [...queries, { method: 'offset', values: [offset] }, { method: 'limit', values: [5] }]);
  });

  test(`cursors as ${caller.name}: one at a hidden document answers like one at none`, async () => {
    for (const { row } of rows) {
      for (const method of ['cursorAfter', 'cursorBefore']) {
        const cursor = { method, values: [row.$id] };
        await compare(caller, [cursor, { method: 'orderDesc', attribute: 'rank' }, { method: 'limit', values: [4] }]);
      }
    }
    await compare(caller, [{ method: 'cursorAfter', values: ['no-such-document'] }]);
  });
}

test('a hidden document and one that is not there answer alike', async () => {
  const hidden = rows.find((each) => !isVisible(guest)(each))?.row.$id;
  const withoutId = (text: string) => text.replaceAll(String(hidden), '').replaceAll('not-there', '');
  const ask = async (id: unknown, query: string) =>
    withoutId(
      (await guest.client.get(`${collection.documents}/${id}${query}`)).refused(404, 'document_not_found').text,
    );
  const select = queryString([{ method: 'select', values: ['secret'] }]);
  for (const query of ['', select]) assert.equal(await ask(hidden, query), await ask('not-there', query));
  const after = async (id: unknown) => {
    const query = queryString([{ method: 'cursorAfter', values: [id] }]);
    return (await guest.client.get(`${collection.documents}${query}`)).refused(400, 'general_cursor_not_found').text;
  };
  assert.equal(withoutId(await after(hidden)), withoutId(await after('not-there')));
});
