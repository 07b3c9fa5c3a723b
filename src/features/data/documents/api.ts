import { z } from 'zod';
import { bodySizes } from '#src/contract/limits.js';
import { declare, empty, json, rawJson } from '#src/contract/operation.js';
import { permissionList } from '#src/contract/permissions.js';
import { customId, newId, wireInstant } from '#src/contract/shapes.js';
import type { DocumentPage, StoredDocument } from './document.js';

const documents = '/databases/:databaseId/collections/:collectionId/documents';
const common = {
  tag: 'databases',
  auth: ['guest', 'user', 'key'],
  limit: 'data',
  bodyBytes: bodySizes.documents,
} as const;
const read = { ...common, method: 'GET', scopes: ['documents.read'], status: 200 } as const;
const write = { ...common, scopes: ['documents.write'] } as const;
const ofCollection = z.object({ databaseId: customId, collectionId: customId });
const ofDocument = ofCollection.extend({ documentId: customId });
const absent = ['database_not_found', 'collection_not_found'] as const;

const data = z.record(z.string(), z.unknown());
const queries = z
  .array(z.string())
  .default([])
  .meta({ description: 'Queries, each a JSON object with method, attribute and values' });
const permissions = permissionList.nullish().transform((list) => list ?? undefined);

/** A document: what every one has, and the attributes of its collection beside it. */
const documentShape = z
  .looseObject({
    $id: z.string(),
    $sequence: z.string(),
    $collectionId: z.string(),
    $databaseId: z.string(),
    $createdAt: wireInstant,
    $updatedAt: wireInstant,
    $permissions: z.array(z.string()),
  })
  .meta({ id: 'Document' });

/** Documents of collections. */
export const documentsApi = declare({
  create: {
    ...write,
    id: 'documents.create',
    method: 'POST',
    path: documents,
    summary: 'Creates a document.',
    params: ofCollection,
    body: z.object({ documentId: newId, data: data.nullish(), permissions }),
    status: 201,
    reply: rawJson(documentShape),
    errors: [
      ...absent,
      'document_already_exists',
      'document_invalid_structure',
      'document_missing_data',
      'document_unique_constraint_violation',
      'user_unauthorized',
    ],
  },
  list: {
    ...read,
    id: 'documents.list',
    path: documents,
    summary: 'Lists documents.',
    params: ofCollection,
    query: z.object({
      queries,
      total: z
        .enum(['true', 'false', 'exact'])
        .default('true')
        .meta({ description: 'false: do not count; exact: count without a limit' }),
    }),
    reply: rawJson(z.object({ total: z.int(), documents: z.array(documentShape) }).meta({ id: 'DocumentList' })),
    bound: 'room',
    errors: [...absent, 'general_query_invalid', 'general_cursor_not_found', 'user_unauthorized'],
  },
  get: {
    ...read,
    id: 'documents.get',
    path: `${documents}/:documentId`,
    summary: 'Reads a document.',
    params: ofDocument,
    query: z.object({ queries }),
    reply: rawJson(documentShape),
    bound: 'room',
    errors: [...absent, 'document_not_found', 'general_query_invalid'],
  },
  update: {
    ...write,
    id: 'documents.update',
    method: 'PATCH',
    path: `${documents}/:documentId`,
    summary: 'Changes attributes or permissions of a document; what is not given stays.',
    params: ofDocument,
    body: z.object({ data: data.nullish().transform((value) => value ?? undefined), permissions }),
    status: 200,
    reply: rawJson(documentShape),
    errors: [
      ...absent,
      'document_not_found',
      'document_invalid_structure',
      'document_missing_payload',
      'document_unique_constraint_violation',
      'user_unauthorized',
    ],
  },
  delete: {
    ...write,
    id: 'documents.delete',
    method: 'DELETE',
    path: `${documents}/:documentId`,
    summary: 'Deletes a document.',
    params: ofDocument,
    status: 204,
    reply: empty,
    errors: [...absent, 'document_not_found', 'user_unauthorized'],
  },
});

/** The same operations for callers within the process: they reply with values, and have no routes. */
export const documentValuesApi = declare({
  create: { ...documentsApi.create, reply: json(z.custom<StoredDocument>()) },
  list: { ...documentsApi.list, reply: json(z.custom<DocumentPage>()) },
  get: { ...documentsApi.get, reply: json(z.custom<StoredDocument>()) },
  update: { ...documentsApi.update, reply: json(z.custom<StoredDocument>()) },
  delete: { ...documentsApi.delete, reply: json(z.custom<StoredDocument>()) },
});
