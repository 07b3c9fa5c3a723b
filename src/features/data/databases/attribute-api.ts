import { z } from 'zod';
import { schemaLimits } from '#src/contract/limits.js';
import { type Declaration, declare, empty, json } from '#src/contract/operation.js';
import { customId, refusedMembers } from '#src/contract/shapes.js';
import { listParameters } from '../../../platform/list-query/api.js';
import { attributeShape, indexShape } from './view.js';

const base = '/databases/:databaseId/collections/:collectionId';
const common = { tag: 'databases', auth: ['key'], limit: 'data' } as const;
const read = { ...common, scopes: ['attributes.read'], status: 200 } as const;
const write = { ...common, scopes: ['attributes.write'] } as const;
const ofCollection = z.object({ databaseId: customId, collectionId: customId });
const ofAttribute = ofCollection.extend({ key: customId });
const absent = ['database_not_found', 'collection_not_found'] as const;

const whole = z.union([z.int(), z.bigint()]);
const size = z.int().min(1).max(1_073_741_824);
const elements = z
  .array(z.string().min(1).max(schemaLimits.element))
  .min(1)
  .max(schemaLimits.elements)
  .refine((list) => new Set(list).size === list.length, 'must not name one element twice');
/** No document could be written with an attribute whose name no body may hold. */
const newKey = customId.refine((key) => !refusedMembers.has(key), 'must not be constructor, prototype or __proto__');
const newAttribute = { key: newKey, required: z.boolean(), array: z.boolean().default(false) };
const changed = { required: z.boolean(), newKey: newKey.optional() };
const text = z.string().nullish();

const create = <const N extends string, B extends z.ZodRawShape>(name: N, body: B) =>
  ({
    ...write,
    id: `databases.create${name}Attribute`,
    method: 'POST',
    path: `${base}/attributes/${name.toLowerCase() as Lowercase<N>}`,
    summary: `Adds an attribute of type ${name.toLowerCase()}.`,
    params: ofCollection,
    body: z.object({ ...newAttribute, ...body }),
    status: 202,
    reply: json(attributeShape),
    errors: [
      ...absent,
      'attribute_already_exists',
      'attribute_limit_exceeded',
      'attribute_default_unsupported',
      'attribute_value_invalid',
    ],
  }) as const satisfies Declaration;

const update = <const N extends string, B extends z.ZodRawShape>(name: N, body: B) =>
  ({
    ...write,
    id: `databases.update${name}Attribute`,
    method: 'PATCH',
    path: `${base}/attributes/${name.toLowerCase() as Lowercase<N>}/:key`,
    summary: `Changes an attribute of type ${name.toLowerCase()}; stored documents stay as they are.`,
    params: ofAttribute,
    body: z.object({ ...changed, ...body }),
    status: 200,
    reply: json(attributeShape),
    errors: [
      ...absent,
      ...([
        'attribute_not_found',
        'attribute_type_invalid',
        'attribute_already_exists',
        'attribute_limit_exceeded',
        'attribute_default_unsupported',
        'attribute_value_invalid',
      ] as const),
    ],
  }) as const satisfies Declaration;

const bounds = { min: whole.nullish(), max: whole.nullish() };
const realBounds = { min: z.number().nullish(), max: z.number().nullish() };

/** Attributes and indexes of collections, for server keys. */
export const attributesApi = declare({
  createString: create('String', { size, default: text }),
  createInteger: create('Integer', { ...bounds, default: whole.nullish() }),
  createFloat: create('Float', { ...realBounds, default: z.number().nullish() }),
  createBoolean: create('Boolean', { default: z.boolean().nullish() }),
  createDatetime: create('Datetime', { default: text }),
  createEmail: create('Email', { default: text }),
  createUrl: create('Url', { default: text }),
  createIp: create('Ip', { default: text }),
  createEnum: create('Enum', { elements, default: text }),
  updateString: update('String', { size: size.optional(), default: text }),
  updateInteger: update('Integer', { ...bounds, default: whole.nullish() }),
  updateFloat: update('Float', { ...realBounds, default: z.number().nullish() }),
  updateBoolean: update('Boolean', { default: z.boolean().nullish() }),
  updateDatetime: update('Datetime', { default: text }),
  updateEmail: update('Email', { default: text }),
  updateUrl: update('Url', { default: text }),
  updateIp: update('Ip', { default: text }),
  updateEnum: update('Enum', { elements, default: text }),
  list: {
    ...read,
    id: 'databases.listAttributes',
    method: 'GET',
    path: `${base}/attributes`,
    summary: 'Lists the attributes of a collection.',
    params: ofCollection,
    query: z.object(listParameters),
    reply: json(z.object({ total: z.int(), attributes: z.array(attributeShape) }).meta({ id: 'AttributeList' })),
    bound: { entries: 1, bytes: schemaLimits.bytes * 2 },
    errors: [...absent, 'general_cursor_not_found'],
  },
  get: {
    ...read,
    id: 'databases.getAttribute',
    method: 'GET',
    path: `${base}/attributes/:key`,
    summary: 'Reads an attribute.',
    params: ofAttribute,
    reply: json(attributeShape),
    errors: [...absent, 'attribute_not_found'],
  },
  delete: {
    ...write,
    id: 'databases.deleteAttribute',
    method: 'DELETE',
    path: `${base}/attributes/:key`,
    summary: 'Removes an attribute with its values.',
    params: ofAttribute,
    status: 204,
    reply: empty,
    errors: [...absent, 'attribute_not_found', 'index_dependency'],
  },
  createIndex: {
    ...common,
    id: 'databases.createIndex',
    method: 'POST',
    path: `${base}/indexes`,
    summary: 'Adds an index.',
    scopes: ['indexes.write'],
    params: ofCollection,
    body: z.object({
      key: customId,
      type: z.enum(['key', 'unique']),
      attributes: z.array(customId).min(1).max(schemaLimits.indexedAttributes),
      orders: z
        .array(z.enum(['ASC', 'DESC', 'asc', 'desc']))
        .max(schemaLimits.indexedAttributes)
        .default([]),
    }),
    status: 202,
    reply: json(indexShape),
    errors: [...absent, 'attribute_unknown', 'index_already_exists', 'index_invalid', 'index_limit_exceeded'],
  },
  listIndexes: {
    ...common,
    id: 'databases.listIndexes',
    method: 'GET',
    path: `${base}/indexes`,
    summary: 'Lists the indexes of a collection.',
    scopes: ['indexes.read'],
    params: ofCollection,
    query: z.object(listParameters),
    status: 200,
    reply: json(z.object({ total: z.int(), indexes: z.array(indexShape) }).meta({ id: 'IndexList' })),
    bound: { entries: schemaLimits.indexes, bytes: 4096 },
    errors: [...absent, 'general_cursor_not_found'],
  },
  getIndex: {
    ...common,
    id: 'databases.getIndex',
    method: 'GET',
    path: `${base}/indexes/:key`,
    summary: 'Reads an index.',
    scopes: ['indexes.read'],
    params: ofAttribute,
    status: 200,
    reply: json(indexShape),
    errors: [...absent, 'index_not_found'],
  },
  deleteIndex: {
    ...common,
    id: 'databases.deleteIndex',
    method: 'DELETE',
    path: `${base}/indexes/:key`,
    summary: 'Removes an index.',
    scopes: ['indexes.write'],
    params: ofAttribute,
    status: 204,
    reply: empty,
    errors: [...absent, 'index_not_found'],
  },
});
