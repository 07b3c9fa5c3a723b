import { DatabaseError } from './database-error.js';

/** Longest wait of a unit of work or a read for locks and connections, in milliseconds, so that its response leaves within 12 seconds. */
export const longestWaitMs = 10_500;

/** The error after a longer wait. */
export const waitedTooLong = () => new DatabaseError('busy', 'waited_too_long');

/** An entry of the queue. */
interface Waiting {
  readonly reject: (error: DatabaseError) => void;
  /** End of waiting, on the clock of `performance`. */
  readonly until: number;
}

/** A FIFO queue. Entries that are past their deadline are rejected and leave it. */
export class WaitingLine<T extends Waiting> {
  #waiting: T[] = [];
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  get length(): number {
    return this.#waiting.length;
  }

  push(...added: readonly T[]): void {
    this.#waiting.push(...added);
    this.#wakeAt(Math.min(...added.map(({ until }) => until)));
  }

  shift(): T | undefined {
    return this.#waiting.shift();
  }

  /** Sets the one timer of the queue. It is not moved when entries leave, which keeps `shift` cheap. */
  #wakeAt(at: number): void {
    if (at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#dismiss(), Math.max(0, at - performance.now())).unref();
  }

  #dismiss(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    const late = this.#waiting.filter(({ until }) => until <= now);
    this.#waiting = this.#waiting.filter(({ until }) => until > now);
    for (const { reject } of late) reject(waitedTooLong());
    if (this.#waiting.length > 0) this.#wakeAt(Math.min(...this.#waiting.map(({ until }) => until)));
  }
}
