import { Failure } from '#src/contract/errors.js';
import { schemaLimits } from '#src/contract/limits.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { LinkSide } from '#src/platform/db/link-tables.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Attribute, Collection, CollectionPath } from '../schema.js';
import {
  type CollectionRows,
  demandFreeKey,
  demandRoom,
  recordOfPart,
  type SchemaDeps,
  tooManyColumns,
} from '../service/collections.js';
import { documentTables } from '../service/tables.js';
import type { CollectionService, RelationDraft, RelationService } from '../service.js';
import type { Relation } from './model.js';
import { isSameLink, isToOne, relationOf, singleSides } from './relation.js';
import { lockByNumber } from './removal.js';

/** Relationships between the documents of two collections of a database, or of one with itself. */
export function createRelations(
  deps: SchemaDeps,
  { lock, lockWithRelated, change }: CollectionRows,
  { getCollection }: Pick<CollectionService, 'getCollection'>,
): RelationService {
  const { links, store, tables } = deps;
  /** The collections of a relationship, each held. */
  const lockBoth = async (unit: Unit, path: CollectionPath, relatedId: string) => {
    const related = await getCollection(unit, { ...path, collectionId: relatedId });
    const collection = await lockWithRelated(unit, path, [related]);
    if (relatedId === path.collectionId) return [collection, collection] as const;
    return [collection, await lock(unit, { ...path, collectionId: relatedId })] as const;
  };
  /** Adds a side to its collection, with the column in which documents show it. */
  const add = async (unit: Unit, collection: Collection, relation: Relation): Promise<Collection> => {
    const isShownAsColumn = !relation.hidden && isToOne(relation);
    const attributes = isShownAsColumn ? [...collection.attributes, columnOf(relation)] : collection.attributes;
    const relations = [...collection.relations, relation];
    demandRoom({ ...collection, attributes, relations }, 'attribute_limit_exceeded');
    if (isShownAsColumn)
      for (const statement of links.addColumn(collection.number, relation.number))
        await runColumn(relation.key, () => unit.run(statement));
    return change(unit, collection, { attributes, relations, lastPart: relation.number });
  };

  return {
    createRelation: async (unit, path, draft) => {
      const [first, other] = await lockBoth(unit, path, draft.relatedCollectionId);
      const isOwn = first.number === other.number;
      demandFreeKey(first, draft.key);
      if (draft.twoWay) demandFreeKey(other, draft.twoWayKey);
      if (isOwn && draft.key === draft.twoWayKey)
        throw new Failure('attribute_already_exists', { message: `Both sides have the key "${draft.key}".` });
      await tables.lock(unit, [first], documentTables([first.number, other.number]));
      const link = { collection: first.number, attribute: first.lastPart + 1 };
      const sideOf = (side: LinkSide, own: Collection, key: string): Relation => {
        const [related, relatedKey] = side === 'parent' ? [other, draft.twoWayKey] : [first, draft.key];
        return {
          number: own.lastPart + 1,
          key,
          hidden: side === 'child' && !draft.twoWay,
          link,
          side,
          type: draft.type,
          twoWay: draft.twoWay,
          onDelete: draft.onDelete,
          related: { number: related.number, id: related.id, key: relatedKey },
          createdAt: unit.now,
          updatedAt: unit.now,
        };
      };
      const parent = sideOf('parent', first, draft.key);
      const changed = await add(unit, first, parent);
      const own = isOwn ? changed : other;
      if (own.relations.length >= schemaLimits.relations) throw tooManySides(own);
      await add(unit, own, sideOf('child', own, draft.twoWayKey));
      for (const statement of links.create(link, other.number, singleSides(draft.type))) await unit.run(statement);
      unit.record('attributeCreated', recordOfPart(first, 'attributes', draft.key));
      if (draft.twoWay) unit.record('attributeCreated', recordOfPart(other, 'attributes', draft.twoWayKey));
      return parent;
    },
    updateRelation: async (unit, path, key, { newKey = key, onDelete }) => {
      const collection = await lockWithRelated(unit, path);
      const before = relationOf(collection, key);
      if (before === undefined) throw new Failure('attribute_not_found');
      if (newKey !== key) demandFreeKey(collection, newKey, false);
      const after = { ...before, key: newKey, onDelete: onDelete ?? before.onDelete, updatedAt: unit.now };
      const renamed = (of: Collection) => of.relations.map((one) => changedSide(one, before, after));
      const attributes = collection.attributes.map((one) =>
        one.number === before.number ? { ...one, key: newKey, updatedAt: unit.now } : one,
      );
      demandRoom({ ...collection, attributes, relations: renamed(collection) }, 'attribute_limit_exceeded');
      await change(unit, collection, { attributes, relations: renamed(collection) });
      if (before.related.number !== collection.number) {
        const related = await lockByNumber(unit, store, before.related.number);
        if (related !== undefined) await change(unit, related, { relations: renamed(related) });
      }
      unit.record('attributeUpdated', recordOfPart(collection, 'attributes', newKey));
      return after;
    },
  };
}

/** A side after a change of one of both. */
function changedSide(one: Relation, before: Relation, after: Relation): Relation {
  if (!isSameLink(one, before)) return one;
  if (one.side === before.side) return after;
  const { onDelete, updatedAt } = after;
  return { ...one, onDelete, updatedAt, related: { ...one.related, key: after.key } };
}

function tooManySides({ id }: Collection): Failure {
  return new Failure('attribute_limit_exceeded', {
    message: `"${id}" takes part in ${schemaLimits.relations} relationships already, the most that there may be.`,
  });
}

/** What a document shows of the one that it is linked to: its id. */
function columnOf({ number, key, createdAt, updatedAt }: Relation): Attribute {
  return { number, key, type: 'relationship', required: false, array: false, default: null, createdAt, updatedAt };
}

async function runColumn(key: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === 'tooManyColumns') throw tooManyColumns(key);
    throw error;
  }
}

/** What a request says of a relationship, with the keys that it gets by default: the ids of the collections. */
export function draftOf(
  collectionId: string,
  {
    key,
    twoWayKey,
    ...rest
  }: Omit<RelationDraft, 'key' | 'twoWayKey'> & {
    readonly key?: string | undefined;
    readonly twoWayKey?: string | undefined;
  },
): RelationDraft {
  return { ...rest, key: key ?? rest.relatedCollectionId, twoWayKey: twoWayKey ?? collectionId };
}
