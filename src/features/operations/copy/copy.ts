import { documentTable } from '#src/platform/db/collection-tables.js';
import type { DialectName } from '#src/platform/db/dialect-words.js';
import type { Connection } from '#src/platform/db/driver.js';
import { unfinishedCopy } from '#src/platform/db/migrations.js';
import {
  continueSequence,
  insertRows,
  lastSequence,
  type NeutralRow,
  primaryKey,
  readRows,
  type TableShape,
  tableShapes,
} from '#src/platform/db/neutral-rows.js';
import { openSnapshot } from '#src/platform/db/open-snapshot.js';
import type { Sql } from '#src/platform/db/query.js';
import { dropEverything } from '#src/platform/db/table-removal.js';
import { raw } from '#src/platform/db/template.js';
import { createWordStore } from '#src/platform/db/word-store.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { indexNextWords } from '../../data/index.js';
import { collectionStorages, createCollectionTables, isDocuments, isOfCollection, shapesIn } from '../backup/index.js';
import { copiedTables, digestTable, type TableDigest } from './digest.js';

/** A failure of a copy: the source has changed since the copy began, tables differ in the end, or another process has taken over. */
export class CopyError extends Error {
  readonly reason: 'changed' | 'different' | 'taken';
  readonly tables: readonly string[];
  constructor(reason: CopyError['reason'], tables: readonly string[] = []) {
    super(reason);
    this.name = 'CopyError';
    this.reason = reason;
    this.tables = tables;
  }
}

/** Contents of a target before a copy. */
type TargetState = 'empty' | 'unfinished' | 'data';

/** One side of a copy. */
type Side = Pick<Runtime, 'driver' | 'migrator' | 'clock' | 'random' | 'sql'>;

/** Options of a copy. */
interface CopyOptions {
  /** `empty` for an empty target, `over` for one with an unfinished copy that is removed, `resume` for one whose copy goes on. */
  readonly start: 'empty' | 'over' | 'resume';
  /** Called with the names of all tables before anything is written. */
  onBegin(tables: readonly string[]): Promise<void>;
  /** Called with the table in work and the number of rows that are copied, indexed or verified. */
  onProgress(step: 'copied' | 'indexed' | 'verified', table: string, rows: number): void;
}

/** Progress of a copy, in the target, which is marked as unfinished while it exists. */
interface Progress {
  /** Id of the run that goes on with the copy. */
  readonly owner: string;
  /** All tables, in order. */
  readonly tables: readonly string[];
  /** The table in work. */
  readonly at: number;
  /** Key of its last row that is copied; null if there is none. */
  readonly after: NeutralRow | null;
  readonly rows: number;
  /** True if the tables of collections, or their indexes, exist. */
  readonly has: { readonly collections: boolean; readonly indexes: boolean };
  /** The fulltext index in work, and the sequence of the last document in it. */
  readonly words: { readonly at: number; readonly after: number };
}

const progressTable = raw('copy_progress');

/** Finds out if a database is empty, holds an unfinished copy, or data. */
export async function copyState({ driver, migrator }: Pick<Side, 'driver' | 'migrator'>): Promise<TargetState> {
  const { applied } = await migrator.status();
  if (applied.includes(unfinishedCopy)) return 'unfinished';
  const tables = await tableShapes({ all: driver.read }, driver.dialect);
  return applied.length === 0 && tables.length === 0 ? 'empty' : 'data';
}

/**
 * Copies all rows of one snapshot of a database, in short transactions and constant memory, and compares the digests of all tables. Until
 * then the target is marked as unfinished. Throws CopyError, BackupError and DatabaseError.
 */
export async function copyDatabase(source: Side, target: Side, options: CopyOptions): Promise<TableDigest[]> {
  const { connection, release } = await openSnapshot(source.driver);
  try {
    const tables = await copiedTables(connection, source);
    await options.onBegin(tables.map(({ name }) => name));
    let progress =
      options.start === 'resume'
        ? await takeOver(target, tables)
        : await begin(target, tables, options.start === 'over');
    for (const table of tables.slice(progress.at)) {
      if (isOfCollection(table) && !progress.has.collections)
        progress = await advance(target, { ...progress, has: { ...progress.has, collections: true } }, (to) =>
          createCollectionTables(to, target.driver.dialect),
        );
      progress = await copyTable({ connection, dialect: source.driver.dialect }, target, table, progress, options);
    }
    if (!progress.has.indexes)
      progress = await advance(target, { ...progress, has: { collections: true, indexes: true } }, async (to) => {
        if (!progress.has.collections) await createCollectionTables(to, target.driver.dialect);
        await finishTables({ connection, dialect: source.driver.dialect }, to, target.driver.dialect, tables);
      });
    await indexWords(target, progress, options);
    const digests = await verified(connection, source, target, tables, options);
    const { sql } = target;
    await target.driver.exclusive(async (to) => {
      // The new tables have the triggers that a job would add.
      await to.run(sql`update collections set tracked = 1 where tracked = 0`);
      await to.run(sql`drop table ${progressTable}`);
      await to.run(sql`delete from schema_migrations where name = ${unfinishedCopy}`);
    });
    return digests;
  } finally {
    await release();
  }
}

/**
 * Creates the schema in the empty target, or in one with an unfinished copy if the copy begins over, marked as unfinished. Throws CopyError
 * if another run has copied into it since that was found.
 */
async function begin(target: Side, tables: readonly TableShape[], isOver: boolean): Promise<Progress> {
  const { driver, migrator, clock, random, sql } = target;
  const progress: Progress = {
    owner: random.id(),
    tables: tables.map(({ name }) => name),
    at: 0,
    after: null,
    rows: 0,
    has: { collections: false, indexes: false },
    words: { at: 0, after: 0 },
  };
  await driver.exclusive(async (to) => {
    const present = await tableShapes(to, driver.dialect);
    if (isOver !== present.some(({ name }) => name === progressTable.text)) throw new CopyError('taken');
    if (isOver) await dropEverything(to, driver.dialect);
    else if (present.length > 0) throw new CopyError('taken');
    await migrator.migrate(to);
    const now = instantOf(clock.now());
    await to.run(sql`insert into schema_migrations (name, applied_at) values (${unfinishedCopy}, ${now})`);
    await to.run(sql`create table ${progressTable} (owner text not null, value text not null)`);
    const { owner } = progress;
    await to.run(sql`insert into ${progressTable} (owner, value) values (${owner}, ${JSON.stringify(progress)})`);
  });
  return progress;
}

/** Takes over an unfinished copy. Throws CopyError if the source has other tables than when it began. */
async function takeOver({ driver, random, sql }: Side, tables: readonly TableShape[]): Promise<Progress> {
  const owner = random.id();
  return driver.exclusive(async (to) => {
    const [row] = await to.all(sql`select value from ${progressTable}`);
    const progress = JSON.parse(String(row?.value)) as Progress;
    if (progress.tables.join() !== tables.map(({ name }) => name).join()) throw new CopyError('changed');
    await to.run(sql`update ${progressTable} set owner = ${owner}`);
    return { ...progress, owner };
  });
}

/** Changes the target and its progress in one transaction. Throws CopyError if another run has taken over. */
async function advance(
  { driver, sql }: Side,
  progress: Progress,
  body: (to: Connection) => Promise<void>,
): Promise<Progress> {
  await driver.exclusive(async (to) => {
    await saveProgress(to, sql, progress);
    await body(to);
  });
  return progress;
}

async function saveProgress(to: Connection, sql: Sql, progress: Progress): Promise<void> {
  const saved = await to.run(
    sql`update ${progressTable} set value = ${JSON.stringify(progress)} where owner = ${progress.owner}`,
  );
  if (saved === 0) throw new CopyError('taken');
}

/** A connection to a database of a dialect. */
interface From {
  readonly connection: Connection;
  readonly dialect: DialectName;
}

async function copyTable(
  { connection, dialect }: From,
  target: Side,
  table: TableShape,
  begun: Progress,
  { onProgress }: CopyOptions,
): Promise<Progress> {
  const key = await primaryKey(connection, dialect, table.name);
  const keyAt = key.map((column) => table.columns.findIndex(({ name }) => name === column));
  const to = target.driver.dialect;
  const shape = (await target.driver.snapshot((reader) => shapesIn(reader, to)))(table);
  let progress = begun;
  onProgress('copied', table.name, progress.rows);
  const rows = readRows(connection, dialect, table, { key, after: progress.after ?? undefined });
  for await (const batch of batches(rows)) {
    const last = batch.at(-1);
    const after = keyAt.map((at) => last?.[at] ?? null);
    const next = { ...progress, after, rows: progress.rows + batch.length };
    progress = await advance(target, next, async (writer) => {
      for (const query of insertRows(to, shape, key, batch)) await writer.run(query);
    });
    onProgress('copied', table.name, progress.rows);
  }
  return { ...progress, at: progress.at + 1, after: null };
}

/** Most rows, and characters of text, of one transaction. */
const batchOf = { rows: 1000, characters: 4_194_304 } as const;

async function* batches(pages: AsyncIterable<readonly NeutralRow[]>): AsyncGenerator<NeutralRow[]> {
  let batch: NeutralRow[] = [];
  let characters = 0;
  for await (const page of pages) {
    batch.push(...page);
    for (const row of page) for (const value of row) characters += typeof value === 'string' ? value.length : 8;
    if (batch.length < batchOf.rows && characters < batchOf.characters) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Builds the indexes of collections, and lets sequences go on where those of the source are. */
async function finishTables(
  { connection, dialect }: From,
  to: Connection,
  toDialect: DialectName,
  tables: readonly TableShape[],
): Promise<void> {
  for (const { indexes } of await collectionStorages(to, toDialect)) for (const query of indexes) await to.run(query);
  for (const { name } of tables.filter(isDocuments)) {
    const last = await lastSequence(connection, dialect, name);
    if (last !== null) for (const query of continueSequence(toDialect, name, last)) await to.run(query);
  }
}

/** Fills the fulltext indexes of the target, whose tables are not copied. */
async function indexWords(target: Side, begun: Progress, { onProgress }: CopyOptions): Promise<void> {
  const { driver, sql } = target;
  const storages = await driver.snapshot((connection) => collectionStorages(connection, driver.dialect));
  const store = createWordStore(sql);
  let progress = begun;
  for (const numbers of storages.flatMap(({ words }) => words).slice(progress.words.at)) {
    const table = documentTable(numbers.collection);
    for (let isOver = false; !isOver; ) {
      onProgress('indexed', table, progress.words.after);
      await driver.exclusive(async (to) => {
        const { at, after } = progress.words;
        const { last } = await indexNextWords(to, store, numbers, after);
        isOver = last === undefined;
        progress = { ...progress, words: last === undefined ? { at: at + 1, after: 0 } : { at, after: last } };
        await saveProgress(to, sql, progress);
      });
    }
  }
}

/** Compares each table of the target with that of the source. Throws CopyError. */
async function verified(
  connection: Connection,
  source: Side,
  target: Side,
  tables: readonly TableShape[],
  { onProgress }: CopyOptions,
): Promise<TableDigest[]> {
  const copied = await openSnapshot(target.driver);
  try {
    const shapeIn = await shapesIn(copied.connection, target.driver.dialect);
    const digests: TableDigest[] = [];
    const different: string[] = [];
    let rows = 0;
    for (const table of tables) {
      onProgress('verified', table.name, rows);
      const [one, other] = await Promise.all([
        digestTable(connection, source.driver.dialect, table),
        digestTable(copied.connection, target.driver.dialect, shapeIn(table)),
      ]);
      if (one.digest !== other.digest) different.push(table.name);
      rows += one.rows;
      digests.push(one);
    }
    if (different.length > 0) throw new CopyError('different', different);
    return digests;
  } finally {
    await copied.release();
  }
}
