import { Failure } from '#src/contract/errors.js';
import type { LinkSide } from '#src/platform/db/link-tables.js';
import type { Attribute, Collection } from '../schema.js';
import type { Relation, RelationType } from './model.js';

/** Which documents of a relationship are in one link at most. */
export function singleSides(type: RelationType): Readonly<Record<LinkSide, boolean>> {
  return {
    parent: type === 'oneToOne' || type === 'manyToOne',
    child: type === 'oneToOne' || type === 'oneToMany',
  };
}

/** The side of the related documents. */
export function otherSide({ side }: Pick<Relation, 'side'>): LinkSide {
  return side === 'parent' ? 'child' : 'parent';
}

/** Whether a document of this collection is related to one at most. */
export function isToOne({ type, side }: Pick<Relation, 'type' | 'side'>): boolean {
  return singleSides(type)[side];
}

/** Whether a related document is related to one at most. */
export function isFromOne({ type, side }: Pick<Relation, 'type' | 'side'>): boolean {
  return singleSides(type)[otherSide({ side })];
}

/** Whether the deletion of a document of this collection does to related ones what the relationship says; otherwise they are unlinked. */
export function decides({ type, side, onDelete }: Pick<Relation, 'type' | 'side' | 'onDelete'>): boolean {
  if (type === 'oneToOne') return side === 'parent' || onDelete === 'cascade';
  return side === (type === 'manyToOne' ? 'child' : 'parent');
}

/** The relationships that documents of a collection show. */
export function shownRelations({ relations }: Pick<Collection, 'relations'>): readonly Relation[] {
  return relations.filter(({ hidden }) => !hidden);
}

/** The relationship that the documents show under a key. */
export function relationOf(collection: Pick<Collection, 'relations'>, key: string): Relation | undefined {
  return collection.relations.find((one) => !one.hidden && one.key === key);
}

/** What requests see as attributes, in the order of their creation. */
export function shownAttributes(collection: Collection): readonly (Attribute | Relation)[] {
  const values: readonly (Attribute | Relation)[] = collection.attributes.filter(({ type }) => type !== 'relationship');
  return [...values, ...shownRelations(collection)].sort((one, other) => one.number - other.number);
}

/** What requests see as the attribute with a key. Throws Failure `attribute_not_found`. */
export function shownAttributeOf(collection: Collection, key: string): Attribute | Relation {
  const found = shownAttributes(collection).find((one) => one.key === key);
  if (found === undefined) throw new Failure('attribute_not_found', { message: `There is no attribute "${key}".` });
  return found;
}

/** Whether two sides are of one relationship. */
export function isSameLink({ link }: Relation, other: Relation): boolean {
  return link.collection === other.link.collection && link.attribute === other.link.attribute;
}
