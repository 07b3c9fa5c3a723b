import { Failure } from '#src/contract/errors.js';
import { schemaLimits } from '#src/contract/limits.js';
import type { LinkSide } from '#src/platform/db/link-tables.js';
import type { Unit } from '#src/platform/db/unit.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Relation } from '../model/relation.js';
import { isSameLink, isToOne, relationOf, singleSides } from '../model/relation-sides.js';
import type { Attribute, Collection, CollectionPath } from '../model/schema.js';
import type { CollectionService, RelationChange, RelationDraft, RelationService } from '../model/service.js';
import {
  addColumn,
  type CollectionRows,
  type PartDeps,
  recordOfPart,
  requireFreeKey,
  requireRoom,
  type SchemaDeps,
} from '../service/collections.js';
import { lockByNumber } from '../service/relation-removal.js';
import { documentTables } from '../service/tables.js';

interface Deps extends PartDeps {
  readonly getCollection: CollectionService['getCollection'];
}

/** Creates the service of relationships between documents of two collections of a database, or of one with itself. */
export function createRelations(
  schema: SchemaDeps,
  rows: CollectionRows,
  { getCollection }: Pick<CollectionService, 'getCollection'>,
): RelationService {
  return bind({ ...schema, rows, getCollection }, { createRelation, updateRelation });
}

async function createRelation(deps: Deps, unit: Unit, path: CollectionPath, draft: RelationDraft): Promise<Relation> {
  const { links, tables } = deps;
  const [first, other] = await lockBoth(deps, unit, path, draft.relatedCollectionId);
  const isOwn = first.number === other.number;
  requireFreeKey(first, draft.key);
  if (draft.twoWay) requireFreeKey(other, draft.twoWayKey);
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
  const changed = await addSide(deps, unit, first, parent);
  const own = isOwn ? changed : other;
  if (own.relations.length >= schemaLimits.relations)
    throw new Failure('attribute_limit_exceeded', {
      message: `"${own.id}" takes part in ${schemaLimits.relations} relationships already, the most that there may be.`,
    });
  await addSide(deps, unit, own, sideOf('child', own, draft.twoWayKey));
  for (const statement of links.create(link, other.number, singleSides(draft.type))) await unit.run(statement);
  unit.record('attributeCreated', recordOfPart(first, 'attributes', draft.key));
  if (draft.twoWay) unit.record('attributeCreated', recordOfPart(other, 'attributes', draft.twoWayKey));
  return parent;
}

/** Locks both collections of a relationship. */
async function lockBoth({ rows, getCollection }: Deps, unit: Unit, path: CollectionPath, relatedId: string) {
  const related = await getCollection(unit, { ...path, collectionId: relatedId });
  const collection = await rows.lockWithRelated(unit, path, [related]);
  if (relatedId === path.collectionId) return [collection, collection] as const;
  return [collection, await rows.lock(unit, { ...path, collectionId: relatedId })] as const;
}

/** Adds a side to its collection, and the column if documents show it as one. */
async function addSide(
  { links, rows }: Deps,
  unit: Unit,
  collection: Collection,
  relation: Relation,
): Promise<Collection> {
  const isShownAsColumn = !relation.hidden && isToOne(relation);
  const attributes = isShownAsColumn ? [...collection.attributes, columnOf(relation)] : collection.attributes;
  const relations = [...collection.relations, relation];
  requireRoom({ ...collection, attributes, relations }, 'attribute_limit_exceeded');
  if (isShownAsColumn) await addColumn(unit, relation.key, links.addColumn(collection.number, relation.number));
  return rows.change(unit, collection, { attributes, relations, lastPart: relation.number });
}

/** The column that holds the id of the linked document. */
function columnOf({ number, key, createdAt, updatedAt }: Relation): Attribute {
  return { number, key, type: 'relationship', required: false, array: false, default: null, createdAt, updatedAt };
}

async function updateRelation(
  { rows, store }: Deps,
  unit: Unit,
  path: CollectionPath,
  key: string,
  { newKey = key, onDelete }: RelationChange,
): Promise<Relation> {
  const collection = await rows.lockWithRelated(unit, path);
  const before = relationOf(collection, key);
  if (before === undefined) throw new Failure('attribute_not_found');
  if (newKey !== key) requireFreeKey(collection, newKey, false);
  const after = { ...before, key: newKey, onDelete: onDelete ?? before.onDelete, updatedAt: unit.now };
  const renamed = (of: Collection) => of.relations.map((one) => changedSide(one, before, after));
  const attributes = collection.attributes.map((one) =>
    one.number === before.number ? { ...one, key: newKey, updatedAt: unit.now } : one,
  );
  requireRoom({ ...collection, attributes, relations: renamed(collection) }, 'attribute_limit_exceeded');
  await rows.change(unit, collection, { attributes, relations: renamed(collection) });
  if (before.related.number !== collection.number) {
    const related = await lockByNumber(store, unit, before.related.number);
    if (related !== undefined) await rows.change(unit, related, { relations: renamed(related) });
  }
  unit.record('attributeUpdated', recordOfPart(collection, 'attributes', newKey));
  return after;
}

/** Returns a side after either side of its relationship was changed. */
function changedSide(one: Relation, before: Relation, after: Relation): Relation {
  if (!isSameLink(one, before)) return one;
  if (one.side === before.side) return after;
  const { onDelete, updatedAt } = after;
  return { ...one, onDelete, updatedAt, related: { ...one.related, key: after.key } };
}

/** Adds the default keys to the data of a request: the ids of the collections. */
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
