// A clock that is set: jobs go on, whichever way it jumps, and no tick costs more the further it does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createScheduler } from '#src/platform/jobs/scheduler.js';
import { startAppliance } from '../harness/appliance.js';
import { createTestClock, day, hour, minute } from '../harness/clock.js';
import { rowsOf, runSql } from '../harness/database.js';
import { aJob, aLongJob, jobsOf, until } from './jobs.js';

const target = await startAppliance();
const rowOf = async (name: string) => (await rowsOf(target, 'cron_jobs')).find((row) => row.name === name);

/** How often schedules tick in the seconds after their clock was set by so much. */
async function ticksAfter(step: number): Promise<Record<string, number>> {
  const clock = createTestClock();
  const scheduler = createScheduler(clock);
  const ticks: Record<string, number> = { second: 0, minute: 0, hour: 0 };
  const count = (name: string) => async () => {
    ticks[name] = (ticks[name] ?? 0) + 1;
  };
  // No slot of its own comes in these seconds.
  clock.advance(30 * minute - (clock.now() % hour));
  scheduler.start([
    { name: 'second', schedule: '* * * * * *', run: count('second') },
    { name: 'minute', schedule: '40 * * * * *', run: count('minute') },
    { name: 'hour', schedule: '0 5 * * * *', run: count('hour') },
  ]);
  clock.step(step);
  await sleep(6500);
  scheduler.stop();
  return ticks;
}

/** The longest time for which nothing else ran. */
function watchPauses(): () => number {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 10);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

test('after any step the scheduler ticks on, each schedule once for all that it missed, and nothing waits', async () => {
  const longestPause = watchPauses();
  const steps = [2 * day, 30 * day, 25 * 365 * day, -6 * hour, -120 * day];
  for (const { second = 0, ...calendar } of await Promise.all(steps.map(ticksAfter))) {
    assert.deepEqual(calendar, { minute: 1, hour: 1 });
    assert.ok(second >= 4 && second <= 7, String(second));
  }
  assert.ok(longestPause() < 3000, String(longestPause()));
});

test('a lease and a last slot that lie further ahead than they can count as none', async () => {
  let runs = 0;
  const job = aJob('test.ahead', async () => {
    runs += 1;
  });
  const jobs = jobsOf(target, job);
  await jobs.start();
  target.clock.advance(20 * day);
  await jobs.sweep();
  assert.equal(runs, 1);
  const { last_slot, last_success_at } = (await rowOf(job.name)) ?? {};
  await runSql(target, `update cron_jobs set owner = 'killed:1', lease_until = ? where name = 'test.ahead'`, [
    new Date(target.clock.now() + minute).toISOString(),
  ]);
  target.clock.step(-10 * day);
  const [state] = await jobs.list();
  assert.equal(state?.owner, null);
  await jobs.sweep();
  assert.equal(runs, 2, 'the slot of the day runs');
  const row = await rowOf(job.name);
  assert.ok(String(row?.last_slot) < String(last_slot) && String(row?.last_success_at) < String(last_success_at));
  await jobs.sweep();
  target.clock.advance(day);
  await jobs.sweep();
  assert.equal(runs, 3, 'and each after it, once');
  await jobs.stop();
});

test('a holder renews its lease also while the clock stands behind', async () => {
  const { job, begun, letGo } = aLongJob('test.behind');
  const jobs = jobsOf(target, job);
  const run = jobs.run(job.name);
  await until(() => begun() === 1);
  const before = (await rowOf(job.name))?.lease_until;
  target.clock.step(-6 * hour);
  target.clock.advance(30_000);
  await until(async () => (await rowOf(job.name))?.lease_until !== before);
  assert.ok(Date.parse(String((await rowOf(job.name))?.lease_until)) <= target.clock.now() + minute);
  letGo();
  assert.equal((await run)?.outcome, 'ok');
});

test('of two processes whose clocks are ten minutes apart each slot runs once', async () => {
  const ahead = createTestClock();
  const sibling = await target.startSibling({ clock: ahead });
  ahead.advance(target.clock.now() - ahead.now() + 10 * minute);
  let runs = 0;
  const job = {
    ...aJob('test.apart', async () => {
      runs += 1;
    }),
    schedule: '0 * * * * *',
  };
  const [here, there] = [jobsOf(target, job), jobsOf(sibling, job)];
  await Promise.all([here.start(), there.start()]);
  await Promise.all([here.sweep(), there.sweep()]);
  runs = 0;
  for (let slot = 1; slot <= 5; slot++) {
    target.clock.advance(minute);
    ahead.advance(minute);
    for (const jobs of [there, here, there, here]) await jobs.sweep();
    assert.equal(runs, slot);
  }
  await Promise.all([here.stop(), there.stop()]);
});
