// Ids sort in the order in which they were made: the numbers of events follow it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '#src/platform/crypto/random.js';

/** A clock that stands where it is put; the fraction of its milliseconds is put too. */
function aClock() {
  const at = { now: Date.UTC(2026, 0, 1), monotonic: 0 };
  const clock = { now: () => at.now, monotonic: () => at.monotonic } as Parameters<typeof createRandom>[0];
  return { at, random: createRandom(clock) };
}

const isSorted = (ids: readonly string[]) => ids.every((id, at) => at === 0 || id > (ids[at - 1] ?? ''));

test('ids of one millisecond sort by creation, even if the fraction of the other clock falls', () => {
  const { at, random } = aClock();
  const ids = [0.9, 0.95, 0.1, 0.1, 0.99, 0.2].map((fraction) => {
    at.monotonic = 7 + fraction;
    return random.id();
  });
  assert.ok(isSorted(ids), ids.join(' '));
  at.now += 2;
  assert.ok(random.id() > (ids.at(-1) ?? ''));
});

test('ids keep their order while the clock is set back by less than a second, and restart after more', () => {
  const { at, random } = aClock();
  const first = random.id();
  at.now -= 900;
  const second = random.id();
  assert.ok(isSorted([first, second]));
  at.now -= 6 * 3_600_000;
  assert.ok(random.id() < first);
});
