// Searches while schemas change: SQLite prepares the statements of its fulltext tables for one schema.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { aBackend, queryString } from './setup.js';

const target = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });

test('no search and no write of words fails while schemas change', async () => {
  const { key, collection } = await aBackend(target);
  const notes = await collection({ attributes: { text: { type: 'text' } } });
  (await key.post(notes.indexes, { key: 'words', type: 'fulltext', attributes: ['text'] })).expect(202);
  for (const id of ['a', 'b', 'c'])
    (await key.post(notes.documents, { documentId: id, data: { text: `word ${id}` } })).expect(201);
  let isOver = false;
  const wrong: string[] = [];
  const search = queryString([{ method: 'search', attribute: 'text', values: ['word'] }]);
  const worker = async (at: number) => {
    while (!isOver) {
      const answer =
        at === 0
          ? await key.patch(`${notes.documents}/a`, { data: { text: `word ${Math.random()}` } })
          : await key.get(notes.documents + search);
      if (answer.status !== 200) wrong.push(`${answer.status} ${answer.body.type}`);
      else if (at > 0) assert.equal(answer.body.total, 3);
    }
  };
  const workers = [0, 1, 2, 3, 4].map(worker);
  const others = await collection({ attributes: { n: { type: 'integer' } } });
  for (let round = 0; round < 25; round++) {
    for (const name of [`a${round}`, `b${round}`])
      (await key.post(`${others.attributes}/integer`, { key: name, required: false })).expect(202);
    (await key.post(others.indexes, { key: `i${round}`, type: 'key', attributes: [`a${round}`] })).expect(202);
    (await key.delete(`${others.indexes}/i${round}`)).expect(204);
  }
  isOver = true;
  await Promise.all(workers);
  assert.deepEqual(wrong, []);
});
