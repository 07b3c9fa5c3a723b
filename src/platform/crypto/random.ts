import { randomBytes, randomFillSync, randomInt } from 'node:crypto';
import type { Clock } from '../runtime/clock.js';

/** The source of random values. */
export interface Random {
  /**
   * An id of 20 hex characters: 13 of time in microseconds, 7 random. Ids of one process sort in the order of their creation, unless its
   * clock is set back by more than a second. Ids of several processes sort roughly by creation.
   */
  id(): string;
  /** A secret of 256 bits, base64url without padding (43 characters). */
  secret(): string;
  /** Decimal digits, such as a code to be typed. */
  digits(count: number): string;
  /** Letters and digits, with almost six random bits each. */
  text(length: number): string;
  bytes(length: number): Buffer;
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Random values from the operating system's generator. */
export function createRandom(clock: Clock): Random {
  // Filled 4 KiB at a time: one call of the generator costs more than the bytes it returns.
  const pool = Buffer.alloc(4096);
  let used = pool.length;
  let lastMicros = 0;
  /** Reserves fresh bytes and returns their offset in the pool. */
  const reserve = (length: number): number => {
    if (used + length > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    used += length;
    return used - length;
  };
  const take = (length: number): Buffer => {
    const from = reserve(length);
    const bytes = Buffer.from(pool.subarray(from, from + length));
    pool.fill(0, from, from + length);
    return bytes;
  };
  return {
    id: () => {
      // The fraction comes from another clock, whose milliseconds begin elsewhere, so it can decrease within one millisecond.
      const time = clock.now() * 1000 + Math.floor((clock.monotonic() % 1) * 1000);
      const isBehind = time <= lastMicros && time > lastMicros - 1_000_000;
      const micros = isBehind ? lastMicros + 1 : time;
      lastMicros = micros;
      const chance = pool.readUInt32BE(reserve(4)) % idPart;
      return hex(Math.floor(micros / idPart), 6) + hex(micros % idPart, 7) + hex(chance, 7);
    },
    secret: () => take(32).toString('base64url'),
    digits: (count) => Array.from({ length: count }, () => randomInt(10)).join(''),
    text: (length) => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join(''),
    bytes: (length) => (length > 1024 ? randomBytes(length) : take(length)),
  };
}

/** Seven hex characters; converting larger numbers to text is slow. */
const idPart = 2 ** 28;

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

const scatter = 0.2;

/** The largest result of `withJitter`. */
export function maxJittered(milliseconds: number): number {
  return Math.ceil(milliseconds * (1 + scatter));
}

/** Adds or subtracts up to a fifth at random, so that calls that failed together are not retried together. */
export function withJitter(milliseconds: number, random: Random): number {
  const chance = random.bytes(4).readUInt32BE() / 0xffff_ffff;
  return Math.round(milliseconds * (1 - scatter + 2 * scatter * chance));
}
