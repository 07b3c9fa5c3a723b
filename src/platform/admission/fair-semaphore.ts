import type { Waiter } from '#src/contract/reading.js';
import { Tally } from './tally.js';

/** Why a caller was refused: too many wait, it has waited too long, or its client has closed the connection. */
type Refused = 'full' | 'late' | 'gone';

/** Limits of a semaphore, in slots or in bytes. */
interface SemaphoreBounds {
  readonly all: number;
  /** Most of one owner, so that some is left for others. An owner that holds nothing may take more at once. */
  readonly ofOwner?: number;
  /** Most callers that wait, in total and of one owner. */
  readonly waiting?: number;
  readonly waitingOfOwner?: number;
  /** Longest wait, in milliseconds. */
  readonly waitMs?: number;
  /** Makes the error of a refused caller. */
  readonly refuse: (why: Refused) => Error;
}

/** The amount of a caller, one slot by default, and its longest wait. */
interface Request {
  readonly amount?: number;
  readonly waitMs?: number;
  readonly waiter?: Waiter | undefined;
}

interface Waiting {
  readonly amount: number;
  readonly enter: () => void;
  readonly refuse: (why: Refused) => void;
}

/**
 * A semaphore for slots or bytes. When they are taken, callers wait: owners take turns, the callers of one owner in FIFO order. A caller whose
 * owner is above its limit is skipped; no caller overtakes one that only waits for free slots. If too many wait, the last caller of the owner
 * with the most callers is refused.
 */
export class FairSemaphore {
  readonly #bounds: SemaphoreBounds;
  readonly #held = new Tally();
  /** The waiting callers of each owner. The owner whose turn is next comes first. */
  readonly #lines = new Map<string, Set<Waiting>>();
  #waiting = 0;

  constructor(bounds: SemaphoreBounds) {
    this.#bounds = bounds;
  }

  /** The amount that callers hold. */
  get held(): number {
    return this.#held.all;
  }

  /** The number of waiting callers. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Runs the body when its turn comes. Throws the error of `refuse` if that is not in time. */
  async use<T>(owner: string, body: () => Promise<T>, request: Request = {}): Promise<T> {
    await this.take(owner, request);
    try {
      return await body();
    } finally {
      this.give(owner, request.amount);
    }
  }

  /** Takes an amount, or waits for it. Throws the error of `refuse`. */
  async take(owner: string, request: Request = {}): Promise<void> {
    if (request.waiter?.isGone) throw this.#bounds.refuse('gone');
    if (!this.tryTake(owner, request.amount)) await this.#wait(owner, request);
  }

  /** Takes an amount if it is free and no caller waits; false otherwise. */
  tryTake(owner: string, amount = 1): boolean {
    return this.#waiting === 0 && this.tryTakeFirst(owner, amount);
  }

  /** Takes an amount ahead of waiting callers if it is free; false otherwise. */
  tryTakeFirst(owner: string, amount: number): boolean {
    if (!this.#isFree(amount) || !this.#isWithinLimit(owner, amount)) return false;
    this.#held.add(owner, amount);
    return true;
  }

  /** Takes an amount even beyond the limit, such as bytes that are already in memory. */
  force(owner: string, amount: number): void {
    this.#held.add(owner, amount);
  }

  /** Gives an amount back. */
  give(owner: string, amount = 1): void {
    if (amount === 0) return;
    this.#held.add(owner, -amount);
    if (this.#waiting > 0) this.#admit();
  }

  /** The amount that is missing to admit all waiting callers whose owners are within their limits; 0 or less if none is. */
  lacking(): number {
    let wanted = this.#held.all - this.#bounds.all;
    for (const [owner, line] of this.#lines) {
      let ofOwner = 0;
      for (const { amount } of line) if (this.#isWithinLimit(owner, ofOwner + amount)) ofOwner += amount;
      wanted += ofOwner;
    }
    return this.#waiting === 0 ? 0 : wanted;
  }

  #isFree(amount: number): boolean {
    return this.#held.all + amount <= this.#bounds.all;
  }

  #isWithinLimit(owner: string, amount: number): boolean {
    const held = this.#held.of(owner);
    return held === 0 || held + amount <= (this.#bounds.ofOwner ?? Number.POSITIVE_INFINITY);
  }

  #wait(owner: string, { amount = 1, waiter, waitMs = this.#bounds.waitMs }: Request): Promise<void> {
    const { waiting: most = Number.POSITIVE_INFINITY, waitingOfOwner = most, refuse } = this.#bounds;
    const line = this.#lines.get(owner) ?? new Set();
    if (line.size >= waitingOfOwner) throw refuse('full');
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      let ignore = () => {};
      const leave = () => {
        clearTimeout(timer);
        ignore();
        line.delete(waiting);
        if (line.size === 0) this.#lines.delete(owner);
        this.#waiting -= 1;
      };
      const waiting: Waiting = {
        amount,
        enter: () => {
          leave();
          resolve();
        },
        refuse: (why) => {
          leave();
          reject(refuse(why));
        },
      };
      const giveUp = (why: Refused) => {
        waiting.refuse(why);
        this.#admit();
      };
      if (waitMs !== undefined && Number.isFinite(waitMs)) timer = setTimeout(() => giveUp('late'), waitMs);
      ignore = waiter?.onGone(() => giveUp('gone')) ?? ignore;
      this.#lines.set(owner, line.add(waiting));
      this.#waiting += 1;
      this.#admit();
      if (this.#waiting > most) this.#lastOfLongest()?.refuse('full');
    });
  }

  #admit(): void {
    // An owner that moves to the end is visited again.
    for (const [owner, line] of this.#lines) {
      const [next] = line;
      if (next === undefined || !this.#isWithinLimit(owner, next.amount)) continue;
      if (!this.#isFree(next.amount)) return;
      this.#held.add(owner, next.amount);
      next.enter();
      if (line.size === 0) continue;
      this.#lines.delete(owner);
      this.#lines.set(owner, line);
    }
  }

  /** The last caller of the owner with the most waiting callers; if several have the most, of the one whose turn is last. */
  #lastOfLongest(): Waiting | undefined {
    let longest: ReadonlySet<Waiting> = new Set();
    for (const line of this.#lines.values()) if (line.size >= longest.size) longest = line;
    return [...longest].at(-1);
  }
}
