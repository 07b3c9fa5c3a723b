import { clockSkewSeconds } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';

/** The source of time; tests pass one they can move. */
export interface Clock {
  /** Milliseconds since the Unix epoch. The machine's clock can be set ahead or back at any moment. */
  now(): number;
  /** Milliseconds that never decrease, for durations and in-memory limits. */
  monotonic(): number;
}

/** The clock of the machine. */
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
 * The latest stored time that can still be in the past, because the clocks of processes differ a little. A later time was written before
 * the clock was set back, so its age is unknown.
 */
export function latestPast(nowMs: number): number {
  return nowMs + skewMs;
}

/** True if a past moment is further ahead than the difference between the clocks of processes. */
export function isAhead(instant: Instant, nowMs: number): boolean {
  return millisecondsOf(instant) > latestPast(nowMs);
}

/** True if the instant is at most `maxMs` old. An instant ahead of the clock has an unknown age and counts as older. */
export function isRecent(instant: Instant, nowMs: number, maxMs: number): boolean {
  const at = millisecondsOf(instant);
  return nowMs - at <= maxMs && at <= latestPast(nowMs);
}

/** True if something that lasts at most `longestMs` is not over. A later end counts as over. */
export function isRunning(until: Instant, nowMs: number, longestMs: number): boolean {
  const end = millisecondsOf(until);
  return end > nowMs && end <= latestPast(nowMs) + longestMs;
}
