// Lists that share a statement: what one slow list, a client that has gone and a database that is away mean for the others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Reading } from '#src/contract/reading.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Query } from '#src/platform/db/query.js';
import { createSharedRead, type SharedQuery } from '#src/platform/db/shared-read.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reads } from '#src/platform/db/unit.js';

/** A client that can go away. */
class TestWaiter {
  isGone = false;
  readonly #listeners = new Set<() => void>();
  onGone(listener: () => void) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  go() {
    this.isGone = true;
    for (const listener of [...this.#listeners]) listener();
  }
}

interface Run {
  readonly reading: Reading;
  readonly own: readonly unknown[];
  readonly answer: () => void;
  readonly fail: (error: Error) => void;
}

/** A database whose statements end when the test says so. */
function aDatabase() {
  const runs: Run[] = [];
  const ask = (reading: Reading, { values }: Query) =>
    new Promise<Row[]>((resolve, reject) => {
      const answer = () => resolve(values.map((value, part) => ({ part: String(part), text: `no. ${value}` })));
      runs.push({ reading, own: values, answer, fail: reject });
    });
  const lists = (reading: Reading | undefined): Reads => {
    assert.ok(reading);
    return {
      all: (query) => ask(reading, query),
      one: async (query) => (await ask(reading, query))[0],
      snapshot: () => Promise.reject(new Error('no snapshot is asked for')),
    };
  };
  const read = createSharedRead({ lists }, { dialect: 'sqlite', text: (sql, values) => ({ sql, values }) });
  const query = (own: number): SharedQuery => ({
    columns: 'given.column2 as text',
    values: [],
    own: [own],
    places: ['?'],
    key: 'one',
  });
  const call = (own: number, account: string) => {
    const waiter = new TestWaiter();
    return { waiter, row: read(query(own), { account, waiter }).then((row) => row?.text) };
  };
  return { runs, call };
}

const timeout = () => new DatabaseError('timeout', '57014');
const sixteen = Array.from({ length: 16 }, (_, at) => at);

test('sixteen lists are one statement, outside the quota of accounts, with less time than a statement has', async () => {
  const { runs, call } = aDatabase();
  const calls = sixteen.map((at) => call(at, `account ${at}`));
  await turn();
  assert.deepEqual(
    runs.map(({ own }) => own),
    [sixteen],
  );
  assert.equal(runs[0]?.reading.account, 'joined');
  assert.equal(runs[0]?.reading.maxMs, 1000);
  runs[0]?.answer();
  assert.deepEqual(
    await Promise.all(calls.map(({ row }) => row)),
    sixteen.map((at) => `no. ${at}`),
  );
});

test('several lists of one account take its own share', async () => {
  const { runs, call } = aDatabase();
  const calls = [1, 2].map((at) => call(at, 'same'));
  await turn();
  assert.equal(runs[0]?.reading.account, 'same');
  runs[0]?.answer();
  await Promise.all(calls.map(({ row }) => row));
});

test('when a statement of sixteen is slow each runs alone in its own share, once, and so do those that come later', async () => {
  const { runs, call } = aDatabase();
  const calls = sixteen.map((at) => call(at, `account ${at}`));
  await turn();
  // These wait for the statement under way and for the next one.
  const second = sixteen.map((at) => call(100 + at, `account ${at}`));
  await turn();
  const third = [call(200, 'account 200'), call(201, 'account 201')];
  await turn();
  assert.equal(runs.length, 2);
  runs[0]?.fail(timeout());
  await turn();
  const alone = runs.slice(2);
  assert.deepEqual(
    alone.map(({ own }) => own[0]).sort((a, b) => Number(a) - Number(b)),
    [...sixteen, 200, 201],
  );
  assert.deepEqual(new Set(alone.map(({ reading }) => reading.account)).size, 18);
  for (const { reading, own, answer, fail } of alone) {
    assert.equal(reading.maxMs, undefined);
    if (own[0] === 3) fail(timeout());
    else answer();
  }
  const outcomes = await Promise.allSettled(calls.map(({ row }) => row));
  assert.deepEqual(
    outcomes.flatMap(({ status }, at) => (status === 'rejected' ? [at] : [])),
    [3],
  );
  assert.deepEqual(await Promise.all(third.map(({ row }) => row)), ['no. 200', 'no. 201']);
  runs[1]?.answer();
  await Promise.all(second.map(({ row }) => row));
  // Nothing is tried again, and the kind stays apart for a while.
  const before = runs.length;
  const later = [call(300, 'a'), call(301, 'b')];
  await turn();
  assert.deepEqual(
    runs.slice(before).map(({ own }) => own),
    [[300], [301]],
  );
  for (const { answer } of runs.slice(before)) answer();
  await Promise.all(later.map(({ row }) => row));
});

test('one client of sixteen that goes away ends nothing, the last one does', async () => {
  const { runs, call } = aDatabase();
  const calls = sixteen.map((at) => call(at, `account ${at}`));
  await turn();
  let ended = 0;
  const { reading } = runs[0] ?? assert.fail();
  reading.waiter.onGone(() => {
    ended += 1;
  });
  for (const { waiter } of calls.slice(1)) waiter.go();
  assert.deepEqual([ended, reading.waiter.isGone], [0, false]);
  calls[0]?.waiter.go();
  assert.deepEqual([ended, reading.waiter.isGone], [1, true]);
  runs[0]?.answer();
  await Promise.all(calls.map(({ row }) => row));
});

test('a caller who waits for a running statement and has gone never starts', async () => {
  const { runs, call } = aDatabase();
  const first = [1, 2].map((at) => call(at, 'a'));
  await turn();
  const second = [3, 4].map((at) => call(at, 'b'));
  await turn();
  const waiting = [5, 6].map((at) => call(at, 'c'));
  const outcomes = Promise.allSettled(waiting.map(({ row }) => row));
  waiting[0]?.waiter.go();
  for (const { answer } of runs) answer();
  await Promise.all([...first, ...second].map(({ row }) => row));
  await turn();
  await turn();
  for (const { answer } of runs) answer();
  const [gone, there] = await outcomes;
  assert.equal(gone?.status === 'rejected' && gone.reason.code, 'client_gone');
  assert.equal(there?.status === 'fulfilled' && there.value, 'no. 6');
  assert.deepEqual(
    runs.map(({ own }) => own),
    [[1, 2], [3, 4], [6]],
  );
});

test('during an outage of the database nothing is asked again', async () => {
  const { runs, call } = aDatabase();
  const calls = [1, 2].map((at) => call(at, `account ${at}`));
  await turn();
  runs[0]?.fail(new DatabaseError('unavailable', 'away'));
  for (const outcome of await Promise.allSettled(calls.map(({ row }) => row))) assert.equal(outcome.status, 'rejected');
  assert.equal(runs.length, 1);
});
