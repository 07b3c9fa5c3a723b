import { Failure } from '#src/contract/errors.js';
import { answerLimits } from '#src/contract/limits.js';
import type { Reading } from '#src/contract/reading.js';
import type { ByteAllowance, ResponseBudget } from '#src/contract/response-budget.js';
import type { Clock } from '../runtime/clock.js';
import { memoryShare } from '../runtime/memory.js';
import { attemptWithin } from './byte-allowance.js';
import { FairSemaphore } from './fair-semaphore.js';
import { LongSends, type Pace, type Sending } from './long-sends.js';

/** The memory budget of one request, with the calls of its transport. */
export interface OpenBudget extends ResponseBudget {
  /** The response is complete: the budget shrinks to its own bytes. */
  shrinkTo(bytes: number): void;
  /** The response has been sent, or never will be. */
  close(): void;
  /** The response is sent over this connection. The connection is closed if others wait for its bytes and the client is slow. */
  sendOver(connection: Sending): void;
}

/** Sizes of the budgets, and the pace below which slow clients are cut off. */
interface AnswerBounds extends Partial<Pace> {
  /** Longest wait of a read for memory, in milliseconds. */
  readonly waitMs: number;
  /** Most concurrent responses of the largest size, in total and per account. */
  readonly manyAtOnce: number;
  readonly manyOfAccount: number;
}

/** Error for a caller that got no memory in time. */
const noMemory = () => new Failure('general_unavailable', { retryAfter: answerLimits.retrySeconds });

/** The bytes of small or of large responses, and the large sends that hold some. */
interface Part {
  readonly bytes: FairSemaphore;
  readonly sends: LongSends | undefined;
}

/**
 * Gives each request a budget for its response. Small and large responses use separate budgets, so large ones cannot starve small ones. A
 * caller that waits for the large budget holds only bytes of the small one, so no two callers wait for each other.
 */
export class ResponseBudgets {
  readonly #maxBytes: number;
  readonly #few: Part;
  readonly #many: Part;

  /** With little memory, the budgets are smaller, but one response of the largest size always fits. */
  constructor(clock: Clock, maxBytes: number, bounds: AnswerBounds = answerLimits, share = memoryShare) {
    const { manyAtOnce, manyOfAccount, waitMs, giveWayMs, giveWayBytes, giveWayAfterMs } = bounds;
    const part = (all: number, ofOwner: number): Part => {
      const bytes = new FairSemaphore({ all, ofOwner, waiting: answerLimits.waiting, waitMs, refuse: noMemory });
      if (giveWayMs === undefined || giveWayBytes === undefined || giveWayAfterMs === undefined)
        return { bytes, sends: undefined };
      const pace = { giveWayMs, giveWayBytes, giveWayAfterMs };
      return { bytes, sends: new LongSends(clock, pace, () => bytes.lacking()) };
    };
    const fewAtOnce = answerLimits.fewAtOnce * share;
    const many = (responses: number) => Math.max(maxBytes, maxBytes * responses * share);
    this.#maxBytes = maxBytes;
    this.#few = part(fewAtOnce, fewAtOnce / 2);
    this.#many = part(many(manyAtOnce), many(manyOfAccount));
  }

  /** A budget within the quota of an account: a user, a server key, the address of a guest, or the operator. */
  open(owner: Pick<Reading, 'account'>): OpenBudget {
    return new Budget(owner, this.#maxBytes, this.#few, this.#many);
  }
}

class Budget implements OpenBudget {
  readonly #owner: Pick<Reading, 'account'>;
  readonly #maxBytes: number;
  readonly #few: Part;
  readonly #many: Part;
  #endSending: (() => void) | undefined;
  #reads = 1;
  /** Bytes acquired from each of the two budgets. */
  #heldFew = 0;
  #heldMany = 0;
  #opening: Promise<void> | undefined;
  /** Bytes read and bytes written. */
  #read = 0;
  #written = 0;
  #isClosed = false;
  /** First reads that are running; set only if several reads share the budget. */
  #measuring: Set<Promise<unknown>> | undefined;
  #large: Promise<unknown> | undefined;

  constructor(owner: Pick<Reading, 'account'>, maxBytes: number, few: Part, many: Part) {
    this.#owner = owner;
    this.#maxBytes = maxBytes;
    this.#few = few;
    this.#many = many;
  }

  share(reads: number): void {
    this.#reads = Math.max(1, reads);
  }

  async read<T>(attempt: (bytes: ByteAllowance) => Promise<T>): Promise<T> {
    if (!this.#begin()) await this.#opening;
    const held = this.#heldMany > 0 ? this.#maxBytes : answerLimits.few;
    // Reads that share the budget run concurrently, each with a part of its bytes.
    const offered = this.#reads === 1 ? held : Math.floor(held / this.#reads);
    const measuring = attemptWithin(Math.max(0, Math.min(offered, this.#maxBytes - this.#read)), attempt);
    const seen = await (this.#reads === 1 ? measuring : this.#amongOthers(measuring));
    if ('value' in seen) return this.#taken(seen.bytes, seen.value);
    const again = (this.#large ?? Promise.resolve()).then(() => this.#readMore(attempt, seen.bytes));
    this.#large = again.catch(() => {});
    return again;
  }

  claim(): (bytes: number) => void {
    let mine = 0;
    return (bytes) => {
      if (this.#isClosed) return;
      const others = this.#heldFew + this.#heldMany - mine;
      const isLarge = this.#heldMany > 0 || others + bytes > answerLimits.few;
      this.#giveBack();
      mine = 0;
      // The kernel accepts a small response at once.
      if (others + bytes <= answerLimits.watched) return this.#hold(others);
      if (!(isLarge ? this.#many : this.#few).bytes.tryTakeFirst(this.#owner.account, others + bytes)) throw noMemory();
      if (isLarge) this.#heldMany = others + bytes;
      else this.#heldFew = others + bytes;
      mine = bytes;
    };
  }

  write(text: string): void {
    // Short texts are counted in characters, because counting bytes costs too much.
    this.#written += text.length < 1000 ? text.length : Buffer.byteLength(text);
    if (this.#written > this.#maxBytes) throw this.#tooLarge();
  }

  shrinkTo(bytes: number): void {
    this.#hold(bytes);
  }

  sendOver(connection: Sending): void {
    const { sends } = this.#heldMany > 0 ? this.#many : this.#few;
    this.#endSending = sends?.add(connection, this.#heldMany + this.#heldFew);
  }

  close(): void {
    this.#isClosed = true;
    this.#endSending?.();
    this.#giveBack();
  }

  #giveBack(): void {
    this.#few.bytes.give(this.#owner.account, this.#heldFew);
    this.#many.bytes.give(this.#owner.account, this.#heldMany);
    this.#heldFew = 0;
    this.#heldMany = 0;
  }

  /** Acquires the largest response size if it is available at once, otherwise a small size. False if the caller has to wait. */
  #begin(): boolean {
    if (this.#heldFew > 0 || this.#heldMany > 0) return true;
    if (this.#opening !== undefined) return false;
    if (this.#many.bytes.tryTake(this.#owner.account, this.#maxBytes)) {
      this.#heldMany = this.#maxBytes;
      return true;
    }
    if (this.#few.bytes.tryTake(this.#owner.account, answerLimits.few)) {
      this.#heldFew = answerLimits.few;
      return true;
    }
    this.#opening = this.#few.bytes.take(this.#owner.account, { amount: answerLimits.few }).then(() => {
      this.#heldFew = answerLimits.few;
      if (this.#isClosed) this.close();
    });
    return false;
  }

  async #amongOthers<T>(measuring: Promise<T>): Promise<T> {
    this.#measuring ??= new Set();
    this.#measuring.add(measuring);
    try {
      return await measuring;
    } finally {
      this.#measuring.delete(measuring);
    }
  }

  /** Repeats reads whose first result was too large, one after the other. */
  async #readMore<T>(attempt: (bytes: ByteAllowance) => Promise<T>, first: number): Promise<T> {
    // Afterwards the sizes of the other reads are known.
    await Promise.allSettled(this.#measuring ?? []);
    let needed = first;
    for (let made = 0; made < answerLimits.attempts; made++) {
      const left = this.#maxBytes - this.#read;
      if (needed > left) throw this.#tooLarge();
      await this.#takeMany(this.#reads === 1 ? needed : this.#maxBytes);
      const seen = await attemptWithin(Math.min(left, this.#heldMany), attempt);
      if ('value' in seen) return this.#taken(seen.bytes, seen.value);
      // The value has grown concurrently.
      needed = seen.bytes;
    }
    throw noMemory();
  }

  async #takeMany(bytes: number): Promise<void> {
    if (this.#heldMany >= bytes) return;
    // No caller waits for the large budget while it holds part of it.
    this.#many.bytes.give(this.#owner.account, this.#heldMany);
    this.#heldMany = 0;
    await this.#many.bytes.take(this.#owner.account, { amount: bytes });
    this.#heldMany = bytes;
    this.#few.bytes.give(this.#owner.account, this.#heldFew);
    this.#heldFew = 0;
    if (this.#isClosed) this.close();
  }

  #taken<T>(bytes: number, value: T): T {
    this.#read += bytes;
    if (this.#reads === 1) this.#hold(bytes);
    return value;
  }

  /**
   * Sets the budget to the bytes in memory and releases the rest. A large response never holds bytes of the small budget, which is reserved
   * for others.
   */
  #hold(bytes: number): void {
    if (this.#isClosed) return;
    const isLarge = this.#heldMany > 0 || bytes > answerLimits.few;
    const part = (isLarge ? this.#many : this.#few).bytes;
    const held = isLarge ? this.#heldMany : this.#heldFew;
    if (bytes > held) part.force(this.#owner.account, bytes - held);
    else part.give(this.#owner.account, held - bytes);
    if (isLarge) this.#few.bytes.give(this.#owner.account, this.#heldFew);
    this.#heldFew = isLarge ? 0 : bytes;
    this.#heldMany = isLarge ? bytes : 0;
  }

  #tooLarge(): Failure {
    return new Failure('general_answer_too_large', {
      message: `The answer would have more than ${this.#maxBytes} bytes. Ask for less: \`limit\` for fewer entries, \`select\` for fewer attributes of a document.`,
    });
  }
}
