import type { Instant } from '#src/contract/shapes.js';

/** Where time comes from; tests pass one they can move. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds that only ever grow, for measuring and for in-memory limits. */
  monotonic(): number;
}

/** The machine's own clock. */
export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

/** A time in milliseconds as stored text. */
export function instantOf(milliseconds: number): Instant {
  return new Date(milliseconds).toISOString();
}

/** Milliseconds of a stored instant. */
export function millisecondsOf(instant: Instant): number {
  return Date.parse(instant);
}
