import { WaitingLine } from './waiting-line.js';

interface Waiting {
  readonly enter: () => void;
  readonly reject: (error: unknown) => void;
  readonly until: number;
}

/** Lets so many in at once; the others wait in line, each until its time is over. */
export class Gate {
  readonly #line = new WaitingLine<Waiting>();
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  /** Runs the body when there is a place. Throws DatabaseError `busy` where there is none in time, on the clock of `performance`. */
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
