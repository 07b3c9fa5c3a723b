// A target that another copy fills between the look at it and the beginning.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyDatabase, copyState } from '#src/features/operations/copy/copy.js';
import { startRuntime } from '../harness/platform.js';

const quiet = { onBegin: async () => {}, onProgress: () => {} };

test('a copy does not begin in a target that another copy has filled meanwhile', async () => {
  const { runtime: source } = await startRuntime();
  await source.migrator.up();
  for (const start of ['empty', 'over'] as const) {
    const { runtime: target } = await startRuntime();
    const other = () => copyDatabase(source, target, { ...quiet, start: 'empty' }).then(() => undefined);
    await assert.rejects(copyDatabase(source, target, { ...quiet, start, onBegin: other }), { reason: 'taken' });
    assert.equal(await copyState(target), 'data', start);
  }
});
