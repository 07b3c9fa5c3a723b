import { Tally } from './tally.js';

/** A bound of a quota: of all owners together, or of one. */
type Bound = 'all' | 'ofOwner';

/** The most that all owners hold together, the most that one of them holds, and the error of a caller that would exceed a bound. */
interface QuotaBounds extends Readonly<Record<Bound, number>> {
  readonly refuse?: (bound: Bound) => Error;
}

/** A quota of bytes or slots, in total and per owner. Callers never wait. */
export class Quota {
  readonly #bounds: QuotaBounds;
  readonly #held = new Tally();

  constructor(bounds: QuotaBounds) {
    this.#bounds = bounds;
  }

  /** The amount that all owners hold. */
  get held(): number {
    return this.#held.all;
  }

  /** The amount that is free within the bound of an owner, or within that of all; negative beyond it. */
  left(owner?: string): number {
    return owner === undefined ? this.#bounds.all - this.#held.all : this.#bounds.ofOwner - this.#held.of(owner);
  }

  /** Acquires an amount. Returns false, and acquires nothing, if it would exceed a bound. */
  tryTake(owner: string, amount = 1): boolean {
    if (this.#exceededBy(owner, amount) !== undefined) return false;
    this.#held.add(owner, amount);
    return true;
  }

  /** Acquires an amount even beyond the bounds, such as bytes that are already in memory. */
  force(owner: string, amount: number): void {
    this.#held.add(owner, amount);
  }

  /** Acquires an amount. Throws the error of `refuse` if it would exceed a bound. */
  take(owner: string, amount = 1): void {
    this.#require(owner, amount);
    this.#held.add(owner, amount);
  }

  /** The same; returns a function that gives the amount back, once. */
  hold(owner: string, amount = 1): () => void {
    this.#require(owner, amount);
    return this.#held.take(owner, amount);
  }

  /** Gives an amount back. */
  give(owner: string, amount = 1): void {
    this.#held.add(owner, -amount);
  }

  #require(owner: string, amount: number): void {
    const bound = this.#exceededBy(owner, amount);
    if (bound !== undefined) throw this.#bounds.refuse?.(bound) ?? new Error(`exceeds the quota (${bound})`);
  }

  #exceededBy(owner: string, amount: number): Bound | undefined {
    if (amount > this.left(owner)) return 'ofOwner';
    return amount > this.left() ? 'all' : undefined;
  }
}
