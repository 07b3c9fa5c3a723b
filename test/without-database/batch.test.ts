// Calls that share a run: who is answered together, and what the failure of one means for the others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBatcher } from '#src/platform/db/batch.js';
import { DatabaseError } from '#src/platform/db/database-error.js';

/** Joins numbers and notes each run; `fails` says what a run throws. */
function aJoin(fails: (items: readonly number[]) => Error | undefined = () => undefined) {
  const runs: (readonly number[])[] = [];
  const join = createBatcher<number, string>(
    async (items) => {
      runs.push(items);
      const error = fails(items);
      if (error !== undefined) throw error;
      return items.map((item) => (item < 0 && items.length > 1 ? undefined : `no. ${item}`));
    },
    { max: 8, atOnce: 1 },
  );
  return { join, runs };
}

test('calls of one turn share a run, up to a number', async () => {
  const { join, runs } = aJoin();
  await Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9].map(join));
  assert.deepEqual(runs, [[1, 2, 3, 4, 5, 6, 7, 8], [9]]);
});

test('items without an answer in a run run alone', async () => {
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

test('after an outage or timeout of the database nothing is done twice', async () => {
  for (const error of [new DatabaseError('unavailable', 'away'), new DatabaseError('timeout', '57014')]) {
    const { join, runs } = aJoin(() => error);
    for (const outcome of await Promise.allSettled([1, 2].map(join)))
      assert.equal(outcome.status === 'rejected' && outcome.reason, error);
    assert.deepEqual(runs, [[1, 2]]);
  }
});

test('two of one name never share a run: the later one goes when the earlier one has ended', async () => {
  const runs: (readonly number[])[] = [];
  const run = async (items: readonly number[]) => {
    runs.push(items);
    return items.map(String);
  };
  const join = createBatcher<number, string>(run, { max: 8, atOnce: 2, identity: (item) => String(item % 10) });
  const given = [1, 11, 2, 21, 12, 3];
  assert.deepEqual(await Promise.all(given.map(join)), given.map(String));
  assert.deepEqual(runs, [[1, 2, 3], [11, 12], [21]]);
});

test('a run stays within its weight, and a heavier item goes alone', async () => {
  const runs: (readonly number[])[] = [];
  const run = async (items: readonly number[]) => {
    runs.push(items);
    return items.map(String);
  };
  const options = { max: 8, atOnce: 1, identity: String, weight: (item: number) => item, heaviest: 10 };
  const join = createBatcher<number, string>(run, options);
  await Promise.all([50, 1, 4, 6, 2, 60].map(join));
  assert.deepEqual(runs, [[50], [1, 4], [6, 2], [60]]);
});
