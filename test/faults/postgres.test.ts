// Postgres crashes under load, and the server stays: the same verdict as after a kill of the server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom, seed } from '../documents/random.js';
import { databaseUnderTest } from '../harness/appliance.js';
import { startPostgres } from '../harness/postgres.js';
import { after } from '../harness/runner.js';
import { begin, gather, prepare, pronounce, runRounds, type Striker } from './rounds.js';

const rounds = Math.ceil(Number(process.env.SVC_TEST_ROUNDS ?? 3) * 0.3);
const random = createRandom(seed);
const postgres = databaseUnderTest === 'postgres' ? await startPostgres() : undefined;
after(() => postgres?.stop());

test(`nothing is lost or invented in ${rounds} crashes of Postgres, seed ${seed}`, async (t) => {
  if (postgres === undefined) return;
  const started = performance.now();
  const course = await prepare(random, postgres.url);
  after(() => course.scene.place.dispose());
  const crash: Striker = async (_, server, load) => {
    await postgres.stopHard();
    await sleep(random.below(1500));
    await postgres.start();
    await load.acknowledged(50);
    load.stop();
    assert.equal(await load.ended, 0, 'the server has left a request without an answer');
    return server;
  };
  const server = await runRounds(course, await begin(course), { rounds, strike: crash, random });
  const said = pronounce(await gather(course, server));
  t.diagnostic(`${said}, ${((performance.now() - started) / 1000).toFixed(1)} s, seed ${seed}`);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
});
