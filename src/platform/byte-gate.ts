import { Failure } from '#src/contract/errors.js';
import { answerLimits } from '#src/contract/limits.js';
import type { Clock } from './clock.js';
import { LongSends, type Pace, type Sending } from './long-sends.js';
import { Tally } from './tally.js';

interface WaitingAnswer {
  readonly account: string;
  readonly bytes: number;
  readonly enter: () => void;
}

/** How much a gate has. */
export interface GateBounds {
  readonly bytes: number;
  /** What one account may have of it; more only where it has nothing. */
  readonly share: number;
  /** How long somebody waits, in milliseconds. */
  readonly waitMs: number;
  /** Where slow readers give way to those who wait: the pace that they have to keep, and the clock that measures it. */
  readonly pace?: (Pace & { readonly clock: Clock }) | undefined;
}

/** The failure of who found no room. */
export const noRoom = () => new Failure('general_unavailable', { retryAfter: answerLimits.retrySeconds });

/**
 * A store of bytes that many take from and give back to; who finds too few waits, first come, first served. An account has a share of its own,
 * so a slow reader waits behind itself only.
 */
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

  /** Takes them at once, or does not. */
  tryTake(account: string, bytes: number): boolean {
    return this.#waiting.length === 0 && this.claim(account, bytes);
  }

  /** Takes them past those who wait, or does not. */
  claim(account: string, bytes: number): boolean {
    if (!this.#fits(account, bytes)) return false;
    this.force(account, bytes);
    return true;
  }

  /** Takes them whatever is left: they are in memory already. */
  force(account: string, bytes: number): void {
    this.#held.add(account, bytes);
  }

  /** Waits for them. Throws Failure `general_unavailable` where they are not to be had in time, or too many wait. */
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

  /** Gives some back. */
  give(account: string, bytes: number): void {
    if (bytes === 0) return;
    this.#held.add(account, -bytes);
    this.#admit();
  }

  /**
   * Bytes that were taken are sent over a connection from now on: it is cut where others lack bytes, not only those of their share, and the
   * reader is slow. The function that it returns ends that.
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

  /** Lets in who fits, in turn; accounts whose share is used up are passed over, and nobody overtakes who only lacks bytes. */
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

  /** Bytes that those who wait could have at once, if there were enough of them. */
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
