import type { Unit } from '#src/platform/db/unit.js';
import type { Relation } from '../model/relation.js';
import { isSameLink } from '../model/relation-sides.js';
import type { Collection } from '../model/schema.js';
import { collections } from '../model/store.js';
import { recordOfPart, type SchemaDeps } from './record.js';

type Deps = Pick<SchemaDeps, 'links' | 'store' | 'removal'>;

/** Locks a collection by its number until the end of the unit. Increments its version, so that all processes detect the change. */
export async function lockByNumber(
  store: SchemaDeps['store'],
  unit: Unit,
  number: number,
): Promise<Collection | undefined> {
  const row = await unit.one(store.lockRelated(number));
  return row && collections.decode(row);
}

/**
 * Removes both sides and all links of a relationship. The row of the collection and the tables must be locked. Collections that are removed
 * in the same unit keep their column, because SQLite rewrites the table to drop one.
 */
export async function removeRelation(
  deps: Deps,
  unit: Unit,
  collection: Collection,
  relation: Relation,
  removed: ReadonlySet<number> = new Set(),
): Promise<void> {
  await deps.removal.drop(unit, deps.links.drop(relation.link));
  const isOfBoth = (one: Relation) => isSameLink(one, relation);
  if (relation.related.number !== collection.number) {
    const related = await lockByNumber(deps.store, unit, relation.related.number);
    if (related !== undefined) await dropSides(deps, unit, related, related.relations.filter(isOfBoth), removed);
  }
  await dropSides(deps, unit, collection, collection.relations.filter(isOfBoth), removed);
}

/** Removes all relationships of a collection before it is deleted with the `removed` ones. Its tables must be locked. */
export async function removeRelations(
  deps: Deps,
  unit: Unit,
  number: number,
  removed: ReadonlySet<number>,
): Promise<void> {
  for (;;) {
    // Each removal changes the collection, so it is read again.
    const collection = await lockByNumber(deps.store, unit, number);
    const [relation] = collection?.relations ?? [];
    if (collection === undefined || relation === undefined) return;
    await removeRelation(deps, unit, collection, relation, removed);
  }
}

async function dropSides(
  { links, store }: Deps,
  unit: Unit,
  collection: Collection,
  sides: readonly Relation[],
  removed: ReadonlySet<number>,
): Promise<void> {
  const numbers = new Set(sides.map(({ number }) => number));
  for (const { number, hidden, key } of sides) {
    if (!removed.has(collection.number) && collection.attributes.some((one) => one.number === number))
      for (const statement of links.dropColumn(collection.number, number)) await unit.run(statement);
    if (!hidden) unit.record('attributeDeleted', recordOfPart(collection, 'attributes', key));
  }
  const left = {
    attributes: collection.attributes.filter(({ number }) => !numbers.has(number)),
    relations: collection.relations.filter(({ number }) => !numbers.has(number)),
    updatedAt: unit.now,
  };
  await unit.run(store.updateCollection(collection.number, left));
}
