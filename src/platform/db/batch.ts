import { DatabaseError } from './database-error.js';
import type { DialectName } from './query.js';

/** How calls are joined. */
interface BatcherOptions<I> {
  /** Most calls in one run. */
  readonly max: number;
  /** Most runs under way at once; further calls wait and go together. */
  readonly atOnce: number;
  /** Turns of the event loop for which a run waits for more calls; 1 where absent. */
  readonly ticks?: number;
  /**
   * Names what a run writes for an item. Two items of one name never share a run: its answer could not say which of them was written. The
   * later one goes into a run that begins when the earlier one has ended.
   */
  readonly identity?: (item: I) => string;
  /** When an item stops waiting, on the clock of `performance`; asked once, when it comes. Then it is refused with DatabaseError `busy`. */
  readonly until?: (item: I) => number;
  /** What an item weighs, and what those of one run may weigh together; a heavier one goes alone. */
  readonly weight?: (item: I) => number;
  readonly heaviest?: number;
}

/** Kinds of errors that running alone does not mend. */
const faultsOfDatabase: ReadonlySet<DatabaseError['kind']> = new Set(['unavailable', 'timeout', 'notWritable', 'busy']);

/**
 * Joins calls into as few runs as possible: those of one turn of the event loop go together, and those that come while enough runs are under
 * way form the next one. Nothing is remembered: each call is answered by a run begun after it. A run gives one answer for each item, at the
 * item's position, or undefined for one that has to run alone; when it fails, each of its items runs alone, so that nobody is refused for
 * another's fault. Only where it is the database's, it is told to all at once: what was asked for may have been done, or each would wait for
 * the same once more.
 */
export function createBatcher<I, O>(
  run: (items: readonly I[]) => Promise<readonly (O | undefined)[]>,
  {
    max,
    atOnce,
    ticks = 1,
    identity,
    until = () => Number.POSITIVE_INFINITY,
    weight = () => 0,
    heaviest = 0,
  }: BatcherOptions<I>,
): (item: I) => Promise<O> {
  interface Waiting {
    readonly item: I;
    readonly until: number;
    readonly resolve: (value: O) => void;
    readonly reject: (error: unknown) => void;
  }
  let waiting: Waiting[] = [];
  let underWay = 0;
  let called = false;
  /** Names of the items that are under way. */
  const held = new Set<string>();

  const alone = async ({ item, resolve, reject }: Waiting): Promise<void> => {
    try {
      const [value] = await run([item]);
      if (value === undefined) throw new Error('a call that runs alone must be answered');
      resolve(value);
    } catch (error) {
      reject(error);
    }
  };
  const together = async (batch: readonly Waiting[]): Promise<void> => {
    let answers: readonly (O | undefined)[] = [];
    try {
      answers = await run(batch.map(({ item }) => item));
    } catch (error) {
      if (error instanceof DatabaseError && faultsOfDatabase.has(error.kind)) {
        for (const { reject } of batch) reject(error);
        return;
      }
    }
    const left: Waiting[] = [];
    batch.forEach((one, at) => {
      const answer = answers[at];
      if (answer === undefined) left.push(one);
      else one.resolve(answer);
    });
    await Promise.all(left.map(alone));
  };
  /** Takes the calls of the next run out of the queue. */
  const next = (): Waiting[] => {
    if (identity === undefined) return waiting.splice(0, max);
    const names = new Set(held);
    let weighed = 0;
    const fit = waiting.filter(({ item }, at) => {
      const name = identity(item);
      if (names.has(name)) return false;
      names.add(name);
      weighed += weight(item);
      return weighed <= heaviest || at === 0;
    });
    const batch = new Set(fit.slice(0, max));
    waiting = waiting.filter((one) => !batch.has(one));
    return [...batch];
  };
  /** A run that waited in vain has used up the time of those who waited for it. */
  const dismissLate = (): void => {
    const now = performance.now();
    const late = waiting.filter((one) => one.until <= now);
    if (late.length === 0) return;
    waiting = waiting.filter((one) => one.until > now);
    for (const { reject } of late) reject(new DatabaseError('busy', 'waited_too_long'));
  };
  const start = (): void => {
    called = false;
    dismissLate();
    while (waiting.length > 0 && underWay < atOnce) {
      const batch = next();
      const [first] = batch;
      if (first === undefined) return;
      const names = identity === undefined ? [] : batch.map(({ item }) => identity(item));
      for (const name of names) held.add(name);
      underWay += 1;
      (batch.length === 1 ? alone(first) : together(batch)).then(() => {
        underWay -= 1;
        for (const name of names) held.delete(name);
        later();
      });
    }
  };
  const later = (): void => {
    if (called || waiting.length === 0 || underWay >= atOnce) return;
    called = true;
    afterTicks(ticks, start);
  };
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, until: until(item), resolve, reject });
      later();
    });
}

function afterTicks(ticks: number, then: () => void): void {
  setImmediate(ticks > 1 ? () => afterTicks(ticks - 1, then) : then);
}

/** A statement costs far more than what one key adds to it, most of all on Postgres and its client: a lookup waits for those of the next turns too. */
const lookupTicks = { sqlite: 4, postgres: 6 } as const;

/** A lookup by key that shares statements with others. */
export type Loader<V> = (key: string) => Promise<V | undefined>;

/** Joins lookups by key; what was revoked before a request arrived is not seen by it. */
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
