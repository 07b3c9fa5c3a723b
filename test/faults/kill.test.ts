// kill -9 of the server under load: every acknowledged write, its audit row and its event are there, every committed event is delivered,
// and none is invented. SVC_TEST_ROUNDS says how often; `npm run test:faults` does it fifty times.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, seed } from '../documents/random.js';
import { after } from '../harness/runner.js';
import { connections } from './load.js';
import { begin, gather, prepare, pronounce, runRounds, type Striker } from './rounds.js';

const rounds = Number(process.env.SVC_TEST_ROUNDS ?? 2);
const random = createRandom(seed);
const course = await prepare(random);
after(() => course.scene.place.dispose());

const kill: Striker = async ({ place }, server, load) => {
  server.signal('SIGKILL');
  await server.ended;
  assert.equal(await load.ended, connections, 'the server has answered after its end');
  return place.serve();
};

test(`nothing is lost or invented in ${rounds} kills of the server, seed ${seed}`, async (t) => {
  const started = performance.now();
  const server = await runRounds(course, await begin(course), { rounds, strike: kill, random });
  const said = pronounce(await gather(course, server));
  t.diagnostic(`${said}, ${((performance.now() - started) / 1000).toFixed(1)} s, seed ${seed}`);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
});
