import { by, implement } from '#src/contract/operation.js';
import type { Platform } from '#src/platform/index.js';
import { databasesApi } from './api.js';
import { attributeOperations } from './attributes.js';
import { createDatabases } from './service.js';
import { toCollection, toDatabase } from './view.js';

export { databasesApi } from './api.js';
export { attributesApi } from './attribute-api.js';
export { type Attribute, type Collection, columnKind } from './schema.js';
export type { Databases } from './service.js';
export { Misfit, single, toStored } from './values.js';

/** Databases, collections, attributes and indexes. */
export function createDatabasesFeature(platform: Pick<Platform, 'db' | 'sql' | 'random'>) {
  const { db } = platform;
  const databases = createDatabases(platform);
  const operations = implement(databasesApi, {
    create: async (call) => {
      const { databaseId: id, name, enabled } = call.body;
      return toDatabase(
        await db.work(by(call), (unit) => databases.createDatabase(unit, call.project.id, { id, name, enabled })),
      );
    },
    list: async ({ project }) => {
      const found = await databases.listDatabases(db, project.id);
      return { total: found.length, databases: found.map(toDatabase) };
    },
    get: async ({ project, params }) => toDatabase(await databases.getDatabase(db, project.id, params.databaseId)),
    update: async (call) =>
      toDatabase(
        await db.work(by(call), (unit) =>
          databases.updateDatabase(unit, call.project.id, call.params.databaseId, call.body),
        ),
      ),
    delete: (call) =>
      db.work(by(call), (unit) => databases.removeDatabase(unit, call.project.id, call.params.databaseId)),
    createCollection: async (call) => {
      const { collectionId: id, ...rest } = call.body;
      return toCollection(
        await db.work(by(call), (unit) =>
          databases.createCollection(unit, call.project.id, call.params.databaseId, { id, ...rest }),
        ),
      );
    },
    listCollections: async ({ project, params }) => {
      const found = await databases.listCollections(db, project.id, params.databaseId);
      return { total: found.length, collections: found.map(toCollection) };
    },
    getCollection: async ({ project, params }) =>
      toCollection(await databases.getCollection(db, project.id, params.databaseId, params.collectionId)),
    updateCollection: async (call) => {
      const { databaseId, collectionId } = call.params;
      return toCollection(
        await db.work(by(call), (unit) =>
          databases.updateCollection(unit, call.project.id, databaseId, collectionId, call.body),
        ),
      );
    },
    deleteCollection: (call) =>
      db.work(by(call), (unit) =>
        databases.removeCollection(unit, call.project.id, call.params.databaseId, call.params.collectionId),
      ),
  });
  return { databases, operations: [...operations, ...attributeOperations(platform, databases)] };
}
