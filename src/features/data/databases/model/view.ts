import { z } from 'zod';
import { toWireInstant, wireInstant } from '#src/contract/shapes.js';
import { attributeTypes } from './attribute-types.js';
import { deleteRules, type Relation, relationTypes } from './relation.js';
import { shownAttributes } from './relation-sides.js';
import type { Attribute, Collection, Index } from './schema.js';
import type { DatabaseRow } from './store.js';

/** A database on the wire. */
export const databaseShape = z
  .object({
    $id: z.string(),
    name: z.string(),
    $createdAt: wireInstant,
    $updatedAt: wireInstant,
    enabled: z.boolean(),
    type: z.literal('legacy'),
    status: z.literal('ready'),
  })
  .meta({ id: 'Database' });

/** Prints a database. */
export function toDatabase(database: DatabaseRow): z.input<typeof databaseShape> {
  return {
    $id: database.id,
    name: database.name,
    $createdAt: toWireInstant(database.createdAt),
    $updatedAt: toWireInstant(database.updatedAt),
    enabled: database.enabled,
    type: 'legacy',
    status: 'ready',
  };
}

/** A number of up to 64 bits on the wire. */
const wireNumber = z.union([z.number(), z.bigint()]).meta({ description: 'A number; whole ones may have 64 bits' });

/** An attribute on the wire; which members it has depends on its type. */
export const attributeShape = z
  .object({
    key: z.string(),
    type: z.enum(Object.values(attributeTypes).map(({ wireType }) => wireType)),
    status: z.literal('available'),
    error: z.literal(''),
    required: z.boolean(),
    array: z.boolean(),
    $createdAt: wireInstant,
    $updatedAt: wireInstant,
    default: z.unknown(),
    format: z.string().optional(),
    size: z.int().optional(),
    min: wireNumber.optional(),
    max: wireNumber.optional(),
    elements: z.array(z.string()).optional(),
    encrypt: z.boolean().optional(),
    relatedCollection: z.string().optional(),
    relationType: z.enum(relationTypes).optional(),
    twoWay: z.boolean().optional(),
    twoWayKey: z.string().optional(),
    onDelete: z.enum(deleteRules).optional(),
    side: z.enum(['parent', 'child']).optional(),
  })
  .meta({ id: 'Attribute' });

/** Prints an attribute, or the side of a relationship that its collection shows. */
export function toAttribute(attribute: Attribute | Relation): z.input<typeof attributeShape> {
  if ('link' in attribute) return toRelationship(attribute);
  const { type, size, min, max, elements } = attribute;
  const { wireType, format, column, number = Number } = attributeTypes[type];
  const { default: stored } = attribute;
  return {
    key: attribute.key,
    type: wireType,
    status: 'available',
    error: '',
    required: attribute.required,
    array: attribute.array,
    $createdAt: toWireInstant(attribute.createdAt),
    $updatedAt: toWireInstant(attribute.updatedAt),
    ...(format === undefined ? {} : { format }),
    ...(size === undefined ? {} : { size }),
    ...(min === undefined ? {} : { min: number(min) }),
    ...(max === undefined ? {} : { max: number(max) }),
    ...(elements === undefined ? {} : { elements: [...elements] }),
    // appwrite-cli recreates a column, without its values, if its file lacks a member of the answer.
    ...(attribute.encrypt === true ? { encrypt: true } : {}),
    default: typeof stored === 'string' && column !== 'text' ? number(stored) : stored,
  };
}

function toRelationship({ type: relationType, related, twoWay, onDelete, side, ...relation }: Relation) {
  return {
    key: relation.key,
    type: attributeTypes.relationship.wireType,
    status: 'available',
    error: '',
    required: false,
    array: false,
    $createdAt: toWireInstant(relation.createdAt),
    $updatedAt: toWireInstant(relation.updatedAt),
    default: null,
    relatedCollection: related.id,
    relationType,
    twoWay,
    twoWayKey: related.key,
    onDelete,
    side,
  } as const;
}

/** An index on the wire. */
export const indexShape = z
  .object({
    $id: z.string(),
    $createdAt: wireInstant,
    $updatedAt: wireInstant,
    key: z.string(),
    type: z.enum(['key', 'unique', 'fulltext']),
    status: z.enum(['available', 'processing', 'failed']),
    error: z.string(),
    attributes: z.array(z.string()),
    lengths: z.array(z.int()),
    orders: z.array(z.string()),
  })
  .meta({ id: 'Index' });

/** Prints an index. */
export function toIndex(index: Index): z.input<typeof indexShape> {
  return {
    $id: index.key,
    $createdAt: toWireInstant(index.createdAt),
    $updatedAt: toWireInstant(index.updatedAt),
    key: index.key,
    type: index.type,
    status: index.problem === undefined ? (index.builtTo === undefined ? 'available' : 'processing') : 'failed',
    error: index.problem ?? '',
    attributes: [...index.attributes],
    lengths: [...(index.lengths ?? [])],
    orders: [...index.orders],
  };
}

/** A collection on the wire. */
export const collectionShape = z
  .object({
    $id: z.string(),
    $createdAt: wireInstant,
    $updatedAt: wireInstant,
    $permissions: z.array(z.string()),
    databaseId: z.string(),
    name: z.string(),
    enabled: z.boolean(),
    documentSecurity: z.boolean(),
    attributes: z.array(attributeShape),
    indexes: z.array(indexShape),
    bytesMax: z.int(),
    bytesUsed: z.int(),
  })
  .meta({ id: 'Collection' });

/** Prints a collection. Neither database has a budget of bytes a row, so both figures are 0. */
export function toCollection(collection: Collection): z.input<typeof collectionShape> {
  return {
    $id: collection.id,
    $createdAt: toWireInstant(collection.createdAt),
    $updatedAt: toWireInstant(collection.updatedAt),
    $permissions: [...collection.permissions],
    databaseId: collection.databaseId,
    name: collection.name,
    enabled: collection.enabled,
    documentSecurity: collection.documentSecurity,
    attributes: shownAttributes(collection).map(toAttribute),
    indexes: collection.indexes.map(toIndex),
    bytesMax: 0,
    bytesUsed: 0,
  };
}
