// The settings of scheduled backups: schedules and how many are kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tooOld } from '#src/features/operations/backup/retention.js';
import { parseKeep } from '#src/platform/config/backup-settings.js';
import { parseSchedule } from '#src/platform/config/cron.js';
import { createTimetable } from '#src/platform/jobs/scheduler.js';

test('a schedule has five or six fields, and every accepted one comes', () => {
  for (const given of [
    '0 3 * * *',
    '30 0 3 * * *',
    '*/15 * * * *',
    '0 1,13 * * 1-5',
    '0 0-20/5 29 2 *',
    '5 4 31 1,2 0',
    '0 3 * * 7',
  ]) {
    const schedule = parseSchedule(given);
    assert.ok(schedule, given);
    assert.ok(createTimetable(schedule).next(0) > 0);
  }
  assert.equal(parseSchedule('0 3 * * *'), '0 0 3 * * *');
  for (const given of [
    '',
    '* * * *',
    '60 3 * * *',
    '0 24 * * *',
    '0 3 0 * *',
    '0 3 31 4 *',
    '0 3 29 2 1',
    '5/10 * * * *',
    '*/0 * * * *',
    '9-5 * * * *',
    '* * * * * *',
    '0,30 * * * * *',
    '@daily',
    '0 3 * * mon',
  ])
    assert.equal(parseSchedule(given), undefined, given);
});

test('a number or days, weeks and months are kept', () => {
  assert.deepEqual(parseKeep('14'), { count: 14 });
  assert.deepEqual(parseKeep('7d4w6m'), { days: 7, weeks: 4, months: 6 });
  assert.deepEqual(parseKeep('3w'), { days: 0, weeks: 3, months: 0 });
  for (const given of ['', '0', '-1', '0d0w', '7x', '6m7d', 'all']) assert.equal(parseKeep(given), undefined, given);
});

test('the newest of each period stays, and the newest verified one', () => {
  const dayMs = 86_400_000;
  const from = Date.parse('2026-11-27T03:00:00.000Z');
  const nights = Array.from({ length: 400 }, (_, night) => {
    const createdAt = new Date(from - night * dayMs).toISOString();
    return { file: createdAt.slice(0, 10), createdAt, verifiedAt: createdAt };
  });
  const kept = (some: typeof nights, keep: string) => {
    const old = tooOld(some, parseKeep(keep) ?? { count: 1 });
    return some.filter((one) => !old.includes(one)).map(({ file }) => file);
  };
  assert.deepEqual(kept(nights, '3'), ['2026-11-27', '2026-11-26', '2026-11-25']);
  // 2026-11-27 is a Friday: weeks end on Sundays.
  assert.deepEqual(kept(nights, '2d3w3m'), [
    '2026-11-27',
    '2026-11-26',
    '2026-11-22',
    '2026-11-15',
    '2026-10-31',
    '2026-09-30',
  ]);
  // A pause does not count.
  assert.deepEqual(kept(nights.slice(100), '2d').length, 2);
  const unverified = nights.map((one, at) => ({ ...one, verifiedAt: at < 5 ? null : one.verifiedAt })) as typeof nights;
  assert.deepEqual(kept(unverified, '1'), ['2026-11-27', '2026-11-22']);
  assert.deepEqual(kept(unverified.slice(0, 5), '1').length, 5);
});
