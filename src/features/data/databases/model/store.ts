import { countsTable, documentTable } from '#src/platform/db/collection-tables.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bytesOfCollection } from '#src/platform/db/sizes.js';
import { bigint, bool, instant, integer, jsonText, nullable, table, text } from '#src/platform/db/table.js';
import { forUpdate, raw } from '#src/platform/db/template.js';
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
  const isOne = (projectId: string, id: string) => sql`project_id = ${projectId} and id = ${id}`;
  return {
    find: (projectId: string, id: string) => sql`select ${databases.row} from databases where ${isOne(projectId, id)}`,
    rows: (projectId: string) => ({ from: raw('databases'), where: sql`project_id = ${projectId}` }),
    countDatabases: (projectId: string) => sql`select count(*) as count from databases where project_id = ${projectId}`,
    insert: (row: DatabaseRow) => sql`${databases.insert(row)} on conflict do nothing returning id`,
    update: (projectId: string, id: string, change: Partial<DatabaseRow>) =>
      sql`update databases set ${databases.set(change)} where ${isOne(projectId, id)}`,
    /** Locks the database until the end of the unit, so that no collection is created in it. */
    lock: (projectId: string, id: string) => sql`select id from databases where ${isOne(projectId, id)}${forUpdate}`,
    remove: (projectId: string, id: string) => sql`delete from databases where ${isOne(projectId, id)}`,
  };
}

function collectionStatements(sql: Sql) {
  return {
    /** A collection with the state of its database, and the data key of its project. */
    findCollection: ({ projectId, databaseId, collectionId }: CollectionPath) => sql`
      select databases.enabled as "databaseEnabled", projects.data_key as "dataKey", ${collections.row} from collections
      join databases on databases.project_id = collections.project_id and databases.id = collections.database_id
      join projects on projects.id = collections.project_id
      where collections.project_id = ${projectId} and collections.database_id = ${databaseId}
        and collections.id = ${collectionId}`,
    allCollections: (projectId: string) =>
      sql`select ${collections.row} from collections where project_id = ${projectId} order by database_id, id`,
    attributeBytes: (projectId: string) =>
      sql`select sum(length(attributes)) as bytes from collections where project_id = ${projectId}`,
    collectionRows: (projectId: string, databaseId: string) => ({
      from: raw('collections'),
      where: isInDatabase(projectId, databaseId),
    }),
    countCollections: (projectId: string) =>
      sql`select count(*) as count from collections where project_id = ${projectId}`,
    nextNumber: () => sql`update number_sequences set last = last + 1 where name = 'collections' returning last`,
    insertCollection: (row: Collection) => sql`${collections.insert(row)} on conflict do nothing returning id`,
    updateCollection: (number: number, change: Partial<Collection>) =>
      sql`update collections set ${collections.set(change)} where number = ${number}`,
    removeCollection: (number: number) => sql`delete from collections where number = ${number}`,
  };
}

const isInDatabase = (projectId: string, databaseId: string) =>
  raw('project_id = ? and database_id = ?', [projectId, databaseId]);

/** A raised version makes every process read the collection again. */
const raised = raw('version = version + 1');

/** Locks until the end of the unit. */
function lockStatements(sql: Sql) {
  return {
    /** Raises the versions of the collections, so that every process reads the changed database. */
    touchCollections: (projectId: string, databaseId: string) =>
      sql`update collections set ${raised} where ${isInDatabase(projectId, databaseId)}`,
    /** Locks the row of a collection, so that changes of a schema follow one another. */
    lockCollection: ({ projectId, databaseId, collectionId }: CollectionPath) => sql`
      update collections set ${raised} where ${isInDatabase(projectId, databaseId)} and id = ${collectionId}
      returning number`,
    /** The same by its number, in any database. */
    lockRelated: (number: number) =>
      sql`update collections set ${raised} where number = ${number} returning ${collections.row}`,
    /** Locks a collection by its number without raising its version. */
    lockByNumber: (number: number) =>
      sql`select ${collections.row} from collections where number = ${number}${forUpdate}`,
    /** Locks the rows of collections in the order of their numbers, as every change of several does. */
    hold: (numbers: readonly number[]) => {
      const places = raw(numbers.map(() => '?').join(', '), numbers);
      return sql`select number from collections where number in (${places}) order by number${forUpdate}`;
    },
    /** A number of collections of a project, or of one of its databases, with locked rows, because another unit may remove one. */
    some: (projectId: string, databaseId: string | undefined, limit: number) => sql`
      select ${collections.row} from collections
      where project_id = ${projectId} ${databaseId !== undefined && sql`and database_id = ${databaseId}`}
      order by number limit ${limit}${forUpdate}`,
    /** Databases are created one after the other, so that their number stays within its limit. */
    holdNumbers: () => sql`select name from number_sequences where name = 'collections'${forUpdate}`,
  };
}

/** Upgrades of collections, and builds of their indexes. */
function buildStatements(sql: Sql) {
  return {
    /** Collections whose tables have an earlier layout, or do not record changes. */
    outdated: (layout: number) =>
      sql`select number from collections where layout < ${layout} or tracked = 0 order by number`,
    /** Stores that the tables of a collection record changes, so that every process notices. */
    tracked: (number: number) => sql`update collections set tracked = 1, ${raised} where number = ${number}`,
    /** The last sequence of a collection whose readers are brought along. */
    upgradeReached: (number: number, sequence: number) =>
      sql`update collections set upgraded_to = ${sequence} where number = ${number}`,
    /** Stores the new layout of a collection and raises its version, so that every process notices. */
    upgraded: (number: number, layout: number) =>
      sql`update collections set layout = ${layout}, upgraded_to = null, ${raised} where number = ${number}`,
    /** Stores the indexes of a collection after a step of building one. If the build is `over`, the version is raised, so that every process notices. */
    indexesBuilt: (number: number, indexes: readonly Index[], over: boolean) => sql`
      update collections set ${collections.set({ indexes })}${over && sql`, ${raised}`} where number = ${number}`,
    /** Collections with an index that is being built. The search text is unambiguous, because keys have no quotation marks. */
    withUnbuilt: () => sql`select number from collections where indexes like '%"builtTo":%' order by number`,
  };
}

function sizeStatements(sql: Sql) {
  return {
    countDocuments: (number: number) => sql`select count(*) as count from ${raw(documentTable(number))}`,
    /** The same from counters that writes maintain, which collections of an earlier layout do not have. */
    countedDocuments: (number: number) =>
      sql`select coalesce(sum(documents), 0) as count from ${raw(countsTable)} where number = ${number}`,
    /** The bytes of a collection's tables in the database. */
    bytesOf: (number: number, fulltext: readonly number[]): Query => bytesOfCollection(sql, number, fulltext),
  };
}
