import { z } from 'zod';
import { declare, empty, json, serverKeys } from '#src/contract/declaration.js';
import { schemaLimits } from '#src/contract/limits.js';
import { permissionList } from '#src/contract/permissions.js';
import { customId, displayName, newId, required } from '#src/contract/shapes.js';
import { listParameters, searchParameter } from '#src/platform/list-query/api.js';
import { givenAttribute, givenErrors, givenIndex } from './attributes/given.js';
import { collectionShape, databaseShape } from './model/view.js';

/** Bodies use the configured size limit because default values may be as long as those of documents. */
const common = { tag: 'databases', limits: { calls: 'data', bodyBytes: 'setting' } } as const;
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
    access: serverKeys('databases.write'),
    input: { body: z.object({ databaseId: newId, name, enabled: z.boolean().default(true) }) },
    reply: { status: 201, shape: json(databaseShape), errors: ['database_already_exists', 'database_limit_exceeded'] },
  },
  list: {
    ...common,
    id: 'databases.list',
    method: 'GET',
    path: '/databases',
    summary: 'Lists the databases of the project.',
    access: serverKeys('databases.read'),
    input: { query: z.object({ ...listParameters, ...searchParameter }) },
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), databases: z.array(databaseShape) }).meta({ id: 'DatabaseList' })),
      bound: 'budget',
      errors: ['general_cursor_not_found'],
    },
  },
  get: {
    ...common,
    id: 'databases.get',
    method: 'GET',
    path: '/databases/:databaseId',
    summary: 'Reads a database.',
    access: serverKeys('databases.read'),
    input: { params: ofDatabase },
    reply: { status: 200, shape: json(databaseShape), errors: ['database_not_found'] },
  },
  update: {
    ...common,
    id: 'databases.update',
    method: 'PUT',
    path: '/databases/:databaseId',
    summary: 'Changes a database; a disabled one exists for server keys only.',
    access: serverKeys('databases.write'),
    input: { params: ofDatabase, body: z.object({ name: name.optional(), enabled: z.boolean().optional() }) },
    reply: { status: 200, shape: json(databaseShape), errors: ['database_not_found'] },
  },
  delete: {
    ...common,
    id: 'databases.delete',
    method: 'DELETE',
    path: '/databases/:databaseId',
    summary: 'Deletes a database with its collections and documents.',
    access: serverKeys('databases.write'),
    input: { params: ofDatabase },
    reply: { status: 204, shape: empty, errors: ['database_not_found'] },
  },
  createCollection: {
    ...common,
    id: 'databases.createCollection',
    method: 'POST',
    path: collections,
    summary: 'Creates a collection, with its first attributes and indexes where they are given.',
    access: serverKeys('collections.write'),
    input: {
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
    },
    reply: {
      status: 201,
      shape: json(collectionShape),
      errors: ['database_not_found', 'collection_already_exists', 'collection_limit_exceeded', ...givenErrors],
    },
  },
  listCollections: {
    ...common,
    id: 'databases.listCollections',
    method: 'GET',
    path: collections,
    summary: 'Lists the collections of a database.',
    access: serverKeys('collections.read'),
    input: { params: ofDatabase, query: z.object({ ...listParameters, ...searchParameter }) },
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), collections: z.array(collectionShape) }).meta({ id: 'CollectionList' })),
      bound: 'budget',
      errors: ['database_not_found', 'general_cursor_not_found'],
    },
  },
  getCollection: {
    ...common,
    id: 'databases.getCollection',
    method: 'GET',
    path: `${collections}/:collectionId`,
    summary: 'Reads a collection with its attributes and indexes.',
    access: serverKeys('collections.read'),
    input: { params: ofCollection },
    reply: { status: 200, shape: json(collectionShape), errors: ['database_not_found', 'collection_not_found'] },
  },
  updateCollection: {
    ...common,
    id: 'databases.updateCollection',
    method: 'PUT',
    path: `${collections}/:collectionId`,
    summary: 'Changes name, permissions, document security or whether the collection is enabled.',
    access: serverKeys('collections.write'),
    input: {
      params: ofCollection,
      body: z.object({
        name: name.optional(),
        permissions: permissionList.nullish().transform((list) => list ?? undefined),
        documentSecurity: z.boolean().optional(),
        enabled: z.boolean().optional(),
      }),
    },
    reply: { status: 200, shape: json(collectionShape), errors: ['database_not_found', 'collection_not_found'] },
  },
  deleteCollection: {
    ...common,
    id: 'databases.deleteCollection',
    method: 'DELETE',
    path: `${collections}/:collectionId`,
    summary: 'Deletes a collection with its documents.',
    access: serverKeys('collections.write'),
    input: { params: ofCollection },
    reply: { status: 204, shape: empty, errors: ['database_not_found', 'collection_not_found'] },
  },
});
