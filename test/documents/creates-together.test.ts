// Creates that arrive at once share a statement: whoever is answered 201 finds its own content stored, and nobody else's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { aBackend, queryString } from './setup.js';

const target = await startAppliance();
const { key, collection } = await aBackend(target);
const { documents, indexes } = await collection({
  attributes: { code: { type: 'string', size: 40 }, who: { type: 'string', size: 40 } },
});
(await key.post(indexes, { key: 'code', type: 'unique', attributes: ['code'] })).expect(202);

const rounds = 30;

test('if a unique index refuses one of two creates of the same id, the other gets 201', async () => {
  for (let round = 0; round < 60; round++) {
    const id = `pair-${round}`;
    const taken = `taken-${round}`;
    (await key.post(documents, { documentId: `${id}-first`, data: { code: taken, who: 'first' } })).expect(201);
    const create = (code: string, who: string) => key.post(documents, { documentId: id, data: { code, who } });
    const [refused, created] = await Promise.all([create(taken, 'refused'), create(`free-${round}`, 'created')]);
    assert.deepEqual([refused?.status, created?.status], [409, 201], `${refused?.text} ${created?.text}`);
    assert.equal(created?.string('who'), 'created');
    assert.equal((await key.get(`${documents}/${id}`)).string('who'), 'created');
  }
});

test('64 concurrent creates with duplicate ids and taken values: the answers match the stored documents', async () => {
  for (let round = 0; round < rounds; round++) {
    const creates = Array.from({ length: 64 }, (_, at) => ({
      // Three share an id, and two of other ids share a value.
      documentId: `many-${round}-${at % 22}`,
      data: { code: `${round}-${Math.floor(at / 2)}`, who: `${round}-${at}` },
    }));
    const answers = await Promise.all(creates.map((body) => key.post(documents, body)));
    const told = new Map<string, unknown>();
    for (const [at, answer] of answers.entries()) {
      const given = creates[at];
      if (answer.status === 409) continue;
      const { $id, code, who } = answer.expect(201).body;
      assert.deepEqual({ documentId: $id, data: { code, who } }, given);
      assert.ok(!told.has(String($id)), `two were answered 201 for ${$id}`);
      told.set(String($id), who);
    }
    const here = { method: 'startsWith', attribute: '$id', values: [`many-${round}-`] };
    const stored = (await key.get(documents + queryString([here, { method: 'limit', values: [100] }]))).list(
      'documents',
    );
    const sorted = (pairs: Iterable<[string, unknown]>) => [...pairs].sort(([a], [b]) => (a < b ? -1 : 1));
    assert.deepEqual(sorted(stored.map(({ $id, who }) => [String($id), who])), sorted(told));
    assert.ok(told.size >= 16);
  }
});
