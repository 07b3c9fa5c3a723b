// A job that fails: operators read why, the log says where, and nothing else stops.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '#src/contract/errors.js';
import { startAppliance } from '../harness/appliance.js';
import { day } from '../harness/clock.js';
import { runSql } from '../harness/database.js';
import { aJob, jobsOf } from './jobs.js';

const target = await startAppliance();

/** [what is thrown, what operators read] */
const failures: [string, () => unknown, RegExp][] = [
  ['a defect', () => new TypeError('ada@mail.example is not a function'), /^This is a defect of svc \(TypeError\)\.$/],
  ['no error at all', () => 'ada@mail.example', /^This is a defect of svc \(string\)\.$/],
  ['a refusal', () => new Failure('project_not_found'), /^There is no such project\./],
  [
    'the system',
    () => Object.assign(new Error('ada@mail.example'), { code: 'ENOSPC' }),
    /^The system reports an error \(ENOSPC\)\.$/,
  ],
  [
    'the database',
    () => runSql(target, 'select * from no_such_table').catch((error: unknown) => error),
    /^The database reports an error \([A-Z0-9_]+\)\.$/,
  ],
];

for (const [what, thrown, words] of failures) {
  test(`${what} is reported in words, and the other jobs go on`, async () => {
    const name = `test.${what.replaceAll(' ', '-')}`;
    let failing = true;
    let others = 0;
    const jobs = jobsOf(
      target,
      aJob(name, async () => {
        if (failing) throw await thrown();
      }),
      aJob(`${name}.other`, async () => {
        others += 1;
      }),
    );
    const state = async () => (await jobs.list()).find((job) => job.name === name);
    await jobs.start();
    target.clock.advance(day);
    await jobs.sweep();
    assert.match((await state())?.lastError ?? '', words);
    assert.equal((await state())?.lastSuccess, null);
    assert.equal(others, 1);
    const line = target
      .log()
      .split('\n')
      .find((one) => one.includes('"cron.failed"') && one.includes(`"${name}"`));
    assert.ok(line?.includes('"level":"error"'), line);
    assert.doesNotMatch(target.log(), /ada@mail/);

    await jobs.sweep();
    assert.equal(others, 1, 'a slot that failed is over');
    failing = false;
    target.clock.advance(day);
    await jobs.sweep();
    assert.equal((await state())?.lastError, null);
    assert.notEqual((await state())?.lastSuccess, null);
    assert.equal(others, 2);
    await jobs.stop();
  });
}

test('while the database is away the log says so once for each job, and nothing ends', async () => {
  const sibling = await target.startSibling();
  const job = aJob('test.away', async () => {});
  const jobs = jobsOf(sibling, job);
  await sibling.close();
  for (let tries = 0; tries < 3; tries++) {
    await jobs.tick(job.name);
    await jobs.sweep();
  }
  const said = sibling
    .log()
    .split('\n')
    .filter((line) => line.includes('"cron.'));
  assert.deepEqual(
    said.map((line) => [JSON.parse(line).level, JSON.parse(line).event, JSON.parse(line).job]),
    [
      ['warn', 'cron.unavailable', 'test.away'],
      ['warn', 'cron.unavailable', 'watch'],
    ],
  );
});
