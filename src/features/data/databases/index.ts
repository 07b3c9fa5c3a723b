import { createCollectionDdl } from '#src/platform/db/collection-ddl.js';
import { createLinkDdl } from '#src/platform/db/link-tables.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import { createTableLocks } from '#src/platform/db/table-locks.js';
import { createTableRemoval } from '#src/platform/db/table-removal.js';
import type { Runtime } from '#src/platform/index.js';
import type { Lists } from '#src/platform/list-query/index.js';
import { attributeOperations } from './attributes/index.js';
import { createListing } from './listing/index.js';
import type { Databases } from './model/service.js';
import { createDatabaseStore } from './model/store.js';
import { databaseOperations, relationOperations } from './operations.js';
import { createRelations } from './relations/service.js';
import { createAttributes } from './service/attributes.js';
import { createCollectionService, type SchemaDeps } from './service/collections.js';
import { createDatabases } from './service/databases.js';
import { createWordBuilds } from './service/fulltext.js';
import { createIndexes } from './service/indexes.js';
import { createRemovedTables } from './service/removed-tables.js';
import { createUpgradeJob, type Reprint } from './service/upgrade.js';

export { databasesApi } from './api.js';
export { attributesApi, changedAttributesApi, newAttributesApi } from './attributes/api.js';
export type { AttributeSeal } from './encryption/index.js';
export {
  type AttributeType,
  attributeTypes,
  InvalidValue,
  int64,
  toStored,
  typeNames,
} from './model/attribute-types.js';
export type { Relation } from './model/relation.js';
export {
  decides,
  isFromOne,
  isToOne,
  otherSide,
  relationOf,
  shownAttributes,
  shownRelations,
  statedRelations,
} from './model/relation-sides.js';
export {
  type Attribute,
  type Collection,
  columnKind,
  currentLayout,
  fulltextIndexes,
  type Index,
  indexedColumns,
  indexProblem,
  isSystemField,
  quoted,
  type SystemField,
  systemFields,
} from './model/schema.js';
export type { CollectionSize, Databases } from './model/service.js';
export { collections } from './model/store.js';
export { relationsApi } from './relations/api.js';
export { indexNextWords } from './service/word-batch.js';
export { type CollectionStorage, storageOf, withUnbuiltWords } from './storage.js';

/** Databases, collections, attributes and indexes. */
export function createDatabasesFeature(
  runtime: Pick<Runtime, 'db' | 'sql' | 'random' | 'clock' | 'sealing'>,
  lists: Lists,
) {
  const { db, sql, random, sealing } = runtime;
  const deps = {
    store: createDatabaseStore(sql),
    ddl: createCollectionDdl(sql.dialect),
    links: createLinkDdl(sql.dialect),
    tables: createTableLocks(sql),
    removal: createTableRemoval(sql.dialect),
    random,
    sealing,
  };
  const databases = createService(deps);
  const listing = createListing(runtime, lists, databases);
  const builds = createWordBuilds(runtime, deps.store, databases);
  const removedTables = createRemovedTables(runtime, deps.removal);
  const empty = async (by: AuditContext, projectId: string, databaseId?: string): Promise<void> => {
    while ((await db.work(by, (unit) => databases.removeCollections(unit, projectId, databaseId))) > 0);
  };
  return {
    databases,
    /** Deletes all collections of a project, or of one of its databases, in several transactions. */
    empty,
    /** Removes the rows of large collections that were deleted, in several transactions. */
    removeTables: removedTables.remove,
    operations: [
      ...databaseOperations(runtime, { databases, listing, builds, empty }),
      ...attributeOperations(runtime, { databases, listing, builds }),
      ...relationOperations(runtime, databases),
    ],
    /** The jobs; `reprint` brings documents along. */
    jobs: (reprint: Reprint) => [createUpgradeJob(runtime, deps, reprint), builds.job, removedTables.job],
  };
}

function createService(deps: SchemaDeps): Databases {
  const databases = createDatabases(deps);
  const { rows, collections } = createCollectionService(deps, databases);
  return {
    ...databases,
    ...collections,
    ...createAttributes(deps, rows),
    ...createIndexes(deps, rows),
    ...createRelations(deps, rows, collections),
  };
}
