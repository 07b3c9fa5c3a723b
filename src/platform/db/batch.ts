import { DatabaseError } from './database-error.js';
import type { DialectName, Query, Sql, Value } from './query.js';
import { recordset, toRecords } from './recordset.js';
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
const lookupTurns = { sqlite: 4, postgres: 6 } as const;

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

const sharedReads = { most: 16, atOnce: 2 } as const;
/** Both databases bound the values of a statement. */
const mostSharedValues = 1000;
/** Most kinds of reads that are kept. */
const mostKinds = 500;

/** A read of one row of texts without FROM that can share a statement with others, as it finds its values in the columns of a table of values. */
export interface SharedQuery {
  readonly columns: string;
  /** Values of the places in `columns`, the same for all that share. */
  readonly values: readonly Value[];
  /** The read's own values, and the place of each, perhaps with a cast. */
  readonly own: readonly Value[];
  readonly places: readonly string[];
  /** Reads with the same key share statements: they differ in their own values only. */
  readonly key: string;
}

/** The column of an own value, by its number. SQLite calls the columns of VALUES so; the first one numbers the reads. */
export const sharedColumn = (at: number): string => `given.column${at + 2}`;

/** Joins reads with the same key: several are one statement over a table of their values, which is planned and begun once for all. */
export function createSharedRead(
  db: Reader,
  sql: Pick<Sql, 'dialect' | 'text'>,
): (query: SharedQuery) => Promise<Row | undefined> {
  type Read = (own: SharedQuery['own']) => Promise<{ readonly row: Row | undefined }>;
  const reads = new Map<string, Read>();
  const readOf = (query: SharedQuery): Read => {
    const together = joinedReads(query, sql);
    const run = async (calls: readonly SharedQuery['own'][]) => {
      const rows = await db.all(together(calls));
      const byPart = new Map(rows.map((row) => [Number(row.part), row]));
      return calls.map((_, part) => ({ row: byPart.get(part) }));
    };
    // The texts of Postgres are the same for any number of reads.
    return createJoin(run, { ...sharedReads, doubling: sql.dialect === 'sqlite' });
  };
  return async (query) => {
    if (query.own.length > mostSharedValues / sharedReads.most) return db.one(joinedReads(query, sql)([query.own]));
    let read = reads.get(query.key);
    if (read === undefined) {
      if (reads.size >= mostKinds) reads.clear();
      read = readOf(query);
      reads.set(query.key, read);
    }
    return (await read(query.own)).row;
  };
}

/** Makes the statement for some reads. */
function joinedReads(
  { columns, values, places }: SharedQuery,
  sql: Pick<Sql, 'dialect' | 'text'>,
): (calls: readonly SharedQuery['own'][]) => Query {
  const from = (table: string) => `select cast(given.column1 as text) as part, ${columns} from ${table} as given`;
  if (sql.dialect === 'sqlite') {
    const texts = new Map<number, string>();
    return (calls) => {
      const row = (_: unknown, part: number) => `(${[part, ...places].join(', ')})`;
      const text = texts.get(calls.length) ?? from(`(values ${calls.map(row).join(', ')})`);
      texts.set(calls.length, text);
      return { ...sql.text(text, [...values, ...calls.flat()]), texts: true };
    };
  }
  const types = places.map((place) => /^cast\(\? as (.+)\)$/.exec(place)?.[1] ?? 'text');
  const given = ['integer', ...types].map((type, at) => ({ name: `column${at + 1}`, type }));
  // Postgres would take it for a hundred rows, and such a cost for a reason to compile the statement.
  const text = from(`(select * from ${recordset('?', given)} limit ${sharedReads.most})`);
  return (calls) => {
    const rows = calls.map((own, part) => [part, ...own]);
    return { ...sql.text(text, [...values, toRecords(given, rows)]), texts: true };
  };
}
