// Creates of documents that queue behind a locked database: they are given up together, not one run after the other, and hold a bounded memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyRoom } from '#src/contract/limits.js';
import { aBackend } from '../documents/setup.js';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { lock } from './moods.js';

/** The promise is 12 s; a machine with two cores that runs other tests meanwhile gets a little more. */
const boundMs = 14_000;
/** More than one statement takes, so that the second run waits for the first. */
const creates = 150;

test('waiting large creates hold memory for their bodies: further ones are sent away, and small ones wait with them', async () => {
  const target = await startAppliance();
  const { key, collection } = await aBackend(target);
  const { documents } = await collection({ attributes: { text: { type: 'string', size: 5_000_000 } } });
  const create = (documentId: string, length: number) =>
    key.post(documents, { documentId, data: { text: 'x'.repeat(length) } });
  (await create('before', 1)).expect(201);
  await target.appliance.features.worker.stop();
  const held = await lock(target.databaseUrl, ...(databaseUnderTest === 'postgres' ? ['d_1'] : []));
  const length = 4_000_000;
  const fitting = Math.floor(bodyRoom.perAddress / (length - bodyRoom.own));
  const all = Array.from({ length: fitting + 4 }, (_, at) => create(`large-${at}`, length));
  const small = create('small', 1);
  try {
    const first = await Promise.race(all);
    assert.ok(Number(first.refused(503, 'general_unavailable').headers.get('Retry-After')) >= 1);
  } finally {
    await held.release();
  }
  const statuses = (await Promise.all(all)).map(({ status }) => status).sort();
  assert.deepEqual(statuses, [...Array.from({ length: fitting }, () => 201), 503, 503, 503, 503]);
  (await small).expect(201);
  (await create('after', length)).expect(201);
});

test('creates that wait for a locked database are given up after 12 s, in whichever run they stand', async (t) => {
  const target = await startAppliance();
  const { key, collection } = await aBackend(target);
  const { documents } = await collection({ attributes: { code: { type: 'string', size: 40 } } });
  const create = (documentId: string) => key.post(documents, { documentId, data: { code: documentId } });
  (await create('before')).expect(201);
  await target.appliance.features.worker.stop();
  const held = await lock(target.databaseUrl, ...(databaseUnderTest === 'postgres' ? ['d_1'] : []));
  try {
    const started = performance.now();
    const answers = await Promise.all(Array.from({ length: creates }, (_, at) => create(`waiting-${at}`)));
    const longest = performance.now() - started;
    for (const answer of answers) answer.refused(503, 'general_unavailable');
    t.diagnostic(`longest wait of a create ${Math.round(longest)} ms`);
    assert.ok(longest < boundMs, `a create waited ${Math.round(longest)} ms`);
  } finally {
    await held.release();
  }
  (await create('after')).expect(201);
});
