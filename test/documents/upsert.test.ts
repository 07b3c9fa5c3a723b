// Documents that are created or changed by one call, and numbers that many callers change at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printJson } from '#src/platform/text/json.js';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { recordedBy } from '../harness/database.js';
import { someCallers } from './callers.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const sibling = await target.startSibling();
const { key, collection: aCollection } = await aBackend(target);
const { secret } = await aServerKey(target);
const { ada } = await someCallers(target);
const largest = 2n ** 63n - 1n;
const open = ['read("users")', 'create("users")'];
const attributes = {
  title: { type: 'string', size: 20, required: true },
  n: { type: 'integer' },
  small: { type: 'integer', min: 5, max: 9 },
  ratio: { type: 'float', default: 0.5 },
  list: { type: 'integer', array: true },
};
const { documents } = await aCollection({ permissions: open, documentSecurity: true, attributes });
const one = (names: readonly string[]) => ({ audit: names, events: names, messages: [] });
const step = (id: string, attribute: string, way: 'increment' | 'decrement', body: unknown = {}) =>
  key.patch(`${documents}/${id}/${attribute}/${way}`, printJson(body));

test('an upsert creates with defaults, then keeps members that are not given', async () => {
  const path = `${documents}/put`;
  const { recorded } = await recordedBy(target, async () => {
    const made = (await ada.client.put(path, { data: { title: 'A' } })).expect(200).body;
    assert.deepEqual([made.title, made.ratio, made.n], ['A', 0.5, null]);
    assert.deepEqual(
      made.$permissions,
      ['read', 'update', 'delete'].map((action) => `${action}("user:${ada.name}")`),
    );
  });
  assert.deepEqual(recorded, one(['documentCreated']));
  (await key.patch(path, { data: { ratio: 2.5 } })).expect(200);
  const again = await recordedBy(target, async () => {
    const changed = (await ada.client.put(path, { data: { title: 'A', n: 7 } })).expect(200).body;
    assert.deepEqual([changed.ratio, changed.n], [2.5, 7]);
  });
  assert.deepEqual(again.recorded, one(['documentUpdated']));
  const same = await recordedBy(target, async () => {
    (await ada.client.put(path, { data: { title: 'A', n: 7 } })).expect(200);
  });
  assert.deepEqual(same.recorded, one([]));
  (await ada.client.put(path, { data: { n: 8 } })).refused(400, 'document_invalid_structure');
  (await ada.client.put(path, { data: { title: 'A' }, permissions: ['read("user:eve")'] })).refused(
    401,
    'user_unauthorized',
  );
});

test('upserts of one id at once, from two processes, create one document', async () => {
  const there = createClient(sibling, { key: secret });
  const { recorded } = await recordedBy(target, async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        (at % 2 === 0 ? key : there).put(`${documents}/race`, { data: { title: 'A', n: at } }),
      ),
    );
    for (const answer of answers) answer.expect(200);
    assert.equal(new Set(answers.map(({ body }) => body.$sequence)).size, 1);
  });
  assert.equal(recorded.events.filter((name) => name === 'documentCreated').length, 1);
});

test('increments of many callers at once are all counted', async () => {
  (await key.post(documents, { documentId: 'sum', data: { title: 'S' } })).expect(201);
  const there = createClient(sibling, { key: secret });
  const { recorded } = await recordedBy(target, () =>
    Promise.all(
      Array.from({ length: 30 }, async (_, at) =>
        (await (at % 2 === 0 ? key : there).patch(`${documents}/sum/n/increment`, {})).expect(200),
      ),
    ),
  );
  assert.equal((await key.get(`${documents}/sum`)).body.n, 30);
  assert.equal(recorded.events.length, 30);
  assert.equal((await step('sum', 'n', 'decrement', { value: 31 })).expect(200).body.n, -1);
});

test('a number stays within its own bounds, those of the request, and 64 bits', async () => {
  const data = { title: 'B', n: largest - 1n, small: 8, ratio: 0.1, list: [1] };
  (await key.post(documents, printJson({ documentId: 'bounds', data }))).expect(201);
  assert.match((await step('bounds', 'n', 'increment')).expect(200).text, /"n":9223372036854775807,/);
  const beyond: readonly (readonly [string, 'increment' | 'decrement', unknown])[] = [
    ['n', 'increment', {}],
    ['n', 'increment', { value: largest }],
    ['small', 'increment', { value: 2 }],
    ['small', 'decrement', { value: 4 }],
    ['small', 'increment', { max: 8 }],
    ['small', 'decrement', { min: 8 }],
    ['ratio', 'increment', { value: 1, max: 1 }],
  ];
  for (const [attribute, way, body] of beyond)
    (await step('bounds', attribute, way, body)).refused(400, 'attribute_limit_exceeded');
  assert.equal((await step('bounds', 'small', 'increment', { max: 9 })).expect(200).body.small, 9);
  assert.equal((await step('bounds', 'ratio', 'increment', { value: 0.2 })).expect(200).body.ratio, 0.1 + 0.2);
  (await step('bounds', 'ratio', 'increment', { value: Number.MAX_VALUE })).expect(200);
  (await step('bounds', 'ratio', 'increment', { value: Number.MAX_VALUE })).refused(400, 'attribute_limit_exceeded');
  (await step('bounds', 'list', 'increment')).refused(400, 'attribute_type_invalid');
  (await step('bounds', 'title', 'increment')).refused(400, 'attribute_type_invalid');
  (await step('bounds', 'none', 'increment')).refused(404, 'attribute_not_found');
  (await step('none', 'n', 'increment')).refused(404, 'document_not_found');
  for (const body of [
    { value: 0 },
    { value: -1 },
    { value: 0.5 },
    { value: 2n ** 70n },
    { max: 0.5 },
    { value: 'one' },
  ])
    (await step('bounds', 'n', 'increment', body)).refused(400, 'general_argument_invalid');
});

test('a document hidden from the caller does not count in its bounds, which would reveal the value', async () => {
  const { documents: closed } = await aCollection({ documentSecurity: true, attributes });
  const permissions = [`update("user:${ada.name}")`];
  (await key.post(closed, { documentId: 'hidden', data: { title: 'A', small: 7 }, permissions })).expect(201);
  for (const way of ['increment', 'decrement'])
    (await ada.client.patch(`${closed}/hidden/small/${way}`, { value: 3 })).refused(401, 'user_unauthorized');
});
