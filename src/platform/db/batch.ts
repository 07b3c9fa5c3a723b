import { DatabaseError } from './database-error.js';
import type { DialectName, Query } from './query.js';
import type { Row } from './table.js';
import type { Reader } from './unit.js';

/** How calls are joined. */
interface JoinOptions {
  /** Most calls in one run. */
  readonly most: number;
  /** Runs are of 1, 2, 4 … calls, so that their statements have few texts. */
  readonly doubling?: boolean;
  /** Most runs under way at once; further calls wait and go together. */
  readonly atOnce: number;
  /** Turns of the event loop for which a run waits for more calls; 1 where absent. */
  readonly turns?: number;
}

/**
 * Joins calls into as few runs as possible: those of one turn of the event loop go together, and those that come while enough runs are under
 * way form the next one. Nothing is remembered: each call is answered by a run begun after it. A run gives one answer for each item, or
 * undefined for one that has to run alone; when it fails, each of its items runs alone, so that nobody is refused for another's fault. Only where the
 * database went away it is told to all at once: what was asked for may have been done, and doing it again would answer otherwise.
 */
export function createJoin<I, O>(
  run: (items: readonly I[]) => Promise<readonly (O | undefined)[]>,
  { most, atOnce, doubling = false, turns = 1 }: JoinOptions,
): (item: I) => Promise<O> {
  interface Waiting {
    readonly item: I;
    readonly resolve: (value: O) => void;
    readonly reject: (error: unknown) => void;
  }
  const waiting: Waiting[] = [];
  let underWay = 0;
  let called = false;

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
      if (error instanceof DatabaseError && error.kind === 'unavailable') {
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
  const start = (): void => {
    called = false;
    while (waiting.length > 0 && underWay < atOnce) {
      const size = Math.min(most, waiting.length);
      const batch = waiting.splice(0, doubling ? 2 ** Math.floor(Math.log2(size)) : size);
      const [first] = batch;
      if (first === undefined) return;
      underWay += 1;
      (batch.length === 1 ? alone(first) : together(batch)).then(() => {
        underWay -= 1;
        later();
      });
    }
  };
  const later = (): void => {
    if (called || waiting.length === 0 || underWay >= atOnce) return;
    called = true;
    afterTurns(turns, start);
  };
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      later();
    });
}

function afterTurns(turns: number, then: () => void): void {
  setImmediate(turns > 1 ? () => afterTurns(turns - 1, then) : then);
}

/** A statement costs far more than what one key adds to it, most of all on Postgres and its client: a lookup waits for those of the next turns too. */
const lookupTurns = { sqlite: 2, postgres: 3 } as const;

/** A lookup by key that shares statements with others. */
export type Lookup<V> = (key: string) => Promise<V | undefined>;

/** Joins lookups by key; what was revoked before a request arrived is not seen by it. */
export function createLookup<V>(
  dialect: DialectName,
  load: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>,
): Lookup<V> {
  const join = createJoin<string, { readonly value: V | undefined }>(
    async (keys) => {
      const found = await load([...new Set(keys)]);
      return keys.map((key) => ({ value: found.get(key) }));
    },
    { most: Number.POSITIVE_INFINITY, atOnce: 1, turns: lookupTurns[dialect] },
  );
  return async (key) => (await join(key)).value;
}

const sharedReads: JoinOptions = { most: 8, doubling: true, atOnce: 2 };
/** Both databases bound the values of a statement. */
const mostSharedValues = 1000;

/** Joins reads of the same text, each of which gives one row: several become the parts of one statement. */
export function createSharedRead(db: Reader, dialect: DialectName): (query: Query) => Promise<Row | undefined> {
  type Read = (values: Query['values']) => Promise<{ readonly row: Row | undefined }>;
  const reads = new Map<string, { readonly read: Read; users: number }>();
  const readOf = (sql: string) => {
    const join = createJoin<Query['values'], { readonly row: Row | undefined }>(async (items) => {
      const [alone] = items;
      if (items.length === 1 && alone !== undefined) return [{ row: await db.one({ sql, values: alone }) }];
      const rows = await db.all(union(sql, items, dialect));
      const byPart = new Map(rows.map((row) => [Number(row.part), row]));
      return items.map((_, part) => ({ row: byPart.get(part) }));
    }, sharedReads);
    return { read: join, users: 0 };
  };
  return async (query) => {
    if (query.values.length > mostSharedValues / sharedReads.most) return db.one(query);
    const shared = reads.get(query.sql) ?? readOf(query.sql);
    reads.set(query.sql, shared);
    shared.users += 1;
    try {
      return (await shared.read(query.values)).row;
    } finally {
      shared.users -= 1;
      if (shared.users === 0) reads.delete(query.sql);
    }
  };
}

/** One statement of several parts. Postgres numbers the places of values, so those of later parts move on. */
function union(sql: string, items: readonly Query['values'][], dialect: DialectName): Query {
  const part = (at: number): string => {
    const before = at * (items[0]?.length ?? 0);
    const text =
      dialect === 'sqlite' ? sql : sql.replace(/\$(\d+)/g, (_, place: string) => `$${Number(place) + before}`);
    return `select ${at} as part, q.* from (${text}) as q`;
  };
  return { sql: items.map((_, at) => part(at)).join(' union all '), values: items.flat() };
}
