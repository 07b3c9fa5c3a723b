import { DatabaseError } from './database-error.js';

/** How long a unit of work or a read may wait for locks and connections, so that its answer leaves within 12 seconds. */
export const longestWaitMs = 10_500;

/** Somebody who waits. */
interface Waiting {
  readonly reject: (error: DatabaseError) => void;
  /** When waiting ends, on the clock of `performance`. */
  readonly until: number;
}

/** First come, first served; who has waited until its time is over leaves the line with an error. */
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

  /** One timer for all; it is left where it is while the line moves, so that nobody pays for one. */
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
    for (const { reject } of late) reject(new DatabaseError('busy', 'waited_too_long'));
    if (this.#waiting.length > 0) this.#wakeAt(Math.min(...this.#waiting.map(({ until }) => until)));
  }
}
