// `svc cron …` as an operator runs it, without a server and beside one.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

type State = { name: string; lastRun: string | null; nextRun: string; lastError: string | null; owner: string | null };

let place: Installation;
before(async () => {
  place = await install();
});
after(() => place.dispose());

const list = async () => (await place.json<{ jobs: State[] }>(['cron', 'list'])).jobs;
const state = async (name: string) => (await list()).find((job) => job.name === name);

test('the list names every job, when it ran and when it runs', async () => {
  const begun = Date.now();
  const jobs = await list();
  const names = jobs.map(({ name }) => name);
  for (const name of ['sessions.expire', 'limits.prune', 'database.optimize']) assert.ok(names.includes(name), name);
  for (const job of jobs) {
    assert.deepEqual([job.lastRun, job.lastError, job.owner], [null, null, null]);
    assert.ok(Date.parse(job.nextRun) > begun);
  }
  const minutely = jobs.find(({ name }) => name === 'sessions.expire')?.nextRun ?? '';
  assert.match(minutely, /:00\.000Z$/);
  assert.ok(Date.parse(minutely) <= Date.now() + 60_000);
  const { out } = await place.svc(['cron', 'list']);
  assert.match(out, /^JOB +SCHEDULE \(UTC\) +LAST RUN +NEXT RUN +RUN BY +LAST ERROR\n/);
  for (const name of names) assert.ok(out.includes(name), name);
});

test('a job is run now', async () => {
  const begun = Date.now();
  const done = await place.json<{ job: string; outcome: string }>(['cron', 'run', 'sessions.expire']);
  assert.deepEqual([done.job, done.outcome], ['sessions.expire', 'ok']);
  assert.ok(Date.parse((await state('sessions.expire'))?.lastRun ?? '') >= begun);
  assert.match((await place.svc(['cron', 'run', 'database.optimize'])).out, /^database\.optimize is done: \d+ ms\n$/);
});

test('an unknown job is exit 3, with those there are', async () => {
  const { code, out, err } = await place.svc(['cron', 'run', 'sessions.expired', '--json']);
  assert.deepEqual([code, out], [3, '']);
  const { error } = JSON.parse(err);
  assert.equal(error.type, 'job_not_found');
  assert.match(error.message, /no job sessions\.expired\. The jobs are: .*limits\.prune/);
  assert.equal(error.fix, 'svc cron list');
});

test('the job of scheduled backups needs a schedule', async () => {
  const { code, err } = await place.svc(['cron', 'run', 'backup.create', '--json']);
  const { error } = JSON.parse(err);
  assert.deepEqual([code, error.type], [3, 'job_not_found']);
  assert.match(error.message, /SVC_BACKUP_CRON is not set/);
  assert.match(error.fix, /^svc backup create makes a backup now/);
});

test('a job that another process runs is exit 5 until its lease is over', async () => {
  await place.json(['cron', 'run', 'limits.prune']);
  const hold = (until: string) =>
    place.sql(`update cron_jobs set owner = 'elsewhere:1', lease_until = '${until}' where name = 'limits.prune'`);
  await hold(new Date(Date.now() + 60_000).toISOString());
  assert.equal((await state('limits.prune'))?.owner, 'elsewhere:1');
  const { code, err } = await place.svc(['cron', 'run', 'limits.prune', '--json']);
  assert.equal(code, 5);
  assert.equal(JSON.parse(err).error.type, 'job_running');
  assert.match(JSON.parse(err).error.message, /limits\.prune \(elsewhere:1, at least until \d{4}-.*Z\)/);
  await place.json(['cron', 'run', 'sessions.expire']);
  await hold(new Date(Date.now() - 1000).toISOString());
  assert.equal((await state('limits.prune'))?.owner, null);
  await place.json(['cron', 'run', 'limits.prune']);
});

test('a job that fails is exit 1 and stands in the list; the others go on', async () => {
  await place.sql('alter table limit_counters rename to away');
  const { code, err } = await place.svc(['cron', 'run', 'limits.prune', '--json']);
  assert.equal(code, 1);
  const { error } = JSON.parse(err);
  assert.equal(error.type, 'job_failed');
  assert.match(error.message, /^limits\.prune failed\. The database reports an error \([A-Z0-9_]+\)\.$/);
  assert.match((await state('limits.prune'))?.lastError ?? '', /^The database reports an error/);
  await place.json(['cron', 'run', 'sessions.expire']);
  assert.equal((await state('sessions.expire'))?.lastError, null);
  await place.sql('alter table away rename to limit_counters');
  await place.json(['cron', 'run', 'limits.prune']);
  assert.equal((await state('limits.prune'))?.lastError, null);
});

test('a server runs the jobs of a killed one after the lease has expired', async () => {
  const until = new Date(Date.now() + 6000).toISOString();
  await place.sql(
    `update cron_jobs set owner = 'killed:1', lease_until = '${until}', last_slot = '2026-01-01T00:00:00.000Z' where name = 'limits.prune'`,
  );
  const server = await place.serve();
  const isOver = ({ lastRun, owner }: State) => Date.parse(lastRun ?? '') >= Date.parse(until) && owner === null;
  for (let job = await state('limits.prune'); job !== undefined && !isOver(job); job = await state('limits.prune')) {
    assert.ok(job.owner === 'killed:1' || Date.now() >= Date.parse(until), String(job.owner));
    await sleep(250);
  }
  assert.equal((await state('limits.prune'))?.lastError, null);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
});
