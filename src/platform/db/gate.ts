import { WaitingLine } from './waiting-line.js';

interface Waiting {
  readonly enter: () => void;
  readonly reject: (error: unknown) => void;
  readonly until: number;
}

/** A semaphore with a deadline for each waiter. Callers wait in FIFO order. */
export class Gate {
  readonly #line = new WaitingLine<Waiting>();
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  /** Runs the body when a slot is free. Throws DatabaseError `busy` if none is free by `until`, on the clock of `performance`. */
  async use<T>(until: number, body: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((enter, reject) => this.#line.push({ enter, reject, until }));
    try {
      return await body();
    } finally {
      const next = this.#line.shift();
      if (next === undefined) this.#free += 1;
      else next.enter();
    }
  }
}
