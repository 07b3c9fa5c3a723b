import { DatabaseError } from './database-error.js';
import type { DialectName } from './dialect-words.js';
import { waitedTooLong } from './waiting-line.js';

/** Options of a batcher. */
interface BatcherOptions<I> {
  /** Most calls in one run. */
  readonly max: number;
  /** Most concurrent runs; further calls wait and share a run. */
  readonly atOnce: number;
  /** Turns of the event loop that a run waits for more calls; 1 if absent. */
  readonly ticks?: number;
  /**
   * Identifies the object that a run writes for an item. Two items with the same identity never share a run, because its results could not
   * say which of them was written. The later item joins a run that starts after the earlier one has ended.
   */
  readonly identity?: (item: I) => string;
  /** Deadline of an item, on the clock of `performance`; called once, on arrival. A late item is rejected with DatabaseError `busy`. */
  readonly until?: (item: I) => number;
  /** Weight of an item, and the most total weight of one run; a heavier item runs alone. */
  readonly weight?: (item: I) => number;
  readonly heaviest?: number;
}

/** Kinds of errors that a separate run does not fix. */
const faultsOfDatabase: ReadonlySet<DatabaseError['kind']> = new Set(['unavailable', 'timeout', 'notWritable', 'busy']);

/** Returns one result per item, at the item's position, or undefined for an item that must run alone. */
type Run<I, O> = (items: readonly I[]) => Promise<readonly (O | undefined)[]>;

interface Waiting<I, O> {
  readonly item: I;
  readonly until: number;
  readonly resolve: (value: O) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Joins calls into as few runs as possible. Calls of one turn of the event loop share a run, and calls that arrive while enough runs are
 * active form the next one. Results are not cached: each call is answered by a run that starts after it. If a run fails, each of its items
 * runs alone, so that no call fails because of another. Errors of the database itself are returned to all calls at once: the writes may
 * have been committed, or each call would only wait again.
 */
export function createBatcher<I, O>(run: Run<I, O>, options: BatcherOptions<I>): (item: I) => Promise<O> {
  const batcher = new Batcher(run, options);
  return (item) => batcher.join(item);
}

class Batcher<I, O> {
  readonly #run: Run<I, O>;
  readonly #options: BatcherOptions<I>;
  #waiting: Waiting<I, O>[] = [];
  #underWay = 0;
  #called = false;
  /** Identities of the items in active runs. */
  readonly #held = new Set<string>();

  constructor(run: Run<I, O>, options: BatcherOptions<I>) {
    this.#run = run;
    this.#options = options;
  }

  join(item: I): Promise<O> {
    return new Promise((resolve, reject) => {
      const until = this.#options.until?.(item) ?? Number.POSITIVE_INFINITY;
      this.#waiting.push({ item, until, resolve, reject });
      this.#startLater();
    });
  }

  #startLater(): void {
    if (this.#called || this.#waiting.length === 0 || this.#underWay >= this.#options.atOnce) return;
    this.#called = true;
    afterTicks(this.#options.ticks ?? 1, () => this.#start());
  }

  #start(): void {
    const { atOnce, identity } = this.#options;
    this.#called = false;
    this.#dismissLate();
    while (this.#waiting.length > 0 && this.#underWay < atOnce) {
      const batch = this.#next();
      const [first] = batch;
      if (first === undefined) return;
      const names = identity === undefined ? [] : batch.map(({ item }) => identity(item));
      for (const name of names) this.#held.add(name);
      this.#underWay += 1;
      (batch.length === 1 ? this.#alone(first) : this.#together(batch)).then(() => {
        this.#underWay -= 1;
        for (const name of names) this.#held.delete(name);
        this.#startLater();
      });
    }
  }

  /** Rejects calls that are past their deadline; a run that waited too long has used up their time. */
  #dismissLate(): void {
    const now = performance.now();
    const late = this.#waiting.filter(({ until }) => until <= now);
    if (late.length === 0) return;
    this.#waiting = this.#waiting.filter(({ until }) => until > now);
    for (const { reject } of late) reject(waitedTooLong());
  }

  /** Takes the calls of the next run out of the queue. */
  #next(): Waiting<I, O>[] {
    const { max, identity, weight, heaviest = 0 } = this.#options;
    if (identity === undefined) return this.#waiting.splice(0, max);
    const names = new Set(this.#held);
    let weighed = 0;
    const fit = this.#waiting.filter(({ item }, at) => {
      const name = identity(item);
      if (names.has(name)) return false;
      names.add(name);
      weighed += weight?.(item) ?? 0;
      return weighed <= heaviest || at === 0;
    });
    const batch = new Set(fit.slice(0, max));
    this.#waiting = this.#waiting.filter((one) => !batch.has(one));
    return [...batch];
  }

  async #alone({ item, resolve, reject }: Waiting<I, O>): Promise<void> {
    try {
      const [value] = await this.#run([item]);
      if (value === undefined) throw new Error('a call that runs alone must be answered');
      resolve(value);
    } catch (error) {
      reject(error);
    }
  }

  async #together(batch: readonly Waiting<I, O>[]): Promise<void> {
    let answers: readonly (O | undefined)[] = [];
    try {
      answers = await this.#run(batch.map(({ item }) => item));
    } catch (error) {
      if (error instanceof DatabaseError && faultsOfDatabase.has(error.kind)) {
        for (const { reject } of batch) reject(error);
        return;
      }
    }
    const left: Waiting<I, O>[] = [];
    batch.forEach((one, at) => {
      const answer = answers[at];
      if (answer === undefined) left.push(one);
      else one.resolve(answer);
    });
    await Promise.all(left.map((one) => this.#alone(one)));
  }
}

function afterTicks(ticks: number, then: () => void): void {
  setImmediate(ticks > 1 ? () => afterTicks(ticks - 1, then) : then);
}

/**
 * A statement costs far more than one more key in it, above all on Postgres and its client. Lookups therefore wait a few turns for others.
 */
const lookupTicks = { sqlite: 4, postgres: 6 } as const;

/** A lookup by key that shares statements with others. */
export type Loader<V> = (key: string) => Promise<V | undefined>;

/** Joins lookups by key. A request does not see data that was revoked before it arrived. */
export function createLoader<V>(
  dialect: DialectName,
  load: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>,
  max = Number.POSITIVE_INFINITY,
): Loader<V> {
  const join = createBatcher<string, { readonly value: V | undefined }>(
    async (keys) => {
      const found = await load([...new Set(keys)]);
      return keys.map((key) => ({ value: found.get(key) }));
    },
    { max, atOnce: 1, ticks: lookupTicks[dialect] },
  );
  return async (key) => (await join(key)).value;
}
