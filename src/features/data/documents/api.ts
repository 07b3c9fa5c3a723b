import { z } from 'zod';
import { anyone, declare, empty, json, rawJson, serverKeys } from '#src/contract/declaration.js';
import type { ErrorType } from '#src/contract/errors.js';
import { bodySizes, bulkLimits, queryBounds } from '#src/contract/limits.js';
import { permissionList } from '#src/contract/permissions.js';
import { customId, newId, uniqueId, wireInstant } from '#src/contract/shapes.js';
import { isTrue, truthWords } from '#src/platform/list-query/api.js';
import type { DocumentPage, StoredDocument } from './model/document.js';

const documents = '/databases/:databaseId/collections/:collectionId/documents';
const common = { tag: 'databases', limits: { calls: 'data', bodyBytes: bodySizes.documents } } as const;
const read = { ...common, method: 'GET', access: anyone('documents.read') } as const;
/**
 * Rejects members of the query string that belong in the body. They would be ignored, and the change would be made at once or to all
 * documents.
 */
const inBody = (...names: string[]) =>
  z
    .looseObject({})
    .refine((query) => !names.some((name) => name in query), `${names.join(' and ')} belong into the body`);
const write = {
  ...common,
  idempotent: true,
  access: anyone('documents.write'),
  input: { query: inBody('transactionId') },
} as const;
/** Changes of one document. */
const change = { ...write, conditional: true } as const;
const ofCollection = z.object({ databaseId: customId, collectionId: customId });
const ofDocument = ofCollection.extend({ documentId: customId });
const ofAttribute = ofDocument.extend({ attribute: customId });
const absent = [
  'database_not_found',
  'collection_not_found',
  'transaction_conflict',
  'transaction_expired',
  'transaction_limit_exceeded',
  'transaction_not_found',
  'transaction_not_ready',
] as const;
const inTransaction = {
  transactionId: customId.nullish().meta({ description: 'The transaction that the request is a part of' }),
};

const data = z.record(z.string(), z.unknown());
const number = z.union([z.number(), z.bigint()]);
/** Errors of written values. */
const valueErrors = [...absent, 'document_invalid_structure', 'document_unique_constraint_violation'] as const;
/** Errors of one written document. */
const documentErrors = [
  ...valueErrors,
  'document_already_exists',
  'relationship_value_invalid',
  'user_unauthorized',
] as const;
const queryErrors = ['general_query_invalid', 'general_query_limit_exceeded'] as const;
const step = { value: number.refine((value) => value > 0, 'must be more than 0').default(1) };
const queries = z
  .array(z.string())
  .default([])
  .meta({ description: 'Queries, each a JSON object with method, attribute and values' });
const populate = z
  .array(z.string().max(queryBounds.characters))
  .default([])
  .meta({ description: 'Relationships of which the documents are returned, such as `author` or `author.books`' });
const permissions = permissionList.nullish().transform((list) => list ?? undefined);

/** A document on the wire: the members of every document, and the attributes of its collection. */
export const documentShape = z
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

/** Common members of the operations that add to or subtract from a number. */
const increment = {
  ...change,
  method: 'PATCH',
  input: { ...change.input, params: ofAttribute },
  reply: {
    status: 200,
    shape: rawJson(documentShape),
    errors: [
      ...absent,
      'attribute_limit_exceeded',
      'attribute_not_found',
      'attribute_type_invalid',
      // A number of more digits makes the document longer.
      'document_invalid_structure',
      'document_not_found',
      'document_unique_constraint_violation',
      'user_unauthorized',
    ],
  },
} as const;
const documentList = z.object({ total: z.int(), documents: z.array(documentShape) }).meta({ id: 'DocumentList' });
const newDocument = z.object({ documentId: newId, data: data.nullish(), permissions, ...inTransaction });
const changed = { data: data.nullish().transform((value) => value ?? undefined), permissions };
const givenDocuments = z
  .array(
    z
      .looseObject({ $id: newId.default(uniqueId), $permissions: permissions })
      .transform(({ $id: id, $permissions, ...rest }) => ({ id, data: rest, permissions: $permissions })),
  )
  .min(1)
  .max(bulkLimits.given)
  .meta({ description: 'Documents, each with $id, $permissions and its attributes; for server keys' });
const matching = z
  .array(z.string().max(queryBounds.characters))
  .max(queryBounds.queries)
  .default([])
  .meta({ description: 'Queries of the documents; all of them where there is none' });
/**
 * Accepts other members, which are ignored, except lists: a mistyped `queries` would match all documents. Empty lists are allowed because
 * PHP prints an empty object as an empty list.
 */
const otherMember = z
  .unknown()
  .refine((value) => !Array.isArray(value) || value.length === 0, 'is unknown. The list of this body is `queries`');
const echoed = { entries: 1, bytes: bulkLimits.bytes * 2 } as const;
const bulk = {
  ...write,
  path: documents,
  access: serverKeys('documents.write'),
  input: { params: ofCollection, query: inBody('transactionId', 'queries', 'query') },
  reply: { status: 200, shape: rawJson(documentList), bound: echoed },
} as const;

/** Documents of collections. */
export const documentsApi = declare({
  create: {
    ...write,
    id: 'documents.create',
    method: 'POST',
    path: documents,
    summary: 'Creates a document; a server key can create several.',
    input: {
      ...write.input,
      params: ofCollection,
      body: newDocument.partial({ documentId: true }).extend({ documents: givenDocuments.optional() }),
    },
    reply: {
      status: 201,
      shape: rawJson(z.union([documentShape, documentList])),
      bound: echoed,
      // An operator in a nested document can exceed its bounds.
      errors: [...documentErrors, 'attribute_limit_exceeded', 'document_missing_data', 'general_bad_request'],
    },
  },
  list: {
    ...read,
    id: 'documents.list',
    path: documents,
    summary: 'Lists documents.',
    input: {
      params: ofCollection,
      query: z.object({
        queries,
        populate,
        total: z
          .enum([...truthWords, 'exact'])
          .default('true')
          .transform((word) => (word === 'exact' ? word : isTrue(word)))
          .meta({ description: 'false: do not count; exact: count without a limit' }),
        ...inTransaction,
      }),
    },
    reply: {
      status: 200,
      shape: rawJson(documentList),
      bound: 'budget',
      errors: [...absent, ...queryErrors, 'general_cursor_not_found', 'user_unauthorized'],
    },
  },
  get: {
    ...read,
    id: 'documents.get',
    path: `${documents}/:documentId`,
    summary: 'Reads a document.',
    input: { params: ofDocument, query: z.object({ queries, populate, ...inTransaction }) },
    reply: {
      status: 200,
      shape: rawJson(documentShape),
      bound: 'budget',
      errors: [...absent, ...queryErrors, 'document_not_found'],
    },
  },
  update: {
    ...change,
    id: 'documents.update',
    method: 'PATCH',
    path: `${documents}/:documentId`,
    summary: 'Changes attributes or permissions of a document; what is not given stays.',
    input: { ...change.input, params: ofDocument, body: z.object({ ...changed, ...inTransaction }) },
    reply: {
      status: 200,
      shape: rawJson(documentShape),
      errors: [...documentErrors, 'attribute_limit_exceeded', 'document_missing_payload', 'document_not_found'],
    },
  },
  upsert: {
    ...change,
    id: 'documents.upsert',
    method: 'PUT',
    path: `${documents}/:documentId`,
    summary: 'Creates a document, or changes the one that is there; what is not given stays.',
    input: { ...change.input, params: ofDocument, body: z.object({ ...changed, ...inTransaction }) },
    reply: { status: 200, shape: rawJson(documentShape), errors: [...documentErrors, 'attribute_limit_exceeded'] },
  },
  updateAll: {
    ...bulk,
    id: 'documents.updateAll',
    method: 'PATCH',
    summary: 'Changes the documents that match queries, all or none.',
    input: {
      ...bulk.input,
      body: z
        .object({ data: z.looseObject({ $permissions: permissions }), queries: matching, ...inTransaction })
        .catchall(otherMember),
    },
    reply: {
      ...bulk.reply,
      errors: [
        ...valueErrors,
        ...queryErrors,
        'attribute_limit_exceeded',
        'document_missing_payload',
        'general_bad_request',
      ],
    },
  },
  upsertAll: {
    ...bulk,
    id: 'documents.upsertAll',
    method: 'PUT',
    summary: 'Creates several documents, or changes those that are there, all or none.',
    input: { ...bulk.input, body: z.object({ documents: givenDocuments, ...inTransaction }) },
    reply: {
      ...bulk.reply,
      errors: [...valueErrors, 'attribute_limit_exceeded', 'document_already_exists', 'general_bad_request'],
    },
  },
  deleteAll: {
    ...bulk,
    id: 'documents.deleteAll',
    method: 'DELETE',
    summary: 'Deletes the documents that match queries, all or none.',
    input: { ...bulk.input, body: z.object({ queries: matching, ...inTransaction }).catchall(otherMember) },
    reply: { ...bulk.reply, errors: [...absent, ...queryErrors, 'general_bad_request'] },
  },
  increment: {
    ...increment,
    id: 'documents.increment',
    path: `${documents}/:documentId/:attribute/increment`,
    summary: 'Adds to a number of a document.',
    input: { ...increment.input, body: z.object({ ...step, max: number.nullish(), ...inTransaction }) },
  },
  decrement: {
    ...increment,
    id: 'documents.decrement',
    path: `${documents}/:documentId/:attribute/decrement`,
    summary: 'Subtracts from a number of a document.',
    input: { ...increment.input, body: z.object({ ...step, min: number.nullish(), ...inTransaction }) },
  },
  delete: {
    ...change,
    id: 'documents.delete',
    method: 'DELETE',
    path: `${documents}/:documentId`,
    summary: 'Deletes a document.',
    input: { ...change.input, params: ofDocument, body: z.object(inTransaction) },
    reply: {
      status: 204,
      shape: empty,
      errors: [
        ...absent,
        'document_delete_restricted',
        'document_not_found',
        'general_bad_request',
        'user_unauthorized',
      ],
    },
  },
});

/** Errors of the operations that change documents. */
export const documentWriteErrors: readonly ErrorType[] = [
  ...new Set(Object.values(documentsApi).flatMap(({ method, reply: { errors } }) => (method === 'GET' ? [] : errors))),
];

/** The same operations for callers within the process: they reply with values, and have no routes. */
export const documentValuesApi = declare({
  create: {
    ...documentsApi.create,
    input: { ...documentsApi.create.input, body: newDocument },
    reply: { ...documentsApi.create.reply, shape: json(z.custom<StoredDocument>()) },
  },
  list: { ...documentsApi.list, reply: { ...documentsApi.list.reply, shape: json(z.custom<DocumentPage>()) } },
  get: { ...documentsApi.get, reply: { ...documentsApi.get.reply, shape: json(z.custom<StoredDocument>()) } },
  update: { ...documentsApi.update, reply: { ...documentsApi.update.reply, shape: json(z.custom<StoredDocument>()) } },
  delete: { ...documentsApi.delete, reply: { ...documentsApi.delete.reply, shape: json(z.custom<StoredDocument>()) } },
});
