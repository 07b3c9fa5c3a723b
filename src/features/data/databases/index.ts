import { auditContextOf, implement } from '#src/contract/operation.js';
import { createCollectionDdl } from '#src/platform/db/collection-ddl.js';
import { createLinkDdl } from '#src/platform/db/link-tables.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import { createTableLocks } from '#src/platform/db/table-locks.js';
import type { Runtime } from '#src/platform/index.js';
import { type Lists, listRequestOf } from '#src/platform/list-query/index.js';
import { databasesApi } from './api.js';
import { addGiven, givenSchema } from './attributes/given.js';
import { attributeOperations } from './attributes/index.js';
import { createListing } from './listing/index.js';
import { relationOperations } from './relations/index.js';
import { createRelations } from './relations/service.js';
import { fulltextIndexes, pathOf } from './schema.js';
import { createAttributes } from './service/attributes.js';
import { createCollections, type SchemaDeps } from './service/collections.js';
import { createDatabases } from './service/databases.js';
import { createWordBuilds } from './service/fulltext.js';
import { createIndexes } from './service/indexes.js';
import { createUpgrade, type Reprint } from './service/upgrade.js';
import type { Databases } from './service.js';
import { createDatabaseStore } from './store.js';
import { toCollection, toDatabase } from './view.js';

export { databasesApi } from './api.js';
export { type AttributeType, attributeTypes, InvalidValue, toStored, typeNames } from './attribute-types.js';
export { attributesApi, newAttributesApi } from './attributes/api.js';
export { relationsApi } from './relations/api.js';
export type { Relation } from './relations/model.js';
export {
  decides,
  isFromOne,
  isToOne,
  otherSide,
  relationOf,
  shownAttributes,
  shownRelations,
} from './relations/relation.js';
export {
  type Attribute,
  type Collection,
  columnKind,
  currentLayout,
  fulltextIndexes,
  type Index,
  indexProblem,
  quoted,
} from './schema.js';
export type { CollectionSize, Databases } from './service.js';
export { collections } from './store.js';

/** Databases, collections, attributes and indexes. */
export function createDatabasesFeature(runtime: Pick<Runtime, 'db' | 'sql' | 'random' | 'clock'>, lists: Lists) {
  const { db, sql, random } = runtime;
  const deps = {
    store: createDatabaseStore(sql),
    ddl: createCollectionDdl(sql.dialect),
    links: createLinkDdl(sql.dialect),
    tables: createTableLocks(sql),
    random,
  };
  const databases = createService(deps);
  const listing = createListing(runtime, lists, databases);
  const builds = createWordBuilds(runtime, deps.store, databases);
  const empty = async (by: AuditContext, projectId: string, databaseId?: string): Promise<void> => {
    while ((await db.work(by, (unit) => databases.removeCollections(unit, projectId, databaseId))) > 0);
  };
  const operations = implement(databasesApi, {
    create: async (call) => {
      const { databaseId: id, name, enabled } = call.body;
      return toDatabase(
        await db.work(auditContextOf(call), (unit) =>
          databases.createDatabase(unit, call.project.id, { id, name, enabled }),
        ),
      );
    },
    list: async ({ project, query, request }) => {
      const { total, databases: found } = await listing.databases(project, listRequestOf({ query, request }));
      return { total, databases: found.map(toDatabase) };
    },
    get: async ({ project, params }) => toDatabase(await databases.getDatabase(db, project.id, params.databaseId)),
    update: async (call) =>
      toDatabase(
        await db.work(auditContextOf(call), (unit) =>
          databases.updateDatabase(unit, call.project.id, call.params.databaseId, call.body),
        ),
      ),
    delete: async (call) => {
      const by = auditContextOf(call);
      await empty(by, call.project.id, call.params.databaseId);
      await db.work(by, (unit) => databases.removeDatabase(unit, call.project.id, call.params.databaseId));
    },
    createCollection: async (call) => {
      const { collectionId, attributes, indexes, ...draft } = call.body;
      const schema = await givenSchema(call.actor, { attributes, indexes });
      const path = { projectId: call.project.id, databaseId: call.params.databaseId, collectionId };
      const created = await db.work(auditContextOf(call), async (unit) => {
        const { id } = await databases.createCollection(unit, path, draft);
        await addGiven(unit, databases, { ...path, collectionId: id }, schema);
        return databases.getCollection(unit, { ...path, collectionId: id });
      });
      const fulltext = fulltextIndexes(created);
      const own = { ...path, collectionId: created.id };
      for (const { index } of fulltext) await builds.begin(own, index.key);
      return toCollection(fulltext.length === 0 ? created : await databases.getCollection(db, own));
    },
    listCollections: async ({ project, params, query, request }) => {
      const listRequest = listRequestOf({ query, request });
      const { total, collections } = await listing.collections(project, params.databaseId, listRequest);
      return { total, collections: collections.map(toCollection) };
    },
    getCollection: async (call) => toCollection(await databases.getCollection(db, pathOf(call))),
    updateCollection: async (call) =>
      toCollection(
        await db.work(auditContextOf(call), (unit) => databases.updateCollection(unit, pathOf(call), call.body)),
      ),
    deleteCollection: (call) => db.work(auditContextOf(call), (unit) => databases.removeCollection(unit, pathOf(call))),
  });
  return {
    databases,
    /** Deletes all collections of a project, or of one of its databases, in several transactions. */
    empty,
    operations: [
      ...operations,
      ...attributeOperations(runtime, { databases, listing, builds }),
      ...relationOperations(runtime, databases),
    ],
    /** The jobs; `reprint` brings documents along. */
    jobs: (reprint: Reprint) => [createUpgrade(runtime, deps, reprint), builds.job],
  };
}

function createService(deps: SchemaDeps): Databases {
  const databases = createDatabases(deps);
  const { rows, collections } = createCollections(deps, databases);
  return {
    ...databases,
    ...collections,
    ...createAttributes(deps, rows),
    ...createIndexes(deps, rows),
    ...createRelations(deps, rows, collections),
  };
}
