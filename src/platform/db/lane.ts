import type { Reading } from '#src/contract/reading.js';
import { DatabaseError } from './database-error.js';

/** Limits of concurrent list reads; `places` is the total. */
interface LaneBounds {
  readonly places: number;
  /** Most slots of one account, so that some are left for others. */
  readonly perAccount: number;
  /** Most reads that wait for a slot, per account and in total; one more is rejected. */
  readonly waitingOfAccount: number;
  readonly waiting: number;
  /** Longest wait, in milliseconds. */
  readonly waitMs: number;
}

/** Limits of the queue, the same for both databases. */
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

/** Error for a read that was cancelled because its client is gone. */
export const gone = () => new DatabaseError('timeout', clientGone);

/** True for the error made by `gone`. */
export function isGone(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === clientGone;
}

/**
 * A semaphore for list reads. All other reads use separate connections, so they never wait for lists. Accounts are served round-robin, so
 * an account with many reads only delays itself.
 */
export class Lane {
  readonly #bounds: LaneBounds;
  /** Accounts with a slot or a waiting read; the next to be served comes first. */
  readonly #accounts = new Map<string, Account>();
  #held = 0;
  #waiting = 0;

  constructor(bounds: LaneBounds) {
    this.#bounds = bounds;
  }

  /** Runs the body with a slot. Throws DatabaseError if the queue is full, or if the client is gone. */
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
      // Moves the account to the end.
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
