// The server and its jobs: it ticks by itself, tells what it measures, and waits for its jobs when it ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { aLoggedInUser } from '../harness/actors.js';
import { databaseUnderTest, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { day, minute } from '../harness/clock.js';
import { rowsOf } from '../harness/database.js';
import { until } from './jobs.js';

const sessionsOf = async (target: TestAppliance) => (await rowsOf(target, 'sessions')).length;

/** Keeps whoever changes sessions waiting until the returned function is called. */
async function holdSessions({ appliance }: TestAppliance): Promise<() => Promise<void>> {
  let letGo: () => void = () => {};
  const end = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let holding: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve) => {
    holding = appliance.runtime.driver.exclusive(async (connection) => {
      if (databaseUnderTest === 'postgres') await connection.run({ sql: 'lock table sessions', values: [] });
      resolve();
      await end;
    });
  });
  return () => {
    letGo();
    return holding;
  };
}

test('a server runs due jobs by itself', async () => {
  const target = await startAppliance({ ticking: true });
  await aLoggedInUser(target);
  target.clock.advance(30 * day + minute);
  await until(async () => (await sessionsOf(target)) === 0);
  const jobs = await target.appliance.features.jobs.list();
  await until(async () =>
    (await target.appliance.features.jobs.list()).every(
      ({ lease, lastSuccess }) => lease === 'process' || lastSuccess !== null,
    ),
  );
  assert.deepEqual(
    jobs.map(({ lastError }) => lastError),
    jobs.map(() => null),
  );
});

test('a server that drains waits for the job it runs, and leaves nothing half done', async () => {
  const target = await startAppliance();
  const sibling = await target.startSibling();
  await aLoggedInUser(target);
  target.clock.advance(30 * day + minute);
  const letGo = await holdSessions(target);
  const run = sibling.appliance.features.jobs.tick('sessions.expire');
  await sleep(100);
  let drained = false;
  const draining = sibling.drain().then(() => {
    drained = true;
  });
  await sleep(300);
  assert.equal(drained, false);
  await letGo();
  await Promise.all([draining, run]);
  await target.appliance.features.jobs.tick('sessions.expire');
  assert.equal(await sessionsOf(target), 0);
  const events = (await rowsOf(target, 'events')).map(({ type }) => type);
  assert.deepEqual(events.sort(), ['sessionCreated', 'sessionDeleted']);
});

test('the metrics of every process cover the jobs of all', async () => {
  const target = await startAppliance();
  const sibling = await target.startSibling();
  const sample = async (from: TestAppliance, name: string) => {
    const { text } = (await createClient(from, { project: null }).get('//metrics')).expect(200);
    const line = text.split('\n').find((one) => one.startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.slice(name.length + 1));
  };
  const age = 'svc_cron_seconds_since_success{name="limits.prune"}';
  target.clock.advance(2 * day);
  assert.ok(Number(await sample(sibling, age)) >= 172_800);
  await target.appliance.features.jobs.tick('limits.prune');
  for (const process of [target, sibling]) assert.ok(Number(await sample(process, age)) < 60);
  const runs = 'svc_cron_runs_total{name="limits.prune",outcome="ok"}';
  assert.deepEqual([await sample(target, runs), await sample(sibling, runs)], [1, undefined]);
  assert.equal(await sample(target, 'svc_cron_run_duration_seconds_count{name="limits.prune"}'), 1);

  const held = 'svc_cron_lease_held{name="sessions.expire"}';
  assert.equal(await sample(sibling, held), 0);
  await aLoggedInUser(target);
  target.clock.advance(30 * day + minute);
  const another = await target.startSibling();
  await until(async () => (await sessionsOf(target)) === 0);
  await aLoggedInUser(target);
  target.clock.advance(30 * day + minute);
  const letGo = await holdSessions(another);
  const run = target.appliance.features.jobs.tick('sessions.expire');
  if (databaseUnderTest === 'postgres') await until(async () => (await sample(sibling, held)) === 1);
  await letGo();
  await run;
  assert.equal(await sample(sibling, held), 0);
});
