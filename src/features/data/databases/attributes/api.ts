import { z } from 'zod';
import { type Declaration, declare, empty, json, serverKeys } from '#src/contract/declaration.js';
import { schemaLimits } from '#src/contract/limits.js';
import { customId, refusedMembers } from '#src/contract/shapes.js';
import { listParameters } from '#src/platform/list-query/api.js';
import { type AttributeType, attributeTypes, mapTypes } from '../model/attribute-types.js';
import { attributeShape, indexShape } from '../model/view.js';

const base = '/databases/:databaseId/collections/:collectionId';
/** Schemas hold default values, which may be as long as those of documents. */
const common = { tag: 'databases', limits: { calls: 'data', bodyBytes: 'setting' } } as const;
const read = { ...common, method: 'GET', access: serverKeys('attributes.read') } as const;
const write = { ...common, access: serverKeys('attributes.write') } as const;
const readIndex = { ...common, method: 'GET', access: serverKeys('indexes.read') } as const;
const writeIndex = { ...common, access: serverKeys('indexes.write') } as const;
const ofCollection = z.object({ databaseId: customId, collectionId: customId });
const ofAttribute = ofCollection.extend({ key: customId });
const absent = ['database_not_found', 'collection_not_found'] as const;
const notFitting = [
  'attribute_already_exists',
  'attribute_limit_exceeded',
  'attribute_default_unsupported',
  'attribute_value_invalid',
] as const;

/** No document could be written with an attribute whose name no body may hold. */
export const newKey = customId.refine(
  (key) => !refusedMembers.has(key),
  'must not be constructor, prototype or __proto__',
);
/** The name of an indexed attribute or of a member that every document has. */
const indexable = z
  .string()
  .regex(
    /^\$?[A-Za-z0-9][A-Za-z0-9._-]{0,35}$/,
    'must be the key of an attribute, or $id, $sequence, $createdAt, $updatedAt',
  );
const newAttribute = {
  key: newKey,
  required: z.boolean(),
  array: z.boolean().default(false),
};
const encrypt = z
  .boolean()
  .nullish()
  .meta({ description: 'Encrypts values in the database; queries and indexes cannot name the attribute then' });
const noEncryption = encrypt
  .refine((value) => value !== true, 'must not be true: only text can be encrypted')
  .meta({ description: 'Not true: only text can be encrypted' });
const changed = { required: z.boolean(), newKey: newKey.optional() };

/** The type takes only some of the options; the others are undefined. */
const bodyOf = <S extends z.ZodRawShape>(own: S, { options, default: value }: AttributeType) =>
  z.object({ ...own, ...(options as Required<AttributeType['options']>), default: value });

const create = (type: AttributeType) =>
  ({
    ...write,
    id: `databases.create${type.name}Attribute`,
    method: 'POST',
    path: `${base}/attributes/${type.path}`,
    summary: `Adds an attribute of type ${type.path}.`,
    input: {
      params: ofCollection,
      body: bodyOf({ ...newAttribute, encrypt: type.canEncrypt ? encrypt : noEncryption }, type),
    },
    reply: {
      status: 202,
      shape: json(attributeShape),
      errors: [...absent, ...(type.canEncrypt ? ['general_bad_request' as const] : []), ...notFitting],
    },
  }) as const satisfies Declaration;

const update = (type: AttributeType) => {
  // A size that is not given stays as it is.
  const size = type.options.size && { size: type.options.size.optional() };
  return {
    ...write,
    id: `databases.update${type.name}Attribute`,
    method: 'PATCH',
    path: `${base}/attributes/${type.path}/:key`,
    summary: `Changes an attribute of type ${type.path}; stored documents stay as they are, and a size below that of a value is refused.`,
    input: { params: ofAttribute, body: bodyOf(changed, { ...type, options: { ...type.options, ...size } }) },
    reply: {
      status: 200,
      shape: json(attributeShape),
      errors: [
        ...absent,
        'attribute_invalid_resize',
        'attribute_not_found',
        'attribute_type_invalid',
        ...(type.canEncrypt ? ['general_bad_request' as const] : []),
        ...notFitting,
      ],
    },
  } as const satisfies Declaration;
};

/** How attributes of each type are added, for server keys. */
export const newAttributesApi = mapTypes((name) => create(attributeTypes[name]));
/** How attributes of each type are changed, for server keys. */
export const changedAttributesApi = mapTypes((name) => update(attributeTypes[name]));

/** Attributes of every type, and indexes, for server keys. */
export const attributesApi = declare({
  list: {
    ...read,
    id: 'databases.listAttributes',
    path: `${base}/attributes`,
    summary: 'Lists the attributes of a collection.',
    input: { params: ofCollection, query: z.object(listParameters) },
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), attributes: z.array(attributeShape) }).meta({ id: 'AttributeList' })),
      bound: { entries: 1, bytes: schemaLimits.bytes * 2 },
      errors: [...absent, 'general_cursor_not_found'],
    },
  },
  get: {
    ...read,
    id: 'databases.getAttribute',
    path: `${base}/attributes/:key`,
    summary: 'Reads an attribute.',
    input: { params: ofAttribute },
    reply: { status: 200, shape: json(attributeShape), errors: [...absent, 'attribute_not_found'] },
  },
  delete: {
    ...write,
    id: 'databases.deleteAttribute',
    method: 'DELETE',
    path: `${base}/attributes/:key`,
    summary: 'Removes an attribute with its values, and the indexes that name it.',
    input: { params: ofAttribute },
    reply: { status: 204, shape: empty, errors: [...absent, 'attribute_not_found'] },
  },
  createIndex: {
    ...writeIndex,
    id: 'databases.createIndex',
    method: 'POST',
    path: `${base}/indexes`,
    summary: 'Adds an index.',
    input: {
      params: ofCollection,
      body: z.object({
        key: customId,
        type: z.enum(['key', 'unique', 'fulltext']),
        attributes: z.array(indexable).min(1).max(schemaLimits.indexedAttributes),
        orders: z
          .array(z.enum(['ASC', 'DESC', 'asc', 'desc']).nullable())
          .max(schemaLimits.indexedAttributes)
          .default([]),
        lengths: z
          .array(
            z
              .int()
              .min(0)
              .max(schemaLimits.indexedCharacters)
              .nullable()
              .transform((length) => length ?? 0),
          )
          .max(schemaLimits.indexedAttributes)
          .default([])
          .meta({ description: 'Kept and answered; an index always covers whole values' }),
      }),
    },
    reply: {
      status: 202,
      shape: json(indexShape),
      errors: [...absent, 'attribute_unknown', 'index_already_exists', 'index_invalid', 'index_limit_exceeded'],
    },
  },
  listIndexes: {
    ...readIndex,
    id: 'databases.listIndexes',
    path: `${base}/indexes`,
    summary: 'Lists the indexes of a collection.',
    input: { params: ofCollection, query: z.object(listParameters) },
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), indexes: z.array(indexShape) }).meta({ id: 'IndexList' })),
      bound: { entries: schemaLimits.indexes, bytes: 4096 },
      errors: [...absent, 'general_cursor_not_found'],
    },
  },
  getIndex: {
    ...readIndex,
    id: 'databases.getIndex',
    path: `${base}/indexes/:key`,
    summary: 'Reads an index.',
    input: { params: ofAttribute },
    reply: { status: 200, shape: json(indexShape), errors: [...absent, 'index_not_found'] },
  },
  deleteIndex: {
    ...writeIndex,
    id: 'databases.deleteIndex',
    method: 'DELETE',
    path: `${base}/indexes/:key`,
    summary: 'Removes an index.',
    input: { params: ofAttribute },
    reply: { status: 204, shape: empty, errors: [...absent, 'index_not_found'] },
  },
});
