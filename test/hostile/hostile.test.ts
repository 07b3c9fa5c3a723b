// A client built from the served OpenAPI document sends random, hostile and nearly right requests, GraphQL among them, as guest, user and server
// key: every answer is as declared and none is 5xx, another user is served throughout, and in a long run the memory comes back.
// SVC_TEST_SECONDS sets the duration of both runs together (20), SVC_TEST_SEED the choices.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { seed } from '../documents/random.js';
import { prepareAttack } from './attack.js';
import { type Ground, type Memory, startGround, type Waits } from './ground.js';
import { logProblems } from './server-log.js';

const seconds = Number(process.env.SVC_TEST_SECONDS ?? 20) / 2;
/** What fills caches and loads code is not what the attack leaves behind. */
const warmUpSeconds = Math.min(30, seconds / 2);
/** In a shorter run the caches are still filling when it ends. */
const measuresMemory = seconds >= 60;
const leastReach = measuresMemory ? 0.3 : 0.1;
const mebibyte = 2 ** 20;
const mostLeftBehind = 50;
const mostP99 = 3000;
const mostTurnsMore = 4;
/** On a machine with other work a request of several turns waits as many times. */
const turns = 10;

const settings: readonly [name: string, limits: Readonly<Record<string, string>>][] = [
  ['off', { SVC_RATE_LIMIT: 'off' }],
  // The product's own but for ordinary calls, of which two hundred a second would otherwise be nothing but 429.
  ['on', { SVC_RATE_LIMITS: 'data=1200/60' }],
];

const printed = (memory: Memory) =>
  [heldBytes(memory), memory.rss, memory.heapUsed, memory.heapTotal]
    .map((bytes) => Math.round(bytes / mebibyte))
    .join('/');

/** What is in use: V8 keeps pages of its heap that a collection has emptied, and fills them again. */
function heldBytes({ rss, heapTotal, heapUsed }: Memory): number {
  return rss - (heapTotal - heapUsed);
}

async function attack(t: TestContext, ground: Ground, given: number): Promise<string[]> {
  const onslaught = await prepareAttack(ground, given);
  const problems: string[] = [];
  let waits: Waits;
  try {
    await onslaught.run(warmUpSeconds);
    const before = await ground.memory();
    const watched = ground.watch();
    try {
      await onslaught.run(seconds - warmUpSeconds);
      // On a machine with other work fewer requests are made in that time.
      for (let more = 0; more < mostTurnsMore && onslaught.reach() <= leastReach; more++)
        await onslaught.run(seconds - warmUpSeconds);
    } finally {
      // Its process would outlive a failed attack, and the test with it.
      waits = await watched();
    }
    assert.ok(onslaught.reach() > leastReach, 'where all is refused nothing can be found');
    t.diagnostic(`${onslaught.told()}; ${Math.round(onslaught.reach() * 100)} % of the operations have succeeded`);
    t.diagnostic(
      `another user: ${waits.requests} requests, p99 ${waits.p99.toFixed(1)} ms, timers late by ${waits.lag.toFixed(1)} ms`,
    );
    if (waits.p99 > Math.max(mostP99, turns * waits.lag))
      problems.push(`another user's GET /account takes ${waits.p99.toFixed(0)} ms at p99`);
    if (waits.failures.length > 0) problems.push(`another user's GET /account fails: ${waits.failures.join(', ')}`);
    if (!ground.isRunning()) return [...problems, `the process has ended: ${ground.server.log().slice(-2000)}`];
    if (!measuresMemory) return problems;
    await sleep(3000);
    const after = await ground.memory();
    t.diagnostic(`held/rss/heap used/heap in MiB: ${printed(before)} before, ${printed(after)} after`);
    const left = (heldBytes(after) - heldBytes(before)) / mebibyte;
    if (left > mostLeftBehind) problems.push(`${left.toFixed(0)} MiB of memory did not come back`);
  } finally {
    onslaught.close();
    const { list } = onslaught.findings;
    problems.push(...list().map(({ problem, reproduction, times }) => `${problem}\n(${times} times) ${reproduction}`));
  }
  return problems;
}

for (const [name, limits] of settings) {
  test(`nothing is found in ${seconds} s with limits ${name}, seed ${seed}`, async (t) => {
    const ground = await startGround(limits);
    try {
      const problems = await attack(t, ground, seed);
      ground.server.signal('SIGTERM');
      if (ground.isRunning()) assert.equal(await ground.server.ended, 0);
      problems.push(...logProblems(ground.server.log()));
      for (const problem of problems) t.diagnostic(`FOUND ${problem}\n`);
      assert.equal(problems.length, 0, `${problems.length} findings, seed ${seed}:\n\n${problems.join('\n\n')}`);
    } finally {
      await ground.dispose();
    }
  });
}
