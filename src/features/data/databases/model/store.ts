import { countsTable, documentTable } from '#src/platform/db/collection-tables.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bytesOfCollection } from '#src/platform/db/sizes.js';
import { bigint, bool, instant, integer, jsonText, nullable, table, text } from '#src/platform/db/table.js';
import type { Relation } from './relation.js';
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
export const collections = table<Omit<Collection, 'seal'>>('collections', {
  projectId: text,
  databaseId: text,
  id: text,
  number: integer,
  version: integer,
  layout: integer,
  upgradedTo: nullable(bigint),
  tracked: bool,
  name: text,
  enabled: bool,
  documentSecurity: bool,
  permissions: jsonText<readonly string[]>(),
  attributes: jsonText<readonly Attribute[]>(),
  indexes: jsonText<readonly Index[]>(),
  relations: jsonText<readonly Relation[]>(),
  lastPart: integer,
  createdAt: instant,
  updatedAt: instant,
});

/** A database of a project. */
export type DatabaseRow = ReturnType<typeof databases.decode>;

/** SQL over databases and collections. */
export function createDatabaseStore(sql: Sql) {
  return {
    ...databaseStatements(sql),
    ...collectionStatements(sql),
    ...lockStatements(sql),
    ...buildStatements(sql),
    ...sizeStatements(sql),
  };
}

/** SQL over databases and collections. */
export type DatabaseStore = ReturnType<typeof createDatabaseStore>;

function databaseStatements(sql: Sql) {
  const { knex } = sql;
  const ofProject = (projectId: string) => knex(databases.name).where({ project_id: projectId });
  const one = (projectId: string, id: string) => knex(databases.name).where({ project_id: projectId, id });
  return {
    find: (projectId: string, id: string): Query => sql.compile(one(projectId, id).select(databases.select(sql))),
    rows: ofProject,
    columns: () => databases.select(sql),
    countDatabases: (projectId: string): Query => sql.compile(ofProject(projectId).count({ count: '*' })),
    insert: (row: DatabaseRow): Query =>
      sql.compile(knex(databases.name).insert(databases.encode(row)).onConflict().ignore().returning('id')),
    update: (projectId: string, id: string, change: Partial<DatabaseRow>): Query =>
      sql.compile(one(projectId, id).update(databases.encodeSome(change))),
    /** Locks the database until the end of the unit, so that no collection is created in it. */
    lock: (projectId: string, id: string): Query => sql.compile(one(projectId, id).forUpdate().select('id')),
    remove: (projectId: string, id: string): Query => sql.compile(one(projectId, id).delete()),
  };
}

function collectionStatements(sql: Sql) {
  const { knex } = sql;
  const ofProject = (projectId: string) => knex(collections.name).where({ project_id: projectId });
  const ofNumber = (number: number) => knex(collections.name).where({ number });
  return {
    /** A collection with the state of its database, and the data key of its project. */
    findCollection: sql.prepare<CollectionPath>((k, p) =>
      k(collections.name)
        .join(databases.name, (on) =>
          on.on('databases.project_id', 'collections.project_id').andOn('databases.id', 'collections.database_id'),
        )
        .join('projects', 'projects.id', 'collections.project_id')
        .where({
          'collections.project_id': p.projectId,
          'collections.database_id': p.databaseId,
          'collections.id': p.collectionId,
        })
        .select('databases.enabled as databaseEnabled', 'projects.data_key as dataKey', collections.select(sql)),
    ),
    allCollections: (projectId: string): Query =>
      sql.compile(ofProject(projectId).orderBy(['database_id', 'id']).select(collections.select(sql))),
    attributeBytes: (projectId: string): Query =>
      sql.compile(ofProject(projectId).select(knex.raw('sum(length(attributes)) as bytes'))),
    collectionRows: (projectId: string, databaseId: string) => inDatabase(sql, projectId, databaseId),
    collectionColumns: () => collections.select(sql),
    countCollections: (projectId: string): Query => sql.compile(ofProject(projectId).count({ count: '*' })),
    nextNumber: (): Query =>
      sql.compile(
        knex('number_sequences')
          .where({ name: 'collections' })
          .update({ last: knex.raw('?? + 1', ['last']) })
          .returning('last'),
      ),
    insertCollection: (row: Collection): Query =>
      sql.compile(knex(collections.name).insert(collections.encode(row)).onConflict().ignore().returning('id')),
    updateCollection: (number: number, change: Partial<Collection>): Query =>
      sql.compile(ofNumber(number).update(collections.encodeSome(change))),
    removeCollection: (number: number): Query => sql.compile(ofNumber(number).delete()),
  };
}

function inDatabase({ knex }: Sql, projectId: string, databaseId: string) {
  return knex(collections.name).where({ project_id: projectId, database_id: databaseId });
}

/** Locks until the end of the unit. A raised version makes every process read the collection again. */
function lockStatements(sql: Sql) {
  const { knex } = sql;
  const raised = () => ({ version: knex.raw('version + 1') });
  return {
    /** Raises the versions of the collections, so that every process reads the changed database. */
    touchCollections: (projectId: string, databaseId: string): Query =>
      sql.compile(inDatabase(sql, projectId, databaseId).update(raised())),
    /** Locks the row of a collection, so that changes of a schema follow one another. */
    lockCollection: ({ projectId, databaseId, collectionId: id }: CollectionPath): Query =>
      sql.compile(inDatabase(sql, projectId, databaseId).andWhere({ id }).update(raised()).returning('number')),
    /** The same by its number, in any database. */
    lockRelated: (number: number): Query =>
      sql.compile(knex(collections.name).where({ number }).update(raised()).returning(collections.select(sql))),
    /** Locks a collection by its number without raising its version. */
    lockByNumber: (number: number): Query =>
      sql.compile(knex(collections.name).where({ number }).forUpdate().select(collections.select(sql))),
    /** Locks the rows of collections in the order of their numbers, as every change of several does. */
    hold: (numbers: readonly number[]): Query =>
      sql.compile(
        knex(collections.name)
          .whereIn('number', [...numbers])
          .orderBy('number')
          .forUpdate()
          .select('number'),
      ),
    /** A number of collections of a project, or of one of its databases, with locked rows, because another unit may remove one. */
    some: (projectId: string, databaseId: string | undefined, limit: number): Query =>
      sql.compile(
        knex(collections.name)
          .where({ project_id: projectId, ...(databaseId === undefined ? {} : { database_id: databaseId }) })
          .orderBy('number')
          .limit(limit)
          .forUpdate()
          .select(collections.select(sql)),
      ),
    /** Databases are created one after the other, so that their number stays within its limit. */
    holdNumbers: (): Query =>
      sql.compile(knex('number_sequences').where({ name: 'collections' }).forUpdate().select('name')),
  };
}

/** Upgrades of collections, and builds of their indexes. */
function buildStatements(sql: Sql) {
  const { knex } = sql;
  const ofNumber = (number: number) => knex(collections.name).where({ number });
  return {
    /** Collections whose tables have an earlier layout, or do not record changes. */
    outdated: (layout: number): Query =>
      sql.compile(
        knex(collections.name)
          .where('layout', '<', layout)
          .orWhere(collections.encodeSome({ tracked: false }))
          .orderBy('number')
          .select('number'),
      ),
    /** Stores that the tables of a collection record changes, so that every process notices. */
    tracked: (number: number): Query =>
      sql.compile(
        ofNumber(number).update({ ...collections.encodeSome({ tracked: true }), version: knex.raw('version + 1') }),
      ),
    /** The last sequence of a collection whose readers are brought along. */
    upgradeReached: (number: number, sequence: number): Query =>
      sql.compile(ofNumber(number).update({ upgraded_to: sequence })),
    /** Stores the new layout of a collection and raises its version, so that every process notices. */
    upgraded: (number: number, layout: number): Query =>
      sql.compile(ofNumber(number).update({ layout, upgraded_to: null, version: knex.raw('version + 1') })),
    /** Stores the indexes of a collection after a step of building one. If the build is `over`, the version is raised, so that every process notices. */
    indexesBuilt: (number: number, indexes: readonly Index[], over: boolean): Query =>
      sql.compile(
        ofNumber(number).update({
          ...collections.encodeSome({ indexes }),
          ...(over ? { version: knex.raw('version + 1') } : {}),
        }),
      ),
    /** Collections with an index that is being built. The search text is unambiguous, because keys have no quotation marks. */
    withUnbuilt: (): Query =>
      sql.compile(knex(collections.name).whereLike('indexes', '%"builtTo":%').orderBy('number').select('number')),
  };
}

function sizeStatements(sql: Sql) {
  const { knex } = sql;
  return {
    countDocuments: (number: number): Query =>
      sql.compile(knex(documentTable(number)).select(knex.raw('count(*) as count'))),
    /** The same from counters that writes maintain, which collections of an earlier layout do not have. */
    countedDocuments: (number: number): Query =>
      sql.compile(knex(countsTable).where({ number }).select(knex.raw('coalesce(sum(documents), 0) as count'))),
    /** The bytes of a collection's tables in the database. */
    bytesOf: (number: number, fulltext: readonly number[]): Query => bytesOfCollection(sql, number, fulltext),
  };
}
