// Values that the database itself refuses: an entry of an index of Postgres has 2704 bytes, fewer than the characters that an index may have can take.
// The refusal names the index, whichever way the value comes; SQLite has no such bound. Numbers beyond what is stored are refused by both alike.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaLimits } from '#src/contract/limits.js';
import { startAppliance } from '../harness/appliance.js';
import type { Answer } from '../harness/client.js';
import { eventually } from '../webhooks/setup.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const { key, collection: aCollection } = await aBackend(target);
const isPostgres = target.appliance.runtime.sql.dialect === 'postgres';

/** As many characters of four bytes each, which do not get shorter by compression. */
function wide(count: number): string {
  let seed = 7;
  const characters = Array.from({ length: count }, () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return String.fromCodePoint(0x20000 + (seed % 0x9000));
  });
  return characters.join('');
}
const t = wide(schemaLimits.indexedCharacters);

const without = { t: { type: 'string', size: schemaLimits.indexedCharacters }, x: { type: 'float' } };
const inRows = (path: string) =>
  path.replace('/databases/', '/tablesdb/').replace('/collections/', '/tables/').replace('/documents', '/rows');

/** On Postgres the value is refused with the names, on SQLite it is stored. */
function judge(answer: Answer, kind = 'document'): void {
  if (!isPostgres) {
    assert.ok(answer.status < 300, answer.text);
    return;
  }
  assert.deepEqual([answer.status, answer.body.type], [400, `${kind}_invalid_structure`], answer.text);
  assert.match(String(answer.body.message), /a value is too long for the index "by-t" over "t"\.$/);
  assert.ok(!answer.text.includes(t.slice(0, 9)));
}

test('a value that does not fit an index is refused with its name, whatever writes it', async () => {
  const { documents, indexes } = await aCollection({ attributes: without });
  (await key.post(indexes, { key: 'by-t', type: 'key', attributes: ['t'] })).expect(202);
  for (const documentId of ['one', 'two']) (await key.post(documents, { documentId, data: {} })).expect(201);
  judge(await key.post(documents, { documentId: 'three', data: { t } }));
  judge(await key.patch(`${documents}/one`, { data: { t } }));
  judge(await key.put(`${documents}/one`, { data: { t } }));
  judge(await key.put(`${documents}/four`, { data: { t } }));
  judge(await key.post(documents, { documents: [{ $id: 'five' }, { $id: 'six', t }] }));
  judge(await key.put(documents, { documents: [{ $id: 'one', t }] }));
  judge(await key.patch(documents, { data: { t } }));
  judge(await key.post(inRows(documents), { rowId: 'seven', data: { t } }), 'row');
  const transactionId = (await key.post('/databases/transactions', {})).expect(201).string('$id');
  // Operations are tried when they are staged; nothing of it is there before the commit.
  judge(await key.post(documents, { documentId: 'eight', data: { t }, transactionId }));
  const listed = (await key.get(documents)).expect(200);
  assert.equal(listed.body.total, isPostgres ? 2 : 7);
  if (isPostgres) assert.ok(!listed.text.includes(t), 'nothing of a refused change stays');
});

test('an index over values that do not fit is refused with the attributes, and the next one is made', async () => {
  const { documents, indexes } = await aCollection({ attributes: without });
  (await key.post(documents, { documentId: 'one', data: { t } })).expect(201);
  const make = () => key.post(indexes, { key: 'by-t', type: 'key', attributes: ['t'] });
  const made = await make();
  if (!isPostgres) {
    made.expect(202);
    return;
  }
  assert.deepEqual([made.status, made.body.type], [400, 'index_invalid']);
  assert.match(String(made.body.message), /^The index "by-t" cannot be made: .*"t" are too long for an index\.$/);
  (await key.delete(`${documents}/one`)).expect(204);
  // Postgres indexes a deleted row too as long as some transaction may still see it.
  await eventually(async () => (await make()).expect(202));
});

test('a number out of range is refused with the name of the attribute', async () => {
  const { documents } = await aCollection({ attributes: without });
  (await key.post(documents, { documentId: 'one', data: { x: 1e308 } })).expect(201);
  const operator = JSON.stringify({ method: 'multiply', values: [1e300] });
  for (const answer of [
    await key.patch(`${documents}/one/x/increment`, { value: 1e308 }),
    await key.patch(`${documents}/one`, { data: { x: operator } }),
    await key.patch(documents, { data: { x: operator } }),
  ]) {
    assert.deepEqual([answer.status, answer.body.type], [400, 'attribute_limit_exceeded'], answer.text);
    assert.match(String(answer.body.message), /"x"/);
  }
});
