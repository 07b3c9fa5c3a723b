import { Failure } from '#src/contract/errors.js';
import { answerLimits } from '#src/contract/limits.js';
import type { Clock } from '../runtime/clock.js';
import { LongSends, type Pace, type Sending } from './long-sends.js';
import { Tally } from './tally.js';

interface WaitingAnswer {
  readonly account: string;
  readonly bytes: number;
  readonly enter: () => void;
}

/** Limits of a byte semaphore. */
export interface GateBounds {
  readonly bytes: number;
  /** Most bytes of one account; its first request may be larger. */
  readonly share: number;
  /** Longest wait, in milliseconds. */
  readonly waitMs: number;
  /** If set, slow clients are cut off while others wait: the pace they must keep, and the clock that measures it. */
  readonly pace?: (Pace & { readonly clock: Clock }) | undefined;
}

/** Error for a caller that got no memory in time. */
export const noRoom = () => new Failure('general_unavailable', { retryAfter: answerLimits.retrySeconds });

/** A byte-counting semaphore. Callers wait in FIFO order. Each account has a quota, so a slow client delays only its own account. */
export class ByteGate {
  readonly #bounds: GateBounds;
  readonly #held = new Tally();
  readonly #waiting: WaitingAnswer[] = [];
  readonly #sends: LongSends | undefined;
  #relieving: NodeJS.Timeout | undefined;

  constructor(bounds: GateBounds) {
    this.#bounds = bounds;
    this.#sends = bounds.pace && new LongSends(bounds.pace.clock, bounds.pace);
  }

  /** Acquires bytes if no caller waits and they are free; false otherwise. */
  tryTake(account: string, bytes: number): boolean {
    return this.#waiting.length === 0 && this.claim(account, bytes);
  }

  /** Acquires bytes ahead of waiting callers if they are free; false otherwise. */
  claim(account: string, bytes: number): boolean {
    if (!this.#fits(account, bytes)) return false;
    this.force(account, bytes);
    return true;
  }

  /** Acquires bytes even beyond the limit, because they are already in memory. */
  force(account: string, bytes: number): void {
    this.#held.add(account, bytes);
  }

  /** Waits for bytes. Throws Failure `general_unavailable` if they are not free in time, or if the queue is full. */
  async take(account: string, bytes: number): Promise<void> {
    if (this.tryTake(account, bytes)) return;
    if (this.#waiting.length >= answerLimits.waiting) throw noRoom();
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(entry), 1);
        reject(noRoom());
        this.#admit();
      }, this.#bounds.waitMs);
      const entry: WaitingAnswer = {
        account,
        bytes,
        enter: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      this.#waiting.push(entry);
      this.#admit();
    });
  }

  /** Releases bytes. */
  give(account: string, bytes: number): void {
    if (bytes === 0) return;
    this.#held.add(account, -bytes);
    this.#admit();
  }

  /**
   * Registers a connection that sends acquired bytes. A slow client is disconnected while others wait for free bytes, but not if they only
   * wait for their own quota. Call the result to unregister it.
   */
  sendOver(connection: Sending, bytes: number): (() => void) | undefined {
    return this.#sends?.add(connection, bytes);
  }

  #fits(account: string, bytes: number): boolean {
    return bytes <= this.#left && this.#fitsShare(account, bytes);
  }

  #fitsShare(account: string, bytes: number): boolean {
    const held = this.#held.of(account);
    return held === 0 || held + bytes <= this.#bounds.share;
  }

  get #left(): number {
    return this.#bounds.bytes - this.#held.all;
  }

  /** Admits waiters in order. Skips accounts over their quota; never overtakes one that waits only for bytes. */
  #admit(): void {
    for (let at = 0; at < this.#waiting.length; ) {
      const next = this.#waiting[at];
      if (next === undefined) break;
      if (!this.#fitsShare(next.account, next.bytes)) {
        at += 1;
        continue;
      }
      if (next.bytes > this.#left) break;
      this.#waiting.splice(at, 1);
      this.force(next.account, next.bytes);
      next.enter();
    }
    this.#relieveWhileSomebodyWaits();
  }

  #relieveWhileSomebodyWaits(): void {
    const sends = this.#sends;
    if (sends === undefined) return;
    if (this.#waiting.length === 0) {
      clearInterval(this.#relieving);
      this.#relieving = undefined;
      return;
    }
    this.#relieving ??= setInterval(() => {
      const lacking = this.#wanted() - this.#left;
      if (lacking > 0) sends.giveWay(lacking);
    }, 1000).unref();
  }

  /** Bytes needed to admit all waiting callers that are within their quotas. */
  #wanted(): number {
    const ofAccounts = new Map<string, number>();
    for (const { account, bytes } of this.#waiting) {
      const held = this.#held.of(account) + (ofAccounts.get(account) ?? 0);
      if (held === 0 || held + bytes <= this.#bounds.share)
        ofAccounts.set(account, (ofAccounts.get(account) ?? 0) + bytes);
    }
    return [...ofAccounts.values()].reduce((sum, bytes) => sum + bytes, 0);
  }
}
