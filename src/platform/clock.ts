import { clockSkewSeconds } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';

/** Where time comes from; tests pass one they can move. */
export interface Clock {
  /** Milliseconds since the Unix epoch. The machine's clock can be set, ahead or back, at any moment. */
  now(): number;
  /** Milliseconds that only ever grow, for measuring and for in-memory limits. */
  monotonic(): number;
}

/** The machine's own clock. */
export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

const skewMs = clockSkewSeconds * 1000;

/** A time in milliseconds as stored text. */
export function instantOf(milliseconds: number): Instant {
  return new Date(milliseconds).toISOString();
}

/** Milliseconds of a stored instant. */
export function millisecondsOf(instant: Instant): number {
  return Date.parse(instant);
}

/**
 * The latest time that a moment of the past can have been stored as: the clocks of processes differ a little. What lies after it was
 * written before the clock was set back, and tells nothing about how long ago that was.
 */
export function latestPast(nowMs: number): number {
  return nowMs + skewMs;
}

/** Whether a moment of the past lies further ahead than the clocks of processes differ. */
export function isAhead(instant: Instant, nowMs: number): boolean {
  return millisecondsOf(instant) > latestPast(nowMs);
}

/** Whether something that happened then is at most so old. What lies ahead is of unknown age and counts as older. */
export function isRecent(instant: Instant, nowMs: number, maxMs: number): boolean {
  const at = millisecondsOf(instant);
  return nowMs - at <= maxMs && at <= latestPast(nowMs);
}

/** Whether something that lasts so long at most is not over. What ends later than that counts as over. */
export function isRunning(until: Instant, nowMs: number, longestMs: number): boolean {
  const end = millisecondsOf(until);
  return end > nowMs && end <= latestPast(nowMs) + longestMs;
}
