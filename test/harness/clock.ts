import type { Clock } from '#src/platform/clock.js';

/** A clock that runs like the machine's own and can be moved ahead. */
export interface TestClock extends Clock {
  advance(milliseconds: number): void;
}

/** Milliseconds of a minute, an hour and a day. */
export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

/** Creates a clock that starts at the machine's time. */
export function createTestClock(): TestClock {
  let ahead = 0;
  return {
    now: () => Date.now() + ahead,
    monotonic: () => performance.now() + ahead,
    advance: (milliseconds) => {
      ahead += milliseconds;
    },
  };
}
