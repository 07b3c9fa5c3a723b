import { relationLimits } from '#src/contract/limits.js';
import type { DatabaseOfProject, TableLocks } from '#src/platform/db/table-locks.js';
import type { Unit } from '#src/platform/db/unit.js';
import { type Collection, type Databases, decides, isFromOne, isToOne, type Relation } from '../../databases/index.js';
import { LinksChanged } from '../errors.js';
import type { LinkStore } from './link-store.js';
import { type RelationValue, validTargets } from './values.js';

/** Ids that a unit reserves at most: all connections of a few processes together have to fit into Postgres' table of locks. */
const maxReserved = 128;

/** How often several changes look for links that came while they waited. */
const looks = 3;

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
  /** Before a document is deleted: itself, those that are deleted with it, and those that show any of them. */
  forRemoval(unit: Unit, collection: Collection, id: string): Promise<void>;
  /** Before several changes of one unit: what all of them touch, as far as it is known by then, and collections of which nobody else writes anything. */
  forAll(unit: Unit, touched: readonly Touched[], whole?: readonly Collection[]): Promise<void>;
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
  /** Whether they are all documents of the collection. */
  isWhole?: boolean;
}

/**
 * Creates the locks of documents that are related to each other. Of two units that change the same links from their two sides each would lock its
 * own document and wait for that of the other; so both lock all of them first, by the number of the collection and the id. Nobody writes a link
 * without a lock of both its documents. SQLite has one writer at a time, and needs none of it.
 */
export function createHolds(databases: Databases, links: LinkStore, tables: TableLocks): Holds {
  const partners = async (unit: Unit, relation: Relation, id: string): Promise<string[]> =>
    (await unit.all(links.relatedTo(relation, id, relationLimits.unlinked + 1))).map((row) => String(row.id));
  /** Locks what is there of it. What was deleted meanwhile is not locked, also if it has been made anew, unless it was reserved. */
  const lock = async (
    unit: Unit,
    wanted: ReadonlyMap<number, Wanted>,
    reserved: ReadonlyMap<number, Wanted> = new Map(),
  ): Promise<Held> => {
    const locked = new Map<number, ReadonlySet<string>>();
    for (const [number, { ids, isWritten, isWhole }] of inOrder(wanted)) {
      const rows = await unit.all(isWhole ? links.lockAll(number) : links.lock(number, [...ids], isWritten));
      locked.set(number, new Set(rows.map((row) => String(row.id))));
    }
    return (number, id) =>
      wanted.get(number)?.isWhole === true ||
      locked.get(number)?.has(id) === true ||
      reserved.get(number)?.ids.has(id) === true;
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
  /** Those that are deleted with a document, whoever may, and those that show any of them. */
  const addDoomed = async (unit: Unit, wanted: Map<number, Wanted>, collection: Collection, id: string) => {
    const doomed: { readonly collection: Collection; readonly ids: readonly string[] }[] = [{ collection, ids: [id] }];
    const known = ownOnly(collection, id);
    const related = async (relation: Relation, ids: readonly string[]) =>
      (await unit.all(links.relatedToAny(relation, ids, relationLimits.unlinked + 1))).map((row) => String(row.id));
    // A list can grow while it is walked.
    for (const { collection: own, ids } of doomed) {
      const { relations, projectId, databaseId } = own;
      for (const relation of relations.filter(isFromOne))
        add(wanted, relation.related.number, await related(relation, ids), true);
      for (const relation of relations.filter(takesAlong)) {
        const { number, id: collectionId } = relation.related;
        const more = (await related(relation, ids)).filter((one) => !known.get(number)?.ids.has(one));
        // Of more the deletion is refused.
        if (more.length === 0 || more.length > relationLimits.deleted) continue;
        const found = (await databases.findCollection(unit, { projectId, databaseId, collectionId }))?.collection;
        // Another one under the same id is noticed where it is deleted.
        if (found?.number !== number) continue;
        for (const places of [wanted, known]) add(places, number, more, true);
        doomed.push({ collection: found, ids: more });
      }
    }
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
  const wantedBy = async (unit: Unit, touched: readonly Touched[]): Promise<Map<number, Wanted>> => {
    const wanted = new Map<number, Wanted>();
    for (const { collection, id, isNamed, relations, isRemoved } of touched) {
      if (isNamed) add(wanted, collection.number, [id], true);
      await addRelated(unit, wanted, id, relations);
      if (isRemoved) await addDoomed(unit, wanted, collection, id);
    }
    return wanted;
  };
  const lockAll = async (unit: Unit, touched: readonly Touched[], whole: readonly Collection[] = []): Promise<Held> => {
    const wanted = await wantedBy(unit, touched);
    const made = new Map<number, Wanted>();
    for (const { collection, id, isNamed, isThere, isRemoved } of touched)
      if (isNamed && !isRemoved && !isThere) add(made, collection.number, [id], true);
    for (const { number } of whole)
      wanted.set(number, { ids: wanted.get(number)?.ids ?? new Set(), isWritten: true, isWhole: true });
    // Documents that are not there yet have no rows to lock. Where they are many, two units that make the same ones may have to be tried again.
    const count = [...made.values()].reduce((sum, { ids }) => sum + ids.size, 0);
    if (count <= maxReserved)
      for (const [number, { ids }] of inOrder(made)) await unit.all(links.reserve(number, [...ids]));
    return lock(unit, wanted, made);
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
      if (!links.locks || (showing.length === 0 && !collection.relations.some(takesAlong))) return;
      const wanted = ownOnly(collection, id);
      await addDoomed(unit, wanted, collection, id);
      const isHeld = await lock(unit, wanted);
      const now = ownOnly(collection, id);
      await addDoomed(unit, now, collection, id);
      if (!areHeld(now, isHeld)) throw new LinksChanged();
    },
    forAll: async (unit, touched, whole) => {
      if (!links.locks) return;
      const isLinked = touched.some(({ relations, isRemoved }) => isRemoved || relations.length > 0);
      for (let count = 1; ; count++) {
        if (isLinked) await unit.run({ sql: 'savepoint linked', values: [] });
        const isHeld = await lockAll(unit, touched, whole);
        if (!isLinked || count === looks || areHeld(await wantedBy(unit, touched), isHeld)) return;
        // Links came meanwhile, as above.
        await unit.run({ sql: 'rollback to savepoint linked', values: [] });
      }
    },
  };
}

function areHeld(wanted: ReadonlyMap<number, Wanted>, isHeld: Held): boolean {
  return [...wanted].every(([number, { ids }]) => [...ids].every((id) => isHeld(number, id)));
}

/** By the number of the collection. */
function inOrder(wanted: ReadonlyMap<number, Wanted>): readonly (readonly [number, Wanted])[] {
  return [...wanted].sort(([one], [other]) => one - other);
}

/** Whether a deletion takes along what is related. */
function takesAlong(relation: Relation): boolean {
  return decides(relation) && relation.onDelete === 'cascade';
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
