// Two processes over one database: each slot runs once, and what a holder leaves behind is taken over when its lease is over.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { day } from '../harness/clock.js';
import { rowsOf, runSql } from '../harness/database.js';
import { aJob, aLongJob, jobsOf, until } from './jobs.js';

const first = await startAppliance();
const second = await first.startSibling();
const rowOf = async (name: string) => (await rowsOf(first, 'cron_jobs')).find((row) => row.name === name);

test('each slot runs once over both, however often they look', async () => {
  let runs = 0;
  const job = aJob('test.once', async () => {
    runs += 1;
  });
  const [here, there] = [jobsOf(first, job), jobsOf(second, job)];
  await Promise.all([here.start(), there.start()]);
  for (let slot = 1; slot <= 3; slot++) {
    first.clock.advance(day);
    await Promise.all([here.tick(job.name), there.tick(job.name), here.tick(job.name), there.sweep(), here.sweep()]);
    await Promise.all([here.tick(job.name), there.tick(job.name)]);
    assert.equal(runs, slot);
  }
});

test('a job of every process runs in each at every tick, but not over itself', async () => {
  const { job, begun, letGo } = aLongJob('test.everywhere');
  const everywhere = { ...job, lease: 'process' as const };
  const [here, there] = [jobsOf(first, everywhere), jobsOf(second, everywhere)];
  const ticks = [here, here, there].map((jobs) => jobs.tick(job.name));
  await until(() => begun() === 2);
  letGo();
  await Promise.all(ticks);
  await here.tick(job.name);
  assert.equal(begun(), 3);
  assert.equal(await rowOf(job.name), undefined);
});

test('a holder that is gone is replaced when its lease is over, and not before', async () => {
  const dying = await first.startSibling();
  const { job, begun } = aLongJob('test.killed');
  const [there, here] = [
    jobsOf(dying, job),
    jobsOf(
      first,
      aJob(job.name, async () => {}),
    ),
  ];
  await Promise.all([there.start(), here.start()]);
  first.clock.advance(day);
  void there.tick(job.name);
  await until(() => begun() === 1);
  await dying.close();
  const state = async () => (await here.list()).find(({ name }) => name === job.name);
  first.clock.advance(57_000);
  await here.sweep();
  assert.equal(await here.run(job.name), undefined);
  assert.equal((await state())?.owner, dying.appliance.runtime.scheduler.owner);
  assert.equal((await state())?.lastSuccess, null);
  first.clock.advance(3000);
  assert.equal((await state())?.owner, null);
  await here.sweep();
  assert.notEqual((await state())?.lastSuccess, null);
  assert.equal(Number((await rowOf(job.name))?.fence), 2);
});

test('the lease of a long run is renewed', async () => {
  const { job, begun, letGo } = aLongJob('test.long');
  const [here, there] = [jobsOf(first, job), jobsOf(second, job)];
  await Promise.all([here.start(), there.start()]);
  first.clock.advance(day);
  const run = here.tick(job.name);
  await until(() => begun() === 1);
  for (let turn = 0; turn < 3; turn++) {
    const before = (await rowOf(job.name))?.lease_until;
    first.clock.advance(45_000);
    await until(async () => (await rowOf(job.name))?.lease_until !== before);
    await there.sweep();
  }
  letGo();
  await run;
  assert.equal(begun(), 1);
  assert.deepEqual([(await rowOf(job.name))?.owner, (await rowOf(job.name))?.lease_until], [null, null]);
});

test('a process that lost the lease is stopped and its result is dropped', async () => {
  const told: boolean[] = [];
  const slow = aJob('test.lost', async (signal) => {
    first.clock.advance(30_000);
    await until(() => signal.aborted);
    told.push(true);
    throw new Error('ended');
  });
  const [here, there] = [
    jobsOf(first, slow),
    jobsOf(
      second,
      aJob(slow.name, async () => {}),
    ),
  ];
  await Promise.all([here.start(), there.start()]);
  first.clock.advance(day);
  const run = here.run(slow.name);
  await until(async () => (await rowOf(slow.name))?.owner !== null);
  await first.appliance.runtime.db.work(
    { projectId: null, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' },
    (unit) => unit.run({ sql: `update cron_jobs set lease_until = '2000' where name = 'test.lost'`, values: [] }),
  );
  await there.tick(slow.name);
  assert.equal((await run)?.outcome, 'lost');
  assert.deepEqual(told, [true]);
  const row = await rowOf(slow.name);
  assert.deepEqual([row?.last_error, Number(row?.fence)], [null, 2]);
  assert.notEqual(row?.last_success_at, null);
});

test('slots that passed while nothing ran are made up for once, and a new job has missed none', async () => {
  let runs = 0;
  const job = aJob('test.missed', async () => {
    runs += 1;
  });
  const before = jobsOf(first, job);
  await before.start();
  await before.stop();
  assert.equal(runs, 0);
  first.clock.advance(3 * day);
  const [here, there] = [jobsOf(first, job), jobsOf(second, job)];
  await Promise.all([here.start(), there.start()]);
  await until(async () => (await rowOf(job.name))?.last_success_at !== null);
  await Promise.all([here.sweep(), there.sweep()]);
  assert.equal(runs, 1);
});

test('the next process at once reruns a job interrupted by the end of another', async () => {
  const polite = aJob('test.interrupted', async (signal) => {
    await until(() => signal.aborted);
    signal.throwIfAborted();
  });
  const [here, there] = [
    jobsOf(first, polite),
    jobsOf(
      second,
      aJob(polite.name, async () => {}),
    ),
  ];
  await Promise.all([here.start(), there.start()]);
  first.clock.advance(day);
  const run = here.tick(polite.name);
  await until(async () => (await rowOf(polite.name))?.owner !== null);
  await here.stop();
  await run;
  assert.equal((await rowOf(polite.name))?.last_finished_at, null);
  await here.tick(polite.name);
  assert.equal((await rowOf(polite.name))?.last_finished_at, null);
  await there.sweep();
  assert.notEqual((await rowOf(polite.name))?.last_success_at, null);
});

test('the end of a process waits for a job that goes on', async () => {
  const { job, begun, letGo } = aLongJob('test.waited-for');
  const here = jobsOf(first, job);
  const run = here.run(job.name);
  await until(() => begun() === 1);
  const order: string[] = [];
  const stopped = here.stop().then(() => order.push('stopped'));
  await runSql(first, 'select 1 as one');
  order.push('let go');
  letGo();
  await stopped;
  assert.deepEqual(order, ['let go', 'stopped']);
  assert.equal((await run)?.outcome, 'ok');
});
