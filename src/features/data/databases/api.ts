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
const read = { ...common, method: 'GET', access: serverKeys('databases.read') } as const;
const write = { ...common, access: serverKeys('databases.write') } as const;
const readCollection = { ...common, method: 'GET', access: serverKeys('collections.read') } as const;
const writeCollection = { ...common, access: serverKeys('collections.write') } as const;
const name = required(displayName);
const ofDatabase = z.object({ databaseId: customId });
const ofCollection = z.object({ databaseId: customId, collectionId: customId });
const collections = '/databases/:databaseId/collections';

/** Databases and collections, for server keys. */
export const databasesApi = declare({
  create: {
    ...write,
    id: 'databases.create',
    method: 'POST',
    path: '/databases',
    summary: 'Creates a database.',
    input: { body: z.object({ databaseId: newId, name, enabled: z.boolean().default(true) }) },
    reply: { status: 201, shape: json(databaseShape), errors: ['database_already_exists', 'database_limit_exceeded'] },
  },
  list: {
    ...read,
    id: 'databases.list',
    path: '/databases',
    summary: 'Lists the databases of the project.',
    input: { query: z.object({ ...listParameters, ...searchParameter }) },
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), databases: z.array(databaseShape) }).meta({ id: 'DatabaseList' })),
      bound: 'budget',
      errors: ['general_cursor_not_found'],
    },
  },
  get: {
    ...read,
    id: 'databases.get',
    path: '/databases/:databaseId',
    summary: 'Reads a database.',
    input: { params: ofDatabase },
    reply: { status: 200, shape: json(databaseShape), errors: ['database_not_found'] },
  },
  update: {
    ...write,
    id: 'databases.update',
    method: 'PUT',
    path: '/databases/:databaseId',
    summary: 'Changes a database; a disabled one exists for server keys only.',
    input: { params: ofDatabase, body: z.object({ name: name.optional(), enabled: z.boolean().optional() }) },
    reply: { status: 200, shape: json(databaseShape), errors: ['database_not_found'] },
  },
  delete: {
    ...write,
    id: 'databases.delete',
    method: 'DELETE',
    path: '/databases/:databaseId',
    summary: 'Deletes a database with its collections and documents.',
    input: { params: ofDatabase },
    reply: { status: 204, shape: empty, errors: ['database_not_found'] },
  },
  createCollection: {
    ...writeCollection,
    id: 'databases.createCollection',
    method: 'POST',
    path: collections,
    summary: 'Creates a collection, with its first attributes and indexes where they are given.',
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
    ...readCollection,
    id: 'databases.listCollections',
    path: collections,
    summary: 'Lists the collections of a database.',
    input: { params: ofDatabase, query: z.object({ ...listParameters, ...searchParameter }) },
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), collections: z.array(collectionShape) }).meta({ id: 'CollectionList' })),
      bound: 'budget',
      errors: ['database_not_found', 'general_cursor_not_found'],
    },
  },
  getCollection: {
    ...readCollection,
    id: 'databases.getCollection',
    path: `${collections}/:collectionId`,
    summary: 'Reads a collection with its attributes and indexes.',
    input: { params: ofCollection },
    reply: { status: 200, shape: json(collectionShape), errors: ['database_not_found', 'collection_not_found'] },
  },
  updateCollection: {
    ...writeCollection,
    id: 'databases.updateCollection',
    method: 'PUT',
    path: `${collections}/:collectionId`,
    summary: 'Changes name, permissions, document security or whether the collection is enabled.',
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
    ...writeCollection,
    id: 'databases.deleteCollection',
    method: 'DELETE',
    path: `${collections}/:collectionId`,
    summary: 'Deletes a collection with its documents.',
    input: { params: ofCollection },
    reply: { status: 204, shape: empty, errors: ['database_not_found', 'collection_not_found'] },
  },
});
