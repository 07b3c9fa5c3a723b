import { relationLimits } from '#src/contract/limits.js';
import type { DatabaseOfProject, TableLocks } from '#src/platform/db/table-locks.js';
import type { Unit } from '#src/platform/db/unit.js';
import { type Collection, type Databases, isFromOne, isToOne, type Relation } from '../../databases/index.js';
import { LinksChanged } from '../errors.js';
import type { LinkStore } from './link-store.js';
import { type RelationValue, validTargets } from './values.js';

/** Ids that a unit reserves at most: all connections of a few processes together have to fit into Postgres' table of locks. */
const maxReserved = 128;

/** Whether a document of the collection with a number is locked for the relationships of another. */
export type Held = (collection: number, id: string) => boolean;

/** Locks of what a change of relationships touches. */
export interface Holds {
  /** Whether several units write at a time. */
  readonly areNeeded: boolean;
  /** Before anything else of a unit that uses the documents of several collections of these databases. */
  begin(unit: Unit, databases: readonly DatabaseOfProject[]): Promise<void>;
  /** Before a document is created or changed: itself, and those that it is related to and will be. */
  forChange(
    unit: Unit,
    collection: Collection,
    id: string,
    relations: readonly RelationValue[],
  ): Promise<Held | undefined>;
  /** Before a document is deleted: itself, and those that show it. */
  forRemoval(unit: Unit, collection: Collection, id: string): Promise<void>;
  /** Before several changes of one unit: what all of them touch, as far as it is known by then. */
  forAll(unit: Unit, touched: readonly Touched[]): Promise<void>;
}

/** A document that a unit will change, with the relationships that it is given, or delete. */
export interface Touched {
  readonly collection: Collection;
  readonly id: string;
  /** Whether others can know the id. */
  readonly isNamed: boolean;
  /** Whether it need not be made. */
  readonly isThere?: boolean;
  readonly relations: readonly RelationValue[];
  readonly isRemoved: boolean;
}

/** Documents of a collection that are locked: whether their rows are written, or only have to stay. */
interface Wanted {
  readonly ids: Set<string>;
  isWritten: boolean;
}

/**
 * Creates the locks of documents that are related to each other. Of two units that change the same links from their two sides each would lock its
 * own document and wait for that of the other; so both lock all of them first, by the number of the collection and the id. Nobody writes a link
 * without a lock of both its documents. SQLite has one writer at a time, and needs none of it.
 */
export function createHolds(databases: Databases, links: LinkStore, tables: TableLocks): Holds {
  const partners = async (unit: Unit, relation: Relation, id: string): Promise<string[]> =>
    (await unit.all(links.relatedTo(relation, id, relationLimits.unlinked + 1))).map((row) => String(row.id));
  const lock = async (unit: Unit, wanted: ReadonlyMap<number, Wanted>) => {
    for (const [number, { ids, isWritten }] of inOrder(wanted)) await unit.all(links.lock(number, [...ids], isWritten));
    return (number: number, id: string) => wanted.get(number)?.ids.has(id) === true;
  };
  /** Links that came while the unit waited for the locks: it cannot lock their documents now, out of the order. */
  const demandHeld = async (unit: Unit, relations: readonly Relation[], id: string, isHeld: Held) => {
    for (const relation of relations)
      if ((await partners(unit, relation, id)).some((one) => !isHeld(relation.related.number, one)))
        throw new LinksChanged();
  };
  const addRelated = async (
    unit: Unit,
    wanted: Map<number, Wanted>,
    id: string,
    values: readonly RelationValue[],
  ): Promise<void> => {
    for (const { relation, targets } of values) {
      const named = targets.flatMap((target) => (target.isNamed ? target.id : []));
      // Documents that show none of it are not written; links to them only need them to stay.
      const before = isFromOne(relation) ? await partners(unit, relation, id) : [];
      const isWritten = isFromOne(relation) || targets.some(({ input }) => input !== undefined);
      add(wanted, relation.related.number, [...named, ...before], isWritten);
    }
  };
  const addShowing = async (unit: Unit, wanted: Map<number, Wanted>, id: string, showing: readonly Relation[]) => {
    for (const relation of showing) add(wanted, relation.related.number, await partners(unit, relation, id), true);
  };
  /** What is to be written below a document. */
  const below = async (
    unit: Unit,
    { projectId, databaseId }: Collection,
    values: readonly RelationValue[],
    level = 1,
  ): Promise<Touched[]> => {
    const all: Touched[] = [];
    for (const { relation, targets } of values) {
      const nested = targets.flatMap(({ id, input, isNamed }) => (input === undefined ? [] : { id, input, isNamed }));
      if (nested.length === 0 || level > relationLimits.levels) continue;
      const path = { projectId, databaseId, collectionId: relation.related.id };
      const collection = (await databases.findCollection(unit, path))?.collection;
      // Another one under the same id is noticed where it is written.
      if (collection?.number !== relation.related.number) continue;
      for (const { id, input, isNamed } of nested) {
        const relations = validTargets(collection, input.data ?? {});
        all.push({ collection, id, isNamed, relations, isRemoved: false });
        all.push(...(await below(unit, collection, relations, level + 1)));
      }
    }
    return all;
  };
  const lockAll = async (unit: Unit, touched: readonly Touched[]): Promise<Held> => {
    const wanted = new Map<number, Wanted>();
    const made = new Map<number, Wanted>();
    for (const { collection, id, isNamed, isThere, relations, isRemoved } of touched) {
      if (isNamed) add(wanted, collection.number, [id], true);
      if (isNamed && !isRemoved && !isThere) add(made, collection.number, [id], true);
      await addRelated(unit, wanted, id, relations);
      if (isRemoved) await addShowing(unit, wanted, id, collection.relations.filter(isFromOne));
    }
    // Documents that are not there yet have no rows to lock. Where they are many, two units that make the same ones may have to be tried again.
    const count = [...made.values()].reduce((sum, { ids }) => sum + ids.size, 0);
    if (count <= maxReserved)
      for (const [number, { ids }] of inOrder(made)) await unit.all(links.reserve(number, [...ids]));
    return lock(unit, wanted);
  };
  return {
    areNeeded: links.locks,
    begin: tables.use,
    forChange: async (unit, collection, id, values) => {
      if (!links.locks || values.length === 0) return undefined;
      const nested = await below(unit, collection, values);
      const own = { collection, id, isNamed: true, isThere: nested.length === 0, relations: values, isRemoved: false };
      const isHeld = await lockAll(unit, [own, ...nested]);
      // Of several, those that came meanwhile stay.
      const single = values.map(({ relation }) => relation).filter((one) => isToOne(one) && isFromOne(one));
      await demandHeld(unit, single, id, isHeld);
      return isHeld;
    },
    forRemoval: async (unit, collection, id) => {
      const showing = collection.relations.filter(isFromOne);
      if (!links.locks || showing.length === 0) return;
      const wanted = ownOnly(collection, id);
      await addShowing(unit, wanted, id, showing);
      await demandHeld(unit, showing, id, await lock(unit, wanted));
    },
    forAll: async (unit, touched) => {
      if (links.locks) await lockAll(unit, touched);
    },
  };
}

/** By the number of the collection. */
function inOrder(wanted: ReadonlyMap<number, Wanted>): readonly (readonly [number, Wanted])[] {
  return [...wanted].sort(([one], [other]) => one - other);
}

function ownOnly({ number }: Collection, id: string): Map<number, Wanted> {
  return new Map([[number, { ids: new Set([id]), isWritten: true }]]);
}

function add(wanted: Map<number, Wanted>, number: number, ids: readonly string[], isWritten: boolean): void {
  if (ids.length === 0) return;
  const known = wanted.get(number) ?? { ids: new Set<string>(), isWritten: false };
  for (const id of ids) known.ids.add(id);
  known.isWritten ||= isWritten;
  wanted.set(number, known);
}
