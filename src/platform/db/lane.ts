import type { Reading } from '#src/contract/reading.js';
import { DatabaseError } from './database-error.js';

/** How many lists read at once. */
interface LaneBounds {
  readonly places: number;
  /** Places that one account can have, so that there are some for others. */
  readonly perAccount: number;
  /** Reads of an account, and of all, that wait for a place; one more is refused. */
  readonly waitingOfAccount: number;
  readonly waiting: number;
  /** For how long one waits at most. */
  readonly waitMs: number;
}

/** What waits, as both databases bound it. */
export const laneQueue = { waitingOfAccount: 256, waiting: 1024, waitMs: 10_000 } as const;

interface Waiting {
  readonly enter: () => void;
}

interface Account {
  held: number;
  readonly queue: Set<Waiting>;
}

const full = () => new DatabaseError('unavailable', 'lists_waiting');

const clientGone = 'client_gone';

/** A read that was given up, as nobody waits for it. */
export const gone = () => new DatabaseError('timeout', clientGone);

/** Whether an error is that. */
export function isGone(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === clientGone;
}

/**
 * The places that lists have. Everything else reads by connections of its own, so it never waits for lists. Accounts take turns: an
 * account that asks for much waits behind itself only.
 */
export class Lane {
  readonly #bounds: LaneBounds;
  /** Those who hold a place or wait, the one whose turn is next first. */
  readonly #accounts = new Map<string, Account>();
  #held = 0;
  #waiting = 0;

  constructor(bounds: LaneBounds) {
    this.#bounds = bounds;
  }

  /** Runs the body with a place. Throws DatabaseError where too many wait, or where nobody waits for the answer any more. */
  async use<T>(reading: Reading, body: () => Promise<T>): Promise<T> {
    await this.#enter(reading);
    try {
      reading.onStarted?.();
      return await body();
    } finally {
      this.#leave(reading.account);
    }
  }

  async #enter({ account: name, waiter }: Reading): Promise<void> {
    if (waiter.isGone) throw gone();
    const account = this.#accounts.get(name) ?? { held: 0, queue: new Set<Waiting>() };
    this.#accounts.set(name, account);
    if (this.#held < this.#bounds.places && account.held < this.#bounds.perAccount) return this.#take(account);
    if (account.queue.size >= this.#bounds.waitingOfAccount || this.#waiting >= this.#bounds.waiting) {
      this.#forget(name, account);
      throw full();
    }
    return new Promise((resolve, reject) => {
      const settle = (then: () => void) => {
        clearTimeout(timer);
        ignore();
        account.queue.delete(waiting);
        this.#waiting -= 1;
        then();
      };
      const waiting: Waiting = { enter: () => settle(resolve) };
      const giveUp = (error: DatabaseError) =>
        settle(() => {
          this.#forget(name, account);
          reject(error);
        });
      const timer = setTimeout(() => giveUp(full()), this.#bounds.waitMs);
      const ignore = waiter.onGone(() => giveUp(gone()));
      account.queue.add(waiting);
      this.#waiting += 1;
    });
  }

  #take(account: Account): void {
    account.held += 1;
    this.#held += 1;
  }

  #leave(name: string): void {
    this.#held -= 1;
    const account = this.#accounts.get(name);
    if (account !== undefined) {
      account.held -= 1;
      this.#forget(name, account);
    }
    this.#next();
  }

  #next(): void {
    for (const [name, account] of this.#accounts) {
      if (this.#held >= this.#bounds.places) return;
      const [first] = account.queue;
      if (first === undefined || account.held >= this.#bounds.perAccount) continue;
      // It goes to the end of the row.
      this.#accounts.delete(name);
      this.#accounts.set(name, account);
      this.#take(account);
      first.enter();
      return;
    }
  }

  #forget(name: string, account: Account): void {
    if (account.held === 0 && account.queue.size === 0) this.#accounts.delete(name);
  }
}
