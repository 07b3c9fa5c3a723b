import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import { askedBy, type Lists } from '../../../platform/list-query/index.js';
import { databasesApi } from './api.js';
import { attributeOperations } from './attributes.js';
import { createListing } from './listing.js';
import { createDatabases } from './service.js';
import { toCollection, toDatabase } from './view.js';

export { databasesApi } from './api.js';
export { attributesApi } from './attribute-api.js';
export { type Attribute, type Collection, columnKind } from './schema.js';
export type { Databases } from './service.js';
export { InvalidValue, single, toStored } from './values.js';

/** Databases, collections, attributes and indexes. */
export function createDatabasesFeature(runtime: Pick<Runtime, 'db' | 'sql' | 'random'>, lists: Lists) {
  const { db } = runtime;
  const databases = createDatabases(runtime);
  const listing = createListing(runtime, lists, databases);
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
      const { total, databases: found } = await listing.databases(project, askedBy({ query, request }));
      return { total, databases: found.map(toDatabase) };
    },
    get: async ({ project, params }) => toDatabase(await databases.getDatabase(db, project.id, params.databaseId)),
    update: async (call) =>
      toDatabase(
        await db.work(auditContextOf(call), (unit) =>
          databases.updateDatabase(unit, call.project.id, call.params.databaseId, call.body),
        ),
      ),
    delete: (call) =>
      db.work(auditContextOf(call), (unit) => databases.removeDatabase(unit, call.project.id, call.params.databaseId)),
    createCollection: async (call) => {
      const { collectionId: id, ...rest } = call.body;
      return toCollection(
        await db.work(auditContextOf(call), (unit) =>
          databases.createCollection(unit, call.project.id, call.params.databaseId, { id, ...rest }),
        ),
      );
    },
    listCollections: async ({ project, params, query, request }) => {
      const asked = askedBy({ query, request });
      const { total, collections } = await listing.collections(project, params.databaseId, asked);
      return { total, collections: collections.map(toCollection) };
    },
    getCollection: async ({ project, params }) =>
      toCollection(await databases.getCollection(db, project.id, params.databaseId, params.collectionId)),
    updateCollection: async (call) => {
      const { databaseId, collectionId } = call.params;
      return toCollection(
        await db.work(auditContextOf(call), (unit) =>
          databases.updateCollection(unit, call.project.id, databaseId, collectionId, call.body),
        ),
      );
    },
    deleteCollection: (call) =>
      db.work(auditContextOf(call), (unit) =>
        databases.removeCollection(unit, call.project.id, call.params.databaseId, call.params.collectionId),
      ),
  });
  return { databases, operations: [...operations, ...attributeOperations(runtime, databases, listing)] };
}
