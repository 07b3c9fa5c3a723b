import { z } from 'zod';
import { declare, json, serverKeys } from '#src/contract/declaration.js';
import { customId } from '#src/contract/shapes.js';
import { newKey } from '../attributes/api.js';
import { deleteRules, relationTypes } from '../model/relation.js';
import { attributeShape } from '../model/view.js';

const relationships = '/databases/:databaseId/collections/:collectionId/attributes/relationship';
const ofCollection = z.object({ databaseId: customId, collectionId: customId });
const common = { tag: 'databases', access: serverKeys('attributes.write'), limits: { calls: 'data' } } as const;
const errors = [
  'database_not_found',
  'collection_not_found',
  'attribute_already_exists',
  'attribute_limit_exceeded',
] as const;

/** Attributes that relate documents to those of another collection, for server keys. */
export const relationsApi = declare({
  create: {
    ...common,
    id: 'databases.createRelationshipAttribute',
    method: 'POST',
    path: relationships,
    summary: 'Adds an attribute that relates documents to those of another collection of the database.',
    input: {
      params: ofCollection,
      body: z.object({
        relatedCollectionId: customId,
        type: z.enum(relationTypes),
        twoWay: z.boolean().default(false),
        key: newKey.optional().meta({ description: 'The id of the related collection where it is not given' }),
        twoWayKey: newKey.optional().meta({ description: 'The id of the collection where it is not given' }),
        onDelete: z.enum(deleteRules).default('restrict'),
      }),
    },
    reply: { status: 202, shape: json(attributeShape), errors },
  },
  update: {
    ...common,
    id: 'databases.updateRelationshipAttribute',
    method: 'PATCH',
    path: `${relationships}/:key`,
    aliases: ['/databases/:databaseId/collections/:collectionId/attributes/:key/relationship'],
    summary: 'Changes what a relationship does when a document is deleted, or its key.',
    input: {
      params: ofCollection.extend({ key: customId }),
      body: z.object({ onDelete: z.enum(deleteRules).optional(), newKey: newKey.optional() }),
    },
    reply: { status: 200, shape: json(attributeShape), errors: [...errors, 'attribute_not_found'] },
  },
});
