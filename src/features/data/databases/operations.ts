import { auditContextOf, implement } from '#src/contract/operation.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import { listRequestOf } from '#src/platform/list-query/index.js';
import { databasesApi } from './api.js';
import { addGiven, givenSchema } from './attributes/given.js';
import type { Listing } from './listing/index.js';
import { fulltextIndexes, pathOf } from './model/schema.js';
import type { Databases } from './model/service.js';
import { toAttribute, toCollection, toDatabase } from './model/view.js';
import { relationsApi } from './relations/api.js';
import { draftOf } from './relations/service.js';
import type { WordBuilds } from './service/fulltext.js';

interface Deps {
  readonly databases: Databases;
  readonly listing: Listing;
  readonly builds: WordBuilds;
  /** Deletes all collections of a database, in several transactions. */
  readonly empty: (by: AuditContext, projectId: string, databaseId: string) => Promise<void>;
}

/** Binds the operations on databases and collections. */
export function databaseOperations({ db }: Pick<Runtime, 'db'>, { databases, listing, builds, empty }: Deps) {
  return implement(databasesApi, {
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
}

/** Binds the operations on relationships. */
export function relationOperations({ db }: Pick<Runtime, 'db'>, databases: Databases) {
  return implement(relationsApi, {
    create: async (call) => {
      const draft = draftOf(call.params.collectionId, call.body);
      return toAttribute(
        await db.work(auditContextOf(call), (unit) => databases.createRelation(unit, pathOf(call), draft)),
      );
    },
    update: async (call) =>
      toAttribute(
        await db.work(auditContextOf(call), (unit) =>
          databases.updateRelation(unit, pathOf(call), call.params.key, call.body),
        ),
      ),
  });
}
