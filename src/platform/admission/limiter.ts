import { isIPv6 } from 'node:net';
import type { Rate } from '#src/contract/limits.js';

/** State of a bucket after a call. */
export interface LimitState {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Whole seconds until a refused call can succeed; at least 1 when refused. */
  readonly retryAfter: number;
  /** Whole seconds until the bucket is full again. */
  readonly resetSeconds: number;
  readonly windowSeconds: number;
}

/** Intervals are fractions of milliseconds, so their sum may exceed the window by less than this. */
const roundingMs = 0.01;

/**
 * GCRA after `calls` more calls, all or none of them: the new theoretical arrival time, or the old one if they are refused. A negative
 * number returns calls. `fill` is the fraction of the limit that may be used. More calls than that are allowed once nothing of it is used.
 */
export function advance(
  arrival: number,
  now: number,
  rate: Rate,
  calls = 1,
  fill = 1,
): { readonly arrival: number; readonly state: LimitState } {
  const intervalMs = (rate.seconds * 1000) / rate.count;
  const windowMs = rate.seconds * 1000 * fill;
  const next = Math.max(arrival, now) + calls * intervalMs;
  const allowed = next - now <= Math.max(windowMs, calls * intervalMs) + roundingMs;
  const used = allowed ? next : Math.max(arrival, now);
  return {
    arrival: used,
    state: {
      allowed,
      limit: rate.count,
      remaining: allowed ? Math.max(0, Math.floor((windowMs - (used - now)) / intervalMs + 1e-6)) : 0,
      retryAfter: allowed ? 0 : Math.max(1, Math.ceil((next - now - windowMs) / 1000)),
      resetSeconds: Math.ceil((used - now) / 1000),
      windowSeconds: rate.seconds,
    },
  };
}

/** Most keys of one process; the oldest are dropped first. */
const capacity = 100_000;

/** Counts in memory: one number per key and process. */
export function createMemoryLimiter(now: () => number): (key: string, rate: Rate, calls?: number) => LimitState {
  const arrivals = new KeptKeys<number>();
  return (key, rate, calls = 1) => {
    const { arrival, state } = advance(arrivals.get(key) ?? 0, now(), rate, calls);
    arrivals.set(key, arrival);
    return state;
  };
}

/** The counters of a process by their keys. If there are too many, those that were used least recently are dropped. */
export class KeptKeys<T> {
  readonly #values = new Map<string, T>();

  [Symbol.iterator](): Iterator<[string, T]> {
    return this.#values.entries();
  }

  get(key: string): T | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: T): void {
    const values = this.#values;
    if (values.size >= capacity) {
      // A map keeps insertion order, so the first entries are the oldest.
      for (const oldest of values.keys()) {
        values.delete(oldest);
        if (values.size < capacity * 0.9) break;
      }
    }
    values.delete(key);
    values.set(key, value);
  }
}

/** The key of an address: IPv4 as it is, mapped addresses as IPv4, IPv6 by its /64. */
export function addressKey(ip: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip);
  if (mapped?.[1] !== undefined) return mapped[1];
  if (!isIPv6(ip)) return ip;
  // The URL parser writes IPv6 in one canonical, compressed form.
  const canonical = new URL(`http://[${ip.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...left, ...Array(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right];
  return `${groups.slice(0, 4).join(':')}::/64`;
}
