import type { Reading, Waiter } from '#src/contract/reading.js';
import { Lru } from '../cache/lru.js';
import { DatabaseError } from './database-error.js';
import { gone } from './list-slots.js';
import type { Query, Sql, Value } from './query.js';
import type { Row } from './table.js';
import type { Database } from './unit.js';

/** Most reads in one statement, and most statements of one kind running at once. */
const together = { max: 16, atOnce: 2 } as const;
/** Both databases limit the number of values in a statement. */
const maxSharedValues = 1000;
/** Bounds of the cache of kinds. `bytes` counts the statement texts for both databases. */
const kinds = { bytes: 16_777_216, entries: 500, largest: 262_144 } as const;
/** Most queued reads of one kind. */
const maxWaiting = 1024;
/**
 * Time limit of a joined statement. A slow read delays all the others, so after `afterMs` each read runs alone in the quota of its own
 * caller. All reads of that kind run alone for `forMs`, because the work of a statement that was cancelled is lost.
 */
const slow = { afterMs: 1000, forMs: 60_000 } as const;
/** The account charged for a statement of several callers; no caller has this name. */
const joined = 'joined';

/**
 * A read of one row of texts without FROM. It can share a statement with others because it takes its values from the columns of a table of
 * values.
 */
export interface SharedQuery {
  readonly columns: string;
  /** Values of the placeholders in `columns`; the same for all reads that share the statement. */
  readonly values: readonly Value[];
  /** The read's own values, and the placeholder of each, optionally with a cast. */
  readonly own: readonly Value[];
  readonly places: readonly string[];
  /** Reads with the same key can share a statement: they differ only in their own values. */
  readonly key: string;
}

/** The column of an own value, by its number. SQLite gives the columns of VALUES these names; the first one numbers the reads. */
export const sharedColumn = (at: number): string => `given.column${at + 2}`;

type Dialect = Pick<Sql, 'dialect' | 'text'>;

/** Joins reads with the same key into one statement over a table of their values, which is planned and started once for all of them. */
export function createSharedRead(
  db: Pick<Database, 'lists'>,
  sql: Dialect,
): (query: SharedQuery, reading: Reading) => Promise<Row | undefined> {
  const cache = new Lru<Kind>(kinds);
  return (query, reading) => {
    if (query.own.length > maxSharedValues / together.max)
      return db.lists(reading).one(joinedReads(query, sql)([query.own]));
    let kind = cache.get(query.key);
    if (kind === undefined) {
      kind = new Kind(db, joinedReads(query, sql), sql.dialect === 'sqlite');
      // The text of the statement; SQLite needs one for each number of reads.
      cache.set(query.key, kind, 6 * query.columns.length + 1000);
    }
    return kind.read(query.own, reading);
  };
}

interface Waiting {
  readonly own: SharedQuery['own'];
  readonly reading: Reading;
  readonly resolve: (row: Row | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Builds the statement for a batch of reads. */
type JoinedStatement = (calls: readonly SharedQuery['own'][]) => Query;

/**
 * Reads that differ only in their own values. Reads of one turn of the event loop are batched, and so are those that arrive while enough
 * statements are running.
 */
class Kind {
  readonly #db: Pick<Database, 'lists'>;
  readonly #statement: JoinedStatement;
  /** True if batches have 1, 2, 4 … reads, which keeps the number of statement texts small. */
  readonly #doubling: boolean;
  #waiting: Waiting[] = [];
  #underWay = 0;
  #called = false;
  #slowUntil = 0;
  /** Number of statements started. */
  #begun = 0;
  #watched = false;

  constructor(db: Pick<Database, 'lists'>, statement: JoinedStatement, doubling: boolean) {
    this.#db = db;
    this.#statement = statement;
    this.#doubling = doubling;
  }

  read(own: SharedQuery['own'], reading: Reading): Promise<Row | undefined> {
    if (this.#isSlow()) return this.#one(own, reading);
    if (this.#waiting.length >= maxWaiting) return Promise.reject(new DatabaseError('unavailable', 'lists_waiting'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ own, reading, resolve, reject });
      this.#later();
    });
  }

  #isSlow(): boolean {
    return this.#slowUntil > 0 && performance.now() < this.#slowUntil;
  }

  #later(): void {
    if (this.#called || this.#waiting.length === 0) return;
    if (this.#underWay >= together.atOnce) {
      this.#watch();
      return;
    }
    this.#called = true;
    setImmediate(() => {
      this.#called = false;
      this.#start();
    });
  }

  /** A read that runs alone may use the whole time of its caller. Reads that wait too long behind it run alone as well. */
  #watch(): void {
    if (this.#watched) return;
    this.#watched = true;
    const before = this.#begun;
    setTimeout(() => {
      this.#watched = false;
      if (this.#waiting.length > 0 && this.#begun === before) this.#becomeSlow();
      else this.#later();
    }, slow.afterMs).unref();
  }

  #start(): void {
    const left = this.#waiting.filter(({ reading }) => !reading.waiter.isGone);
    for (const { reading, reject } of this.#waiting) if (reading.waiter.isGone) reject(gone());
    this.#waiting = left;
    while (this.#waiting.length > 0 && this.#underWay < together.atOnce) {
      const size = Math.min(together.max, this.#waiting.length);
      const batch = this.#waiting.splice(0, this.#doubling ? 2 ** Math.floor(Math.log2(size)) : size);
      this.#underWay += 1;
      this.#begun += 1;
      this.#run(batch).then(() => {
        this.#underWay -= 1;
        this.#later();
      });
    }
  }

  async #run(batch: readonly Waiting[]): Promise<void> {
    const [first] = batch;
    if (batch.length === 1 && first !== undefined) return this.#alone(first);
    try {
      const rows = await this.#db.lists(readingOfAll(batch)).all(this.#statement(batch.map(({ own }) => own)));
      const byPart = new Map(rows.map((row) => [Number(row.part), row]));
      for (const [part, { resolve }] of batch.entries()) resolve(byPart.get(part));
    } catch (error) {
      if (error instanceof DatabaseError && error.kind === 'unavailable') {
        for (const { reject } of batch) reject(error);
        return;
      }
      const isSlow = error instanceof DatabaseError && error.kind === 'timeout' && error.code !== 'client_gone';
      if (isSlow && batch.some(({ reading }) => !reading.waiter.isGone)) this.#becomeSlow();
      // Not awaited: each runs in the quota of its own caller, and later reads do not wait for it.
      for (const one of batch) void this.#alone(one);
    }
  }

  #becomeSlow(): void {
    this.#slowUntil = performance.now() + slow.forMs;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) void this.#alone(one);
  }

  #alone({ own, reading, resolve, reject }: Waiting): Promise<void> {
    return this.#one(own, reading).then(resolve, reject);
  }

  #one(own: SharedQuery['own'], reading: Reading): Promise<Row | undefined> {
    return this.#db.lists(reading).one(this.#statement([own]));
  }
}

function readingOfAll(batch: readonly Waiting[]): Reading {
  const [first] = batch;
  const isOfOne = batch.every(({ reading }) => reading.account === first?.reading.account);
  return {
    account: isOfOne && first !== undefined ? first.reading.account : joined,
    waiter: new AnyOf(batch.map(({ reading }) => reading.waiter)),
    maxMs: slow.afterMs,
    onStarted: () => {
      for (const { reading } of batch) reading.onStarted?.();
    },
  };
}

/**
 * Several waiters for one statement, which runs until all of them are gone. This is a class because V8 gives every object literal with a
 * getter its own hidden class. That class retains what the getter references, here whole requests, until the next full collection.
 */
class AnyOf implements Waiter {
  readonly #waiters: readonly Waiter[];

  constructor(waiters: readonly Waiter[]) {
    this.#waiters = waiters;
  }

  get isGone(): boolean {
    return this.#waiters.every((waiter) => waiter.isGone);
  }

  onGone(listener: () => void): () => void {
    const ignored = this.#waiters.map((waiter) => waiter.onGone(() => this.isGone && listener()));
    return () => {
      for (const ignore of ignored) ignore();
    };
  }
}

/** Creates the builder of joined statements for a kind of read. */
function joinedReads({ columns, values, places }: SharedQuery, sql: Dialect): JoinedStatement {
  const from = (table: string) => `select cast(given.column1 as text) as part, ${columns} from ${table} as given`;
  if (sql.dialect === 'sqlite') {
    const texts = new Map<number, string>();
    return (calls) => {
      const row = (_: unknown, part: number) => `(${[part, ...places].join(', ')})`;
      const text = texts.get(calls.length) ?? from(`(values ${calls.map(row).join(', ')})`);
      texts.set(calls.length, text);
      return { ...sql.text(text, [...values, ...calls.flat()]), allText: true };
    };
  }
  const types = places.map((place) => /^cast\(\? as (.+)\)$/.exec(place)?.[1] ?? 'text');
  const names = types.map((_, at) => `column${at + 2}`);
  const typed = ['column1 integer', ...names.map((name, at) => `${name} ${types[at]}`)].join(', ');
  // With arrays, Postgres would plan again for each length. It parses the text once; member operators would parse it for each member.
  // Without the limit it would estimate a hundred rows, and compile the statement because of that cost.
  const given = `(select * from json_to_recordset(cast(? as json)) as given (${typed}) limit ${together.max})`;
  const text = from(given);
  const record = (own: SharedQuery['own'], part: number) => {
    const named: Record<string, Value> = { column1: part };
    names.forEach((name, at) => {
      named[name] = own[at] ?? null;
    });
    return named;
  };
  return (calls) => ({ ...sql.text(text, [...values, JSON.stringify(calls.map(record))]), allText: true });
}
