import { Failure } from '#src/contract/errors.js';
import type { LinkSide } from '#src/platform/db/link-tables.js';
import type { Relation, RelationType } from './relation.js';
import type { Attribute, Collection } from './schema.js';

/** For each side, true if a document on it is in at most one link. */
export function singleSides(type: RelationType): Readonly<Record<LinkSide, boolean>> {
  return {
    parent: type === 'oneToOne' || type === 'manyToOne',
    child: type === 'oneToOne' || type === 'oneToMany',
  };
}

/** Returns the side of the related documents. */
export function otherSide({ side }: Pick<Relation, 'side'>): LinkSide {
  return side === 'parent' ? 'child' : 'parent';
}

/** True if a document of this collection has at most one related document. */
export function isToOne({ type, side }: Pick<Relation, 'type' | 'side'>): boolean {
  return singleSides(type)[side];
}

/** True if a related document is linked to at most one document of this collection. */
export function isFromOne({ type, side }: Pick<Relation, 'type' | 'side'>): boolean {
  return singleSides(type)[otherSide({ side })];
}

/** True if deleting a document of this collection applies `onDelete` to the related ones; otherwise they are only unlinked. */
export function decides({ type, side, onDelete }: Pick<Relation, 'type' | 'side' | 'onDelete'>): boolean {
  if (type === 'oneToOne') return side === 'parent' || onDelete === 'cascade';
  return side === (type === 'manyToOne' ? 'child' : 'parent');
}

/** Returns the relationships that documents of a collection show. */
export function shownRelations({ relations }: Pick<Collection, 'relations'>): readonly Relation[] {
  return relations.filter(({ hidden }) => !hidden);
}

/** Finds a visible relationship by its key. */
export function relationOf(collection: Pick<Collection, 'relations'>, key: string): Relation | undefined {
  return collection.relations.find((one) => !one.hidden && one.key === key);
}

/**
 * Returns the relationships that state every link of a collection once in copies of a database: a link that both sides show belongs to the
 * side with one related document, or else to the parent.
 */
export function statedRelations(collection: Pick<Collection, 'relations'>): readonly Relation[] {
  return shownRelations(collection).filter(
    (one) => !one.twoWay || (isToOne(one) === isFromOne(one) ? one.side === 'parent' : isToOne(one)),
  );
}

/** Returns the attributes and relationships that requests see as attributes, in order of creation. */
export function shownAttributes(collection: Collection): readonly (Attribute | Relation)[] {
  const values: readonly (Attribute | Relation)[] = collection.attributes.filter(({ type }) => type !== 'relationship');
  return [...values, ...shownRelations(collection)].sort((one, other) => one.number - other.number);
}

/** Finds what requests see as the attribute with a key. Throws Failure `attribute_not_found`. */
export function shownAttributeOf(collection: Collection, key: string): Attribute | Relation {
  const found = shownAttributes(collection).find((one) => one.key === key);
  if (found === undefined)
    throw new Failure('attribute_not_found', {
      message: ({ attribute }) => `There is no ${attribute} "${key}".`,
    });
  return found;
}

/** True if both are sides of the same relationship. */
export function isSameLink({ link }: Relation, other: Relation): boolean {
  return link.collection === other.link.collection && link.attribute === other.link.attribute;
}
