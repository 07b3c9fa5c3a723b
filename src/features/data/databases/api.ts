import { z } from 'zod';
import { schemaLimits } from '#src/contract/limits.js';
import { declare, empty, json } from '#src/contract/operation.js';
import { permissionList } from '#src/contract/permissions.js';
import { customId, displayName, newId, required } from '#src/contract/shapes.js';
import { listParameters, searchParameter } from '#src/platform/list-query/api.js';
import { givenAttribute, givenErrors, givenIndex } from './attributes/given.js';
import { collectionShape, databaseShape } from './model/view.js';

/** Bodies use the configured size limit because default values may be as long as those of documents. */
const common = { tag: 'databases', auth: ['key'], limit: 'data', bodyBytes: 'setting' } as const;
const name = required(displayName);
const ofDatabase = z.object({ databaseId: customId });
const ofCollection = z.object({ databaseId: customId, collectionId: customId });
const collections = '/databases/:databaseId/collections';

/** Databases and collections, for server keys. */
export const databasesApi = declare({
  create: {
    ...common,
    id: 'databases.create',
    method: 'POST',
    path: '/databases',
    summary: 'Creates a database.',
    scopes: ['databases.write'],
    body: z.object({ databaseId: newId, name, enabled: z.boolean().default(true) }),
    status: 201,
    reply: json(databaseShape),
    errors: ['database_already_exists', 'database_limit_exceeded'],
  },
  list: {
    ...common,
    id: 'databases.list',
    method: 'GET',
    path: '/databases',
    summary: 'Lists the databases of the project.',
    scopes: ['databases.read'],
    query: z.object({ ...listParameters, ...searchParameter }),
    status: 200,
    reply: json(z.object({ total: z.int(), databases: z.array(databaseShape) }).meta({ id: 'DatabaseList' })),
    bound: 'room',
    errors: ['general_cursor_not_found'],
  },
  get: {
    ...common,
    id: 'databases.get',
    method: 'GET',
    path: '/databases/:databaseId',
    summary: 'Reads a database.',
    scopes: ['databases.read'],
    params: ofDatabase,
    status: 200,
    reply: json(databaseShape),
    errors: ['database_not_found'],
  },
  update: {
    ...common,
    id: 'databases.update',
    method: 'PUT',
    path: '/databases/:databaseId',
    summary: 'Changes a database; a disabled one exists for server keys only.',
    scopes: ['databases.write'],
    params: ofDatabase,
    body: z.object({ name: name.optional(), enabled: z.boolean().optional() }),
    status: 200,
    reply: json(databaseShape),
    errors: ['database_not_found'],
  },
  delete: {
    ...common,
    id: 'databases.delete',
    method: 'DELETE',
    path: '/databases/:databaseId',
    summary: 'Deletes a database with its collections and documents.',
    scopes: ['databases.write'],
    params: ofDatabase,
    status: 204,
    reply: empty,
    errors: ['database_not_found'],
  },
  createCollection: {
    ...common,
    id: 'databases.createCollection',
    method: 'POST',
    path: collections,
    summary: 'Creates a collection, with its first attributes and indexes where they are given.',
    scopes: ['collections.write'],
    params: ofDatabase,
    body: z.object({
      collectionId: newId,
      name,
      permissions: permissionList.nullish().transform((list) => list ?? []),
      documentSecurity: z.boolean().default(false),
      enabled: z.boolean().default(true),
      attributes: z.array(givenAttribute).max(schemaLimits.attributesAtOnce).nullish(),
      indexes: z.array(givenIndex).max(schemaLimits.indexes).nullish(),
    }),
    status: 201,
    reply: json(collectionShape),
    errors: ['database_not_found', 'collection_already_exists', 'collection_limit_exceeded', ...givenErrors],
  },
  listCollections: {
    ...common,
    id: 'databases.listCollections',
    method: 'GET',
    path: collections,
    summary: 'Lists the collections of a database.',
    scopes: ['collections.read'],
    params: ofDatabase,
    query: z.object({ ...listParameters, ...searchParameter }),
    status: 200,
    reply: json(z.object({ total: z.int(), collections: z.array(collectionShape) }).meta({ id: 'CollectionList' })),
    bound: 'room',
    errors: ['database_not_found', 'general_cursor_not_found'],
  },
  getCollection: {
    ...common,
    id: 'databases.getCollection',
    method: 'GET',
    path: `${collections}/:collectionId`,
    summary: 'Reads a collection with its attributes and indexes.',
    scopes: ['collections.read'],
    params: ofCollection,
    status: 200,
    reply: json(collectionShape),
    errors: ['database_not_found', 'collection_not_found'],
  },
  updateCollection: {
    ...common,
    id: 'databases.updateCollection',
    method: 'PUT',
    path: `${collections}/:collectionId`,
    summary: 'Changes name, permissions, document security or whether the collection is enabled.',
    scopes: ['collections.write'],
    params: ofCollection,
    body: z.object({
      name: name.optional(),
      permissions: permissionList.nullish().transform((list) => list ?? undefined),
      documentSecurity: z.boolean().optional(),
      enabled: z.boolean().optional(),
    }),
    status: 200,
    reply: json(collectionShape),
    errors: ['database_not_found', 'collection_not_found'],
  },
  deleteCollection: {
    ...common,
    id: 'databases.deleteCollection',
    method: 'DELETE',
    path: `${collections}/:collectionId`,
    summary: 'Deletes a collection with its documents.',
    scopes: ['collections.write'],
    params: ofCollection,
    status: 204,
    reply: empty,
    errors: ['database_not_found', 'collection_not_found'],
  },
});
