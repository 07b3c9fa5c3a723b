// Another program holds a lock for long: nobody waits past the bound, and whoever only reads does not wait.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { aLoggedInUser, aPerson, signUpBody } from '../harness/actors.js';
import { databaseUnderTest, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { hour } from '../harness/clock.js';
import { asOwner, lock } from './moods.js';

/** The promise is 12 s; a machine with two cores that runs other tests meanwhile gets a little more. */
const boundMs = 13_000;

/** Sends so many writes at once, and returns what came of them and how long the longest took. */
async function writes(client: Client, count: number) {
  const took: number[] = [];
  const answers = await Promise.all(
    Array.from({ length: count }, async () => {
      const started = performance.now();
      const answer = await client.post('/account', signUpBody(aPerson()));
      took.push(performance.now() - started);
      return answer;
    }),
  );
  return { answers, longest: Math.max(...took) };
}

const others = (target: TestAppliance) => target.appliance.features.worker.stop();

test('writes that wait for another program are given up after 12 s, however many wait', async (t) => {
  const target = await startAppliance();
  const guest = createClient(target);
  const { client: user } = await aLoggedInUser(target);
  await others(target);
  target.clock.advance(2 * hour);
  const held = await lock(target.databaseUrl, 'users', 'sessions');
  try {
    const [{ answers, longest }, reads] = await Promise.all([
      writes(guest, 30),
      (async () => {
        const times: number[] = [];
        for (let count = 0; count < 5; count++) {
          const started = performance.now();
          (await user.get('/account')).expect(200);
          times.push(performance.now() - started);
        }
        return times;
      })(),
    ]);
    for (const answer of answers) {
      answer.refused(503, 'general_unavailable');
      assert.match(answer.headers.get('Retry-After') ?? '', /^[1-9]\d?$/);
    }
    t.diagnostic(`longest wait of a write ${Math.round(longest)} ms, of a read ${Math.round(Math.max(...reads))} ms`);
    assert.ok(longest < boundMs, `a write waited ${longest} ms`);
    // The time of the last use is left out after half a second; the rest is for a machine that runs other tests.
    assert.ok(Math.max(...reads) < 5000, `a read waited ${Math.max(...reads)} ms`);
  } finally {
    await held.release();
  }
  const { answers } = await writes(guest, 5);
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
});

test('a lock that goes in time is waited for', async () => {
  const target = await startAppliance();
  const guest = createClient(target);
  const held = await lock(target.databaseUrl, 'users');
  const waiting = writes(guest, 8);
  await sleep(databaseUnderTest === 'sqlite' ? 7000 : 2000);
  await held.release();
  const { answers } = await waiting;
  const statuses = new Set(answers.map(({ status }) => status));
  assert.deepEqual([...statuses], [201]);
});

test('waits for one lock after the other are bounded together', {
  skip: databaseUnderTest === 'sqlite' && 'there is one lock',
}, async (t) => {
  const target = await startAppliance();
  await others(target);
  // Two tables in turn are locked just below the time limit of a statement.
  await asOwner(
    target.databaseUrl,
    'create table first (n int); create table second (n int); create table third (n int)',
  );
  let running = true;
  const block = async (table: string, after: number) => {
    const client = new pg.Client({ connectionString: target.databaseUrl });
    await client.connect();
    await sleep(after);
    while (running) {
      await client.query(`begin; lock table ${table}`);
      await sleep(2700);
      await client.query('commit');
      await sleep(20);
    }
    await client.end();
  };
  const blocking = ['first', 'second', 'third'].map((table, at) => block(table, 900 * at));
  await sleep(2000);
  const started = performance.now();
  const { db, sql } = target.appliance.runtime;
  const by = { projectId: null, actor: { kind: 'user', id: 'test' }, requestId: 'test' };
  const tables = Array.from({ length: 24 }, (_, at) => ['first', 'second', 'third'][at % 3]);
  const outcome = await db
    .work(by, async (unit) => {
      for (const table of tables) {
        await unit.run(sql`savepoint one`);
        await unit.run(sql.text(`insert into ${table} values (1)`, []));
        // Gives the lock back, so that it can be taken away again.
        await unit.run(sql`rollback to savepoint one`);
      }
    })
    .then(
      () => 'done',
      (error: Error) => error.message,
    );
  const waited = performance.now() - started;
  running = false;
  await Promise.all(blocking);
  t.diagnostic(`${outcome} after ${Math.round(waited)} ms`);
  assert.match(outcome, /busy/);
  assert.ok(waited < boundMs, `waited ${waited} ms`);
});
