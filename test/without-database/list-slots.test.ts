// The slots of lists: limits of an account, turns, and waiting.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createSlots } from '#src/platform/db/list-slots.js';

const bounds = { places: 3, perAccount: 2, waitingOfAccount: 3, waiting: 4, waitMs: 10_000 };

/** Slots, and reads of accounts that go on until the test ends them. */
function startReads(given: Partial<typeof bounds> = {}) {
  const slots = createSlots({ ...bounds, ...given });
  const running: string[] = [];
  const read = (account: string) => {
    const listeners = new Set<() => void>();
    const waiter = {
      isGone: false,
      onGone: (listener: () => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const done = slots({ account, waiter }, async () => {
      running.push(account);
      await ended;
      running.splice(running.indexOf(account), 1);
    });
    const outcome = done.then(
      () => 'done',
      (error: { code: string }) => error.code,
    );
    const go = () => {
      waiter.isGone = true;
      for (const listener of [...listeners]) listener();
    };
    return { outcome, end, go, listeners };
  };
  return { read, running };
}

test('an account has its share and leaves the rest to others, who take turns', async () => {
  const { read, running } = startReads();
  const own = [1, 2, 3, 4].map(() => read('a'));
  await turn();
  assert.deepEqual(running, ['a', 'a']);
  const other = [read('b'), read('b')];
  await turn();
  assert.deepEqual(running, ['a', 'a', 'b']);
  own[0]?.end();
  await turn();
  // Whoever waits longest for a turn, not whoever asks for most.
  own[1]?.end();
  await turn();
  assert.deepEqual([...running].sort(), ['a', 'b', 'b'].sort());
  for (const one of [...own, ...other]) one.end();
  assert.deepEqual(await Promise.all([...own, ...other].map(({ outcome }) => outcome)), Array(6).fill('done'));
  assert.deepEqual(running, []);
});

test('more than may wait is refused: of an account the new read, of all the last one of the account with the most', async () => {
  const { read } = startReads();
  const reads = [1, 2, 3, 4, 5].map(() => read('a'));
  assert.equal(await read('a').outcome, 'lists_waiting');
  const others = [read('b'), read('b')];
  const third = read('b');
  assert.equal(await reads[4]?.outcome, 'lists_waiting');
  for (const one of [...reads, ...others, third]) one.end();
  const outcomes = await Promise.all([...reads, ...others, third].map(({ outcome }) => outcome));
  assert.deepEqual(outcomes.toSorted(), [...Array(7).fill('done'), 'lists_waiting']);
  const last = read('c');
  last.end();
  assert.equal(await last.outcome, 'done');
});

test('a caller who has gone never starts and leaves the queue', async () => {
  const { read, running } = startReads({ places: 1, perAccount: 1 });
  const first = read('a');
  const [second, third] = [read('a'), read('b')];
  second.go();
  assert.equal(await second.outcome, 'client_gone');
  assert.equal(second.listeners.size, 0);
  first.end();
  await turn();
  assert.deepEqual(running, ['b']);
  third.end();
  assert.equal(await third.outcome, 'done');
  assert.equal(third.listeners.size, 0);
});

test('no caller waits for longer than the limit', async () => {
  const { read } = startReads({ places: 1, perAccount: 1, waitMs: 20 });
  const first = read('a');
  const second = read('b');
  assert.equal(await second.outcome, 'lists_waiting');
  first.end();
  assert.equal(await first.outcome, 'done');
});

test('a read fails when its wait is over, and only then', async () => {
  const slots = createSlots({ ...bounds, places: 1 });
  const waiter = { isGone: false, onGone: () => () => {} };
  const started: string[] = [];
  let end = () => {};
  const first = slots({ account: 'a', waiter, onStarted: () => started.push('first') }, () => {
    return new Promise<void>((resolve) => {
      end = resolve;
    });
  });
  const second = slots({ account: 'b', waiter, onStarted: () => started.push('second') }, async () => {});
  await turn();
  assert.deepEqual(started, ['first']);
  end();
  await Promise.all([first, second]);
  assert.deepEqual(started, ['first', 'second']);
});
