import type { Clock } from '#src/platform/runtime/clock.js';

/** A clock that runs like the machine's own and can be set. */
export interface TestClock extends Clock {
  /** Lets so much time pass. */
  advance(milliseconds: number): void;
  /** Sets the clock, ahead or back, while no time passes: what only ever grows stays where it is. */
  step(milliseconds: number): void;
}

/** Milliseconds of a minute, an hour and a day. */
export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

/** Creates a clock that starts at the machine's time. */
export function createTestClock(): TestClock {
  let passed = 0;
  let stepped = 0;
  return {
    now: () => Date.now() + passed + stepped,
    monotonic: () => performance.now() + passed,
    advance: (milliseconds) => {
      passed += milliseconds;
    },
    step: (milliseconds) => {
      stepped += milliseconds;
    },
  };
}
