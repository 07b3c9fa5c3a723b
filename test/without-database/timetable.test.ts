// When a schedule is due: the last time before a moment and the first one after it, in UTC.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTimetable } from '#src/platform/jobs/scheduler.js';

const moment = Date.parse('2026-11-21T12:00:05.500Z');
/** [schedule, last time until the moment, first time after it] */
const times: [string, string, string][] = [
  ['* * * * * *', '2026-11-21T12:00:05Z', '2026-11-21T12:00:06Z'],
  ['*/5 * * * * *', '2026-11-21T12:00:05Z', '2026-11-21T12:00:10Z'],
  ['0 * * * * *', '2026-11-21T12:00:00Z', '2026-11-21T12:01:00Z'],
  ['30 59 * * * *', '2026-11-21T11:59:30Z', '2026-11-21T12:59:30Z'],
  ['0 30 3 * * *', '2026-11-21T03:30:00Z', '2026-11-22T03:30:00Z'],
  ['0 0 22-2 * * *', '2026-11-21T02:00:00Z', '2026-11-21T22:00:00Z'],
  ['0 0 12 * * sun', '2026-11-15T12:00:00Z', '2026-11-22T12:00:00Z'],
  ['0 0 4 L * *', '2026-10-31T04:00:00Z', '2026-11-30T04:00:00Z'],
  ['0 0 0 29 2 *', '2024-02-29T00:00:00Z', '2028-02-29T00:00:00Z'],
  ['15 4 * * *', '2026-11-21T04:15:00Z', '2026-11-22T04:15:00Z'],
];

for (const [schedule, before, after] of times) {
  test(`${schedule} is due`, () => {
    const { previous, next } = createTimetable(schedule);
    assert.deepEqual([previous(moment), next(moment)], [Date.parse(before), Date.parse(after)]);
    assert.equal(previous(Date.parse(after)), Date.parse(after));
    assert.equal(previous(Date.parse(after) - 1), Date.parse(before));
    assert.equal(next(Date.parse(before)), Date.parse(after));
  });
}

test('an invalid schedule, or one that never occurs, is refused', () => {
  for (const schedule of ['', 'hourly', '61 * * * * *', '* * * *', '0 0 0 30 2 *'])
    assert.throws(() => createTimetable(schedule));
  assert.throws(() => createTimetable('0 0 0 L-29 2 *').next(moment), /never comes/);
});
