// Calls that share a run: who is answered together, and what the failure of one means for the others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createJoin } from '#src/platform/db/batch.js';
import { DatabaseError } from '#src/platform/db/database-error.js';

/** Joins numbers and notes each run; `fails` says what a run throws. */
function aJoin(fails: (items: readonly number[]) => Error | undefined = () => undefined, doubling = false) {
  const runs: (readonly number[])[] = [];
  const join = createJoin<number, string>(
    async (items) => {
      runs.push(items);
      const error = fails(items);
      if (error !== undefined) throw error;
      return items.map((item) => (item < 0 && items.length > 1 ? undefined : `no. ${item}`));
    },
    { most: 8, doubling, atOnce: 1 },
  );
  return { join, runs };
}

test('calls of one turn share a run, up to a number', async () => {
  const { join, runs } = aJoin();
  await Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9].map(join));
  assert.deepEqual(runs, [[1, 2, 3, 4, 5, 6, 7, 8], [9]]);
});

test('where texts are to be few, runs are of 1, 2, 4 or 8', async () => {
  const { join, runs } = aJoin(undefined, true);
  assert.deepEqual(
    await Promise.all([1, 2, 3, 4, 5, 6, 7].map(join)),
    [1, 2, 3, 4, 5, 6, 7].map((n) => `no. ${n}`),
  );
  assert.deepEqual(runs, [[1, 2, 3, 4], [5, 6], [7]]);
});

test('what a run leaves out runs alone', async () => {
  const { join, runs } = aJoin();
  assert.deepEqual(await Promise.all([1, -2].map(join)), ['no. 1', 'no. -2']);
  assert.deepEqual(runs, [[1, -2], [-2]]);
});

test('of a run that fails, only the one at fault is refused', async () => {
  const { join, runs } = aJoin((items) => (items.includes(2) ? new Error('two') : undefined));
  const [first, second] = await Promise.allSettled([1, 2].map(join));
  assert.deepEqual([first?.status, second?.status], ['fulfilled', 'rejected']);
  assert.deepEqual(runs, [[1, 2], [1], [2]]);
});

test('where the database went away nothing is done twice', async () => {
  const away = new DatabaseError('unavailable', 'away');
  const { join, runs } = aJoin(() => away);
  for (const outcome of await Promise.allSettled([1, 2].map(join)))
    assert.equal(outcome.status === 'rejected' && outcome.reason, away);
  assert.deepEqual(runs, [[1, 2]]);
});
