import type { Unit } from '#src/platform/db/unit.js';
import type { Collection } from '../schema.js';
import { recordOfPart, type SchemaDeps } from '../service/record.js';
import { collections } from '../store.js';
import type { Relation } from './model.js';
import { isSameLink } from './relation.js';

type Deps = Pick<SchemaDeps, 'links' | 'store'>;

/** The collection with a number, held until the end of the unit; every process sees by its version that it has changed. */
export async function lockByNumber(
  unit: Unit,
  store: SchemaDeps['store'],
  number: number,
): Promise<Collection | undefined> {
  const row = await unit.one(store.lockRelated(number));
  return row && collections.decode(row);
}

/** Removes a relationship of a collection, which is held, with both sides and all links. Its tables are locked. */
export async function removeRelation(
  unit: Unit,
  deps: Deps,
  collection: Collection,
  relation: Relation,
): Promise<void> {
  await unit.run(deps.links.drop(relation.link));
  const isOfBoth = (one: Relation) => isSameLink(one, relation);
  if (relation.related.number !== collection.number) {
    const related = await lockByNumber(unit, deps.store, relation.related.number);
    if (related !== undefined) await dropSides(unit, deps, related, related.relations.filter(isOfBoth));
  }
  await dropSides(unit, deps, collection, collection.relations.filter(isOfBoth));
}

/** Removes all relationships of a collection that is about to be deleted. Its tables are locked. */
export async function removeRelations(unit: Unit, deps: Deps, number: number): Promise<void> {
  for (;;) {
    // Each removal changes what the next one begins with.
    const collection = await lockByNumber(unit, deps.store, number);
    const [relation] = collection?.relations ?? [];
    if (collection === undefined || relation === undefined) return;
    await removeRelation(unit, deps, collection, relation);
  }
}

async function dropSides(
  unit: Unit,
  { links, store }: Deps,
  collection: Collection,
  removed: readonly Relation[],
): Promise<void> {
  const numbers = new Set(removed.map(({ number }) => number));
  for (const { number, hidden, key } of removed) {
    if (collection.attributes.some((one) => one.number === number))
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
