import { type DialectName, dialectWords } from '#src/platform/db/dialect-words.js';
import type { Connection } from '#src/platform/db/driver.js';
import { type TableShape, tableShapes } from '#src/platform/db/neutral-rows.js';
import { type Sql, statement } from '#src/platform/db/query.js';
import type { Runtime } from '#src/platform/index.js';
import { type CollectionStorage, collections, storageOf, withUnbuiltWords } from '../../data/index.js';

/** A failure of a backup, for the operator. */
export class BackupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'BackupError';
  }
}

/** True for a table that exists for a collection. Tables of extensions and of others are not backed up. */
export const isOfCollection = ({ name }: Pick<TableShape, 'name'>): boolean => /^[dl]_\d/.test(name);

/** True for the table of the documents of a collection. */
export const isDocuments = ({ name }: Pick<TableShape, 'name'>): boolean => /^d_\d+$/.test(name);

/**
 * The tables of this service, each after those that it refers to. Throws BackupError if a job has not finished upgrading tables of an earlier
 * version, because its progress would be lost.
 */
export async function storedTables(
  connection: Connection,
  { driver: { dialect }, migrator }: Pick<Runtime, 'driver' | 'migrator'>,
): Promise<TableShape[]> {
  const [row] = await connection.all(statement('select id from collections where layout < 2 limit 1'));
  if (row !== undefined)
    throw new BackupError(
      'a job is still upgrading collections of an earlier version; let the server run until it has ended',
    );
  const known = migrator.tables();
  return (await tableShapes(connection, dialect)).filter((table) => known.has(table.name) || isOfCollection(table));
}

/** The storage of each collection in `collections`, in the order of their numbers. */
export async function collectionStorages(connection: Connection, dialect: DialectName): Promise<CollectionStorage[]> {
  return (await storedCollections(connection, dialect)).map((collection) => storageOf(dialect, collection));
}

/** Creates the tables of documents and links for the rows of `collections`. */
export async function createCollectionTables(connection: Connection, dialect: DialectName): Promise<void> {
  const storages = await collectionStorages(connection, dialect);
  for (const { documents } of storages) for (const query of documents) await connection.run(query);
  for (const { links } of storages) for (const query of links) await connection.run(query);
}

/** Records that the new tables have the current layout, and that their fulltext indexes are still to be built, which a job does. */
export async function markUnbuiltWords(connection: Connection, sql: Sql): Promise<void> {
  for (const collection of await storedCollections(connection, sql.dialect)) {
    const change = collections.set({ ...withUnbuiltWords(collection), upgradedTo: null });
    await connection.run(sql`update collections set ${change} where number = ${collection.number}`);
  }
}

async function storedCollections(connection: Connection, dialect: DialectName) {
  const packed = dialectWords[dialect].jsonArray(Object.values(collections.columns));
  const rows = await connection.all(statement(`select ${packed} as packed from collections order by number`));
  return rows.map((row) => collections.decode(row));
}

/** Converts shapes of one database to the types of another: only Postgres has booleans. */
export async function shapesIn(
  connection: Connection,
  dialect: DialectName,
): Promise<(table: TableShape) => TableShape> {
  const existing = await tableShapes(connection, dialect);
  return ({ name, columns }) => {
    const kinds = new Map(existing.find((table) => table.name === name)?.columns.map((one) => [one.name, one.kind]));
    return { name, columns: columns.map((one) => ({ ...one, kind: kinds.get(one.name) ?? one.kind })) };
  };
}
