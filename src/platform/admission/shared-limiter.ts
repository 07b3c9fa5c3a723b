import { hash } from 'node:crypto';
import type { Rate } from '#src/contract/limits.js';
import { advance, KeptKeys, type LimitState } from './limiter.js';

/** An announcement of a process: the digest of a key, its recent calls there, and the part of its limit that the process holds or has used. */
export type Claim = readonly [key: string, calls: number, part: number];

/** Most keys that a process announces on its own account: those with the most calls. */
const maxAnnounced = 200;
/**
 * Fractions of an equal part: every process keeps the first; a key that has used the second is announced. The second is smaller, so that a
 * process has calls left when another one announces the same key before it does.
 */
const [kept, announced] = [0.25, 0.125];
const digestLength = 16;

interface Entry {
  /** The theoretical arrival time, for this process's part of the rate. */
  arrival: number;
  /** The part that becomes available again at this process. It is larger than `target` while more than that is used. */
  part: number;
  /** The part that this process may use. */
  target: number;
  rate: Rate;
  /** Calls since the last exchange. */
  tried: number;
  /** Recent calls; older ones count less. */
  calls: number;
  digest: string;
}

/** Sum of the announcements of the other processes for a key. */
interface Others {
  calls: number;
  part: number;
  processes: number;
}

/**
 * Counts in memory; all processes together keep the rate. Each process holds a part of each key's rate, first an equal one. Keys that are
 * used are announced to the other processes. A process with few calls of such a key returns most of its part, as far as it has not used it.
 * Only after it has announced that do the others take it, so that the parts never exceed the whole.
 */
export class SharedLimiter {
  readonly #now: () => number;
  readonly #entries = new KeptKeys<Entry>();
  /** Parts of the announced keys, by digest. */
  readonly #parts = new Map<string, number>();
  /** Keys that this process announces, by digest. */
  readonly #busy = new Map<string, Entry>();
  /** Other processes. */
  #others = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts calls, all or none of them. A negative number returns calls. */
  count(key: string, rate: Rate, calls = 1): LimitState {
    const now = this.#now();
    const entry = this.#entryOf(key, rate, now);
    const own = { ...rate, count: rate.count * entry.part };
    const { arrival, state } = advance(entry.arrival, now, own, calls, entry.target / entry.part);
    entry.arrival = arrival;
    entry.tried += calls;
    if (this.#others > 0 && (!state.allowed || this.#isUsed(entry, now))) this.#announce(entry, key, { now, calls });
    return { ...state, limit: rate.count };
  }

  /** Computes the parts from the announcements of the other processes. Returns the announcements of this one. */
  exchange(others: readonly (readonly Claim[])[]): readonly Claim[] {
    const now = this.#now();
    const wasAlone = this.#others === 0;
    this.#others = others.length;
    if (wasAlone && this.#others > 0)
      for (const [key, entry] of this.#entries)
        if (this.#isUsed(entry, now)) this.#announce(entry, key, { now, calls: 0 });
    const known = ofOthers(others);
    const own = this.#ownKeys(now);
    const keys = new Set([...own, ...[...known].filter(([, { calls }]) => calls > 0).map(([key]) => key)]);
    for (const key of [...this.#parts.keys(), ...this.#busy.keys()])
      if (!keys.has(key)) {
        this.#parts.delete(key);
        this.#busy.delete(key);
      }
    return [...keys].map((key) => this.#claim(key, known.get(key), now));
  }

  #entryOf(key: string, rate: Rate, now: number): Entry {
    const entry = this.#entries.get(key) ?? { arrival: 0, part: 1, target: 1, rate, tried: 0, calls: 0, digest: '' };
    entry.rate = rate;
    this.#entries.set(key, entry);
    let target = 1 / (this.#others + 1);
    if (this.#parts.size > 0) {
      entry.digest ||= digestOf(key);
      target = this.#parts.get(entry.digest) ?? target;
    }
    if (entry.target !== target) setTarget(entry, target, now);
    return entry;
  }

  #isUsed(entry: Entry, now: number): boolean {
    return usedPart(entry, now) > announced / (this.#others + 1);
  }

  /** Announces a key whose last count was of these calls. */
  #announce(entry: Entry, key: string, { now, calls }: { readonly now: number; readonly calls: number }): void {
    entry.digest ||= digestOf(key);
    if (this.#busy.get(entry.digest) === entry) return;
    this.#busy.set(entry.digest, entry);
    entry.calls = 0;
    entry.tried = Math.max(calls, Math.ceil(usedPart(entry, now) * entry.rate.count));
  }

  #ownKeys(now: number): string[] {
    if (this.#others === 0) return [];
    for (const [key, entry] of this.#busy) {
      entry.calls = entry.calls / 2 + Math.max(0, entry.tried);
      entry.tried = 0;
      if (entry.calls < 1 && !this.#isUsed(entry, now)) this.#busy.delete(key);
    }
    const busy = [...this.#busy].sort(([, a], [, b]) => b.calls - a.calls);
    return busy.slice(0, maxAnnounced).map(([key]) => key);
  }

  #claim(key: string, others: Others | undefined, now: number): Claim {
    const entry = this.#busy.get(key);
    const equal = 1 / (this.#others + 1);
    const calls = entry === undefined ? 0 : Math.max(1, Math.round(entry.calls));
    const all = calls + (others?.calls ?? 0);
    const wanted = kept * equal + (1 - kept) * (all === 0 ? equal : calls / all);
    const taken = (others?.part ?? 0) + (this.#others - (others?.processes ?? 0)) * equal;
    const target = Math.min(wanted, Math.max(kept * equal, 1 - taken));
    this.#parts.set(key, target);
    if (entry === undefined) return [key, calls, roundUp(target)];
    setTarget(entry, target, now);
    return [key, calls, roundUp(entry.part)];
  }
}

function ofOthers(others: readonly (readonly Claim[])[]): Map<string, Others> {
  const known = new Map<string, Others>();
  for (const [key, calls, part] of others.flat()) {
    const one = known.get(key) ?? { calls: 0, part: 0, processes: 0 };
    known.set(key, { calls: one.calls + calls, part: one.part + part, processes: one.processes + 1 });
  }
  return known;
}

/** Changes the part that a process may use. The calls that it has used stay the same. */
function setTarget(entry: Entry, target: number, now: number): void {
  const part = Math.max(target, usedPart(entry, now));
  entry.arrival = now + (Math.max(0, entry.arrival - now) * entry.part) / part;
  entry.part = part;
  entry.target = target;
}

/** The used calls as a fraction of the whole limit. */
function usedPart({ arrival, part, rate }: Entry, now: number): number {
  return (Math.max(0, arrival - now) * part) / (rate.seconds * 1000);
}

function digestOf(key: string): string {
  return hash('sha256', key, 'base64url').slice(0, digestLength);
}

function roundUp(part: number): number {
  return Math.ceil(part * 10_000) / 10_000;
}
