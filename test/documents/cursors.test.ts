// Lists that go on from different documents share statements: each goes on from its own, whatever the order, and however its cursor is spelled.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { aBackend, queryString } from './setup.js';

const target = await startAppliance({});
const { key, collection: aCollection } = await aBackend(target);
const notes = await aCollection({
  documentSecurity: true,
  attributes: {
    long: { type: 'string', size: 5000 },
    part: { type: 'float' },
    flag: { type: 'boolean' },
    whole: { type: 'integer' },
    word: { type: 'string', size: 20 },
  },
});
const count = 12;
for (let at = 0; at < count; at++) {
  const data = {
    long: at % 5 === 0 ? null : 'x'.repeat(900 + (at % 3)),
    part: at % 4 === 0 ? null : (at % 4) / 3,
    flag: at % 3 === 0 ? null : at % 3 === 1,
    whole: at % 2 === 0 ? null : (at % 4) - 2,
    word: at % 6 === 0 ? '"cursorAfter"' : `w${at % 2}`,
  };
  const permissions = at === 3 ? [] : ['read("any")'];
  (await key.post(notes.documents, { documentId: `d${at}`, data, permissions })).expect(201);
}
const guest = createClient(target);
const order = (attribute: string, at: number) => ({ method: at % 2 === 0 ? 'orderAsc' : 'orderDesc', attribute });
const idsOf = async (queries: readonly unknown[]): Promise<string[]> => {
  const { body } = (await guest.get(notes.documents + queryString(queries))).expect(200);
  return (body.documents as { $id: string }[]).map(({ $id }) => $id);
};
const visible = count - 1;

for (const orders of [
  [],
  ['$createdAt'],
  ['long'],
  ['part'],
  ['flag', 'part'],
  ['whole', 'word'],
  ['flag', 'whole', 'part', 'word', 'long'],
])
  test(`pages by ${orders.join(', ') || 'sequence'} begin at their own cursors, also those asked for at once`, async () => {
    const ordered = orders.map(order);
    const all = await idsOf([...ordered, { method: 'limit', values: [100] }]);
    assert.equal(all.length, visible);
    const pages = all.flatMap((id, at) => [
      { method: 'cursorAfter', id, expected: all.slice(at + 1, at + 4) },
      { method: 'cursorBefore', id, expected: all.slice(Math.max(0, at - 3), at) },
    ]);
    const found = await Promise.all(
      pages.map(({ method, id }) => idsOf([...ordered, { method: 'limit', values: [3] }, { method, values: [id] }])),
    );
    assert.deepEqual(
      found,
      pages.map(({ expected }) => expected),
    );
  });

test('more orders at once than share statements, and more cursors than one statement looks up', async () => {
  const attributes = ['part', 'flag', 'whole', 'word', '$updatedAt'];
  const orders = attributes.flatMap((one) =>
    attributes.flatMap((two) => attributes.map((three) => [...new Set([one, two, three])])),
  );
  const distinct = [...new Map(orders.map((names) => [names.join(), names])).values()];
  assert.ok(distinct.length > 50);
  const asked = distinct.map((names) => names.map(order));
  const limit = (count: number) => ({ method: 'limit', values: [count] });
  const answers = await Promise.all(asked.map((ordered) => idsOf([...ordered, limit(100)])));
  const pages = asked.flatMap((ordered, at) => {
    const all = answers[at] ?? [];
    return [2, 5, 8].map((place) => ({ ordered, id: all[place], expected: all.slice(place + 1, place + 3) }));
  });
  const found = await Promise.all(
    pages.map(({ ordered, id }) => idsOf([...ordered, limit(2), { method: 'cursorAfter', values: [id] }])),
  );
  assert.deepEqual(
    found,
    pages.map(({ expected }) => expected),
  );
  const [all = []] = answers;
  const one = asked[0] ?? [];
  const many = await Promise.all(
    Array.from({ length: 200 }, (_, at) => idsOf([...one, limit(1), { method: 'cursorAfter', values: [all[at % 9]] }])),
  );
  assert.deepEqual(
    many,
    Array.from({ length: 200 }, (_, at) => [all[(at % 9) + 1]]),
  );
});

test('a cursor is recognized by its meaning, not its spelling, and the first one counts', async () => {
  const search = (texts: readonly string[]) =>
    texts.map((text, at) => `queries[${at}]=${encodeURIComponent(text)}`).join('&');
  const after = (id: string) => JSON.stringify({ method: 'cursorAfter', values: [id] });
  const list = async (texts: readonly string[]) => {
    const { body } = (await guest.get(`${notes.documents}?${search(texts)}`)).expect(200);
    return (body.documents as { $id: string }[]).map(({ $id }) => $id);
  };
  assert.deepEqual(await list(['{"method":"cursor\\u0041fter","values":["d9"]}']), ['d10', 'd11']);
  assert.deepEqual(await list([after('d9'), after('d1')]), ['d10', 'd11']);
  const quoted = JSON.stringify({ method: 'equal', attribute: 'word', values: ['"cursorAfter"'] });
  assert.deepEqual(await list([quoted]), ['d0', 'd6']);
  assert.deepEqual(await list([quoted, after('d0')]), ['d6']);
  for (const id of ['d3', 'nobody'])
    (await guest.get(`${notes.documents}?${search([after(id)])}`)).refused(400, 'general_cursor_not_found');
  for (const text of [
    '{"method":"cursorAfter","values":[1]}',
    '{"method":"cursorAfter","values":[]}',
    '{"cursor":1}',
    '{"cursor',
  ])
    (await guest.get(`${notes.documents}?${search([text])}`)).refused(400, 'general_query_invalid');
});
