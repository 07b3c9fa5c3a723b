import { countsTable, documentTable, readersTable, wordsTable } from '#src/platform/db/collection-tables.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bigint, bool, instant, integer, json, nullable, table, text } from '#src/platform/db/table.js';
import type { Relation } from './relations/model.js';
import type { Attribute, Collection, CollectionPath, Index } from './schema.js';

/** Databases: containers of collections. */
export const databases = table('databases', {
  projectId: text,
  id: text,
  name: text,
  enabled: bool,
  createdAt: instant,
  updatedAt: instant,
});

/** Collections with their schema. */
export const collections = table<Collection>('collections', {
  projectId: text,
  databaseId: text,
  id: text,
  number: integer,
  version: integer,
  layout: integer,
  upgradedTo: nullable(bigint),
  name: text,
  enabled: bool,
  documentSecurity: bool,
  permissions: json<readonly string[]>(),
  attributes: json<readonly Attribute[]>(),
  indexes: json<readonly Index[]>(),
  relations: json<readonly Relation[]>(),
  lastPart: integer,
  createdAt: instant,
  updatedAt: instant,
});

/** A database of a project. */
export type DatabaseRow = ReturnType<typeof databases.decode>;

/** SQL over databases and collections. */
export function createDatabaseStore(sql: Sql) {
  const { knex } = sql;
  const ofDatabase = (projectId: string, id: string) => knex(databases.name).where({ project_id: projectId, id });
  const inDatabase = (projectId: string, databaseId: string) =>
    knex(collections.name).where({ project_id: projectId, database_id: databaseId });
  return {
    find: (projectId: string, id: string): Query =>
      sql.compile(ofDatabase(projectId, id).select(databases.select(sql))),
    rows: (projectId: string) => knex(databases.name).where({ project_id: projectId }),
    columns: () => databases.select(sql),
    insert: (row: DatabaseRow): Query =>
      sql.compile(knex(databases.name).insert(databases.encode(row)).onConflict().ignore().returning('id')),
    update: (projectId: string, id: string, change: Partial<DatabaseRow>): Query =>
      sql.compile(ofDatabase(projectId, id).update(databases.encodeSome(change))),
    /** Held until the end of the unit: no collection is created in it meanwhile. */
    lock: (projectId: string, id: string): Query => sql.compile(ofDatabase(projectId, id).forUpdate().select('id')),
    remove: (projectId: string, id: string): Query => sql.compile(ofDatabase(projectId, id).delete()),
    /** Every process sees by the versions that something above its collections has changed. */
    touchCollections: (projectId: string, databaseId: string): Query =>
      sql.compile(inDatabase(projectId, databaseId).update({ version: knex.raw('version + 1') })),

    /** A collection with the state of its database. */
    findCollection: sql.prepare<CollectionPath>((k, p) =>
      k(collections.name)
        .join(databases.name, (on) =>
          on.on('databases.project_id', 'collections.project_id').andOn('databases.id', 'collections.database_id'),
        )
        .where({
          'collections.project_id': p.projectId,
          'collections.database_id': p.databaseId,
          'collections.id': p.collectionId,
        })
        .select('databases.enabled as databaseEnabled', collections.select(sql)),
    ),
    /** The same row, held until the end of the unit: changes of a schema come one after the other. */
    lockCollection: ({ projectId, databaseId, collectionId: id }: CollectionPath): Query =>
      sql.compile(
        inDatabase(projectId, databaseId)
          .andWhere({ id })
          .update({ version: knex.raw('version + 1') })
          .returning('number'),
      ),
    /** The same by its number, of whichever database. */
    lockRelated: (number: number): Query =>
      sql.compile(
        knex(collections.name)
          .where({ number })
          .update({ version: knex.raw('version + 1') })
          .returning(collections.select(sql)),
      ),
    /** Holds the rows of collections until the end of the unit, in the order of their numbers, for all who change several. */
    hold: (numbers: readonly number[]): Query =>
      sql.compile(
        knex(collections.name)
          .whereIn('number', [...numbers])
          .orderBy('number')
          .forUpdate()
          .select('number'),
      ),
    allCollections: (projectId: string): Query =>
      sql.compile(
        knex(collections.name)
          .where({ project_id: projectId })
          .orderBy(['database_id', 'id'])
          .select(collections.select(sql)),
      ),
    attributeBytes: (projectId: string): Query =>
      sql.compile(
        knex(collections.name).where({ project_id: projectId }).select(knex.raw('sum(length(attributes)) as bytes')),
      ),
    collectionRows: inDatabase,
    collectionColumns: () => collections.select(sql),
    /** So many collections of a project, or of one of its databases, whose rows are held: another unit may remove one. */
    some: (projectId: string, databaseId: string | undefined, limit: number): Query =>
      sql.compile(
        knex(collections.name)
          .where({ project_id: projectId, ...(databaseId === undefined ? {} : { database_id: databaseId }) })
          .orderBy('number')
          .limit(limit)
          .forUpdate()
          .select(collections.select(sql)),
      ),
    nextNumber: (): Query =>
      sql.compile(
        knex('number_sequences')
          .where({ name: 'collections' })
          .update({ last: knex.raw('?? + 1', ['last']) })
          .returning('last'),
      ),
    /** Held until the end of the unit: databases are created one after the other, so that none is one too many. */
    holdNumbers: (): Query =>
      sql.compile(knex('number_sequences').where({ name: 'collections' }).forUpdate().select('name')),
    countDatabases: (projectId: string): Query =>
      sql.compile(knex(databases.name).where({ project_id: projectId }).count({ count: '*' })),
    countCollections: (projectId: string): Query =>
      sql.compile(knex(collections.name).where({ project_id: projectId }).count({ count: '*' })),
    insertCollection: (row: Collection): Query =>
      sql.compile(knex(collections.name).insert(collections.encode(row)).onConflict().ignore().returning('id')),
    updateCollection: (number: number, change: Partial<Collection>): Query =>
      sql.compile(knex(collections.name).where({ number }).update(collections.encodeSome(change))),
    /** Collections whose tables have an earlier layout. */
    outdated: (layout: number): Query =>
      sql.compile(knex(collections.name).where('layout', '<', layout).orderBy('number').select('number')),
    /** Such a collection, held until the end of the unit. */
    lockByNumber: (number: number): Query =>
      sql.compile(knex(collections.name).where({ number }).forUpdate().select(collections.select(sql))),
    /** The last sequence of a collection whose readers are brought along. */
    upgradeReached: (number: number, sequence: number): Query =>
      sql.compile(knex(collections.name).where({ number }).update({ upgraded_to: sequence })),
    /** The collection has this layout now; every process sees it by the version. */
    upgraded: (number: number, layout: number): Query =>
      sql.compile(
        knex(collections.name)
          .where({ number })
          .update({ layout, upgraded_to: null, version: knex.raw('version + 1') }),
      ),
    /** The indexes of a collection, one of which was built further; every process sees by the version where it is `over`. */
    indexesBuilt: (number: number, indexes: readonly Index[], over: boolean): Query =>
      sql.compile(
        knex(collections.name)
          .where({ number })
          .update({ ...collections.encodeSome({ indexes }), ...(over ? { version: knex.raw('version + 1') } : {}) }),
      ),
    /** Collections with an index that is being built. The member stands in no other text of indexes, as keys hold no quotes. */
    withUnbuilt: (): Query =>
      sql.compile(knex(collections.name).whereLike('indexes', '%"builtTo":%').orderBy('number').select('number')),
    countDocuments: (number: number): Query =>
      sql.compile(knex(documentTable(number)).select(knex.raw('count(*) as count'))),
    /** The same by what is counted as documents are written, which collections of an earlier layout do not have. */
    countedDocuments: (number: number): Query =>
      sql.compile(knex(countsTable).where({ number }).select(knex.raw('coalesce(sum(documents), 0) as count'))),
    bytesOf: (number: number, fulltext: readonly number[]): Query => bytesOf(sql, number, fulltext),
    removeCollection: (number: number): Query => sql.compile(knex(collections.name).where({ number }).delete()),
  };
}

/** SQL over databases and collections. */
export type DatabaseStore = ReturnType<typeof createDatabaseStore>;

/** What the tables of a collection take in the database. */
function bytesOf(sql: Sql, number: number, fulltext: readonly number[]): Query {
  const words = fulltext.map((index) => wordsTable(number, index));
  const own = [documentTable(number), readersTable(number)];
  if (sql.dialect === 'postgres') {
    const tables = [...own, ...words];
    const sizes = tables.map(() => 'pg_total_relation_size(cast(? as regclass))');
    return sql.text(`select ${sizes.join(' + ')} as bytes`, tables);
  }
  // What a virtual table stores is in tables of its own.
  const tables = [
    ...own,
    ...words.flatMap((name) => ['data', 'idx', 'docsize', 'config'].map((part) => `${name}_${part}`)),
  ];
  // The names come first, as `dbstat` walks only what it is asked for by name.
  return sql.text(
    `select sum(pgsize) as bytes from sqlite_master cross join dbstat on dbstat.name = sqlite_master.name
      where aggregate = 1 and type in ('table', 'index') and tbl_name in (${tables.map(() => '?').join(', ')})`,
    tables,
  );
}
