import type { AnswerRoom, Look } from '#src/contract/answer-room.js';
import { Failure } from '#src/contract/errors.js';
import { answerLimits } from '#src/contract/limits.js';
import type { Reading } from '#src/contract/reading.js';
import { ByteGate, type GateBounds, noRoom } from './byte-gate.js';
import type { Clock } from './clock.js';
import type { Pace, Sending } from './long-sends.js';

/** The room of one request with what its transport does with it. */
export interface OpenRoom extends AnswerRoom {
  /** The answer is put together: only its own bytes are held from now on. */
  settle(bytes: number): void;
  /** The answer has left, or never will. */
  close(): void;
  /** It is sent over a connection from now on, which is cut where others wait for its bytes and the reader is slow. */
  sendOver(connection: Sending): void;
}

/** How much room there is, and the pace of readers where slow ones give way. */
interface AnswerBounds extends Pick<GateBounds, 'waitMs'>, Partial<Pace> {
  /** Answers of the largest size that may be under way at once, and of these for one account. */
  readonly manyAtOnce: number;
  readonly manyOfAccount: number;
}

/**
 * Gives each request a room for its answer. There are two gates: few bytes are always to be had, however many large answers are under way, and
 * a caller that waits for many holds few only, so that no two wait for each other.
 */
export class Answers {
  readonly #maxBytes: number;
  readonly #few: ByteGate;
  readonly #many: ByteGate;

  constructor(clock: Clock, maxBytes: number, bounds: AnswerBounds = answerLimits) {
    const { manyAtOnce, manyOfAccount, waitMs, giveWayMs, giveWayBytes, giveWayAfterMs } = bounds;
    const { fewAtOnce } = answerLimits;
    const pace =
      giveWayMs === undefined || giveWayBytes === undefined || giveWayAfterMs === undefined
        ? undefined
        : { clock, giveWayMs, giveWayBytes, giveWayAfterMs };
    this.#maxBytes = maxBytes;
    this.#few = new ByteGate({ bytes: fewAtOnce, share: fewAtOnce / 2, waitMs, pace });
    this.#many = new ByteGate({ bytes: maxBytes * manyAtOnce, share: maxBytes * manyOfAccount, waitMs, pace });
  }

  /** A room in the share of an account: a user, a server key, the address of a guest, or the operator. */
  open(owner: Pick<Reading, 'account'>): OpenRoom {
    return new Room(owner, this.#maxBytes, this.#few, this.#many);
  }
}

class Room implements OpenRoom {
  readonly #owner: Pick<Reading, 'account'>;
  readonly #maxBytes: number;
  readonly #few: ByteGate;
  readonly #many: ByteGate;
  #endSending: (() => void) | undefined;
  #reads = 1;
  /** Bytes held of each gate. */
  #heldFew = 0;
  #heldMany = 0;
  #opening: Promise<void> | undefined;
  /** Bytes that were read, and that were written. */
  #read = 0;
  #written = 0;
  #isClosed = false;
  /** Only where reads share the room. */
  #looking: Set<Promise<unknown>> | undefined;
  #large: Promise<unknown> | undefined;

  constructor(owner: Pick<Reading, 'account'>, maxBytes: number, few: ByteGate, many: ByteGate) {
    this.#owner = owner;
    this.#maxBytes = maxBytes;
    this.#few = few;
    this.#many = many;
  }

  share(reads: number): void {
    this.#reads = Math.max(1, reads);
  }

  async read<T>(look: (bytes: number) => Promise<Look<T>>): Promise<T> {
    if (!this.#begin()) await this.#opening;
    const held = this.#heldMany > 0 ? this.#maxBytes : answerLimits.few;
    // Reads that share the room look at once, each with its part of what the room holds.
    const offered = this.#reads === 1 ? held : Math.floor(held / this.#reads);
    const looking = look(Math.max(0, Math.min(offered, this.#maxBytes - this.#read)));
    const seen = await (this.#reads === 1 ? looking : this.#amongOthers(looking));
    if (seen.value !== undefined) return this.#taken(seen.bytes, seen.value);
    const again = (this.#large ?? Promise.resolve()).then(() => this.#readMore(look, seen.bytes));
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
      // The system takes a small answer at once.
      if (others + bytes <= answerLimits.watched) return this.#hold(others);
      if (!(isLarge ? this.#many : this.#few).claim(this.#owner.account, others + bytes)) throw noRoom();
      if (isLarge) this.#heldMany = others + bytes;
      else this.#heldFew = others + bytes;
      mine = bytes;
    };
  }

  write(text: string): void {
    // Short texts are counted by their characters, as counting bytes would cost more than they are worth.
    this.#written += text.length < 1000 ? text.length : Buffer.byteLength(text);
    if (this.#written > this.#maxBytes) throw this.#tooLarge();
  }

  settle(bytes: number): void {
    this.#hold(bytes);
  }

  sendOver(connection: Sending): void {
    const gate = this.#heldMany > 0 ? this.#many : this.#few;
    this.#endSending = gate.sendOver(connection, this.#heldMany + this.#heldFew);
  }

  close(): void {
    this.#isClosed = true;
    this.#endSending?.();
    this.#giveBack();
  }

  #giveBack(): void {
    this.#few.give(this.#owner.account, this.#heldFew);
    this.#many.give(this.#owner.account, this.#heldMany);
    this.#heldFew = 0;
    this.#heldMany = 0;
  }

  /** Takes all the room at once where it is to be had, otherwise a little. False where that has to be waited for. */
  #begin(): boolean {
    if (this.#heldFew > 0 || this.#heldMany > 0) return true;
    if (this.#opening !== undefined) return false;
    if (this.#many.tryTake(this.#owner.account, this.#maxBytes)) {
      this.#heldMany = this.#maxBytes;
      return true;
    }
    if (this.#few.tryTake(this.#owner.account, answerLimits.few)) {
      this.#heldFew = answerLimits.few;
      return true;
    }
    this.#opening = this.#few.take(this.#owner.account, answerLimits.few).then(() => {
      this.#heldFew = answerLimits.few;
      if (this.#isClosed) this.close();
    });
    return false;
  }

  async #amongOthers<T>(looking: Promise<T>): Promise<T> {
    this.#looking ??= new Set();
    this.#looking.add(looking);
    try {
      return await looking;
    } finally {
      this.#looking.delete(looking);
    }
  }

  /** Reads what the first look found too large, one after the other. */
  async #readMore<T>(look: (bytes: number) => Promise<Look<T>>, first: number): Promise<T> {
    // What the others read is known then.
    await Promise.allSettled(this.#looking ?? []);
    let needed = first;
    for (let attempt = 0; attempt < answerLimits.attempts; attempt++) {
      const left = this.#maxBytes - this.#read;
      if (needed > left) throw this.#tooLarge();
      await this.#takeMany(this.#reads === 1 ? needed : this.#maxBytes);
      const seen = await look(Math.min(left, this.#heldMany));
      if (seen.value !== undefined) return this.#taken(seen.bytes, seen.value);
      // Somebody has made it larger meanwhile.
      needed = seen.bytes;
    }
    throw noRoom();
  }

  async #takeMany(bytes: number): Promise<void> {
    if (this.#heldMany >= bytes) return;
    // Nobody waits for many bytes while holding some of them.
    this.#many.give(this.#owner.account, this.#heldMany);
    this.#heldMany = 0;
    await this.#many.take(this.#owner.account, bytes);
    this.#heldMany = bytes;
    this.#few.give(this.#owner.account, this.#heldFew);
    this.#heldFew = 0;
    if (this.#isClosed) this.close();
  }

  #taken<T>(bytes: number, value: T): T {
    this.#read += bytes;
    if (this.#reads === 1) this.#hold(bytes);
    return value;
  }

  /**
   * Holds so many bytes, which are in memory, and gives back what is beyond. Those of a large answer are never held of the few, which are
   * there for others.
   */
  #hold(bytes: number): void {
    if (this.#isClosed) return;
    const isLarge = this.#heldMany > 0 || bytes > answerLimits.few;
    const gate = isLarge ? this.#many : this.#few;
    const held = isLarge ? this.#heldMany : this.#heldFew;
    if (bytes > held) gate.force(this.#owner.account, bytes - held);
    else gate.give(this.#owner.account, held - bytes);
    if (isLarge) this.#few.give(this.#owner.account, this.#heldFew);
    this.#heldFew = isLarge ? 0 : bytes;
    this.#heldMany = isLarge ? bytes : 0;
  }

  #tooLarge(): Failure {
    return new Failure('general_answer_too_large', {
      message: `The answer would have more than ${this.#maxBytes} bytes. Ask for less: \`limit\` for fewer entries, \`select\` for fewer attributes of a document.`,
    });
  }
}
