import { relationLimits } from '#src/contract/limits.js';
import type { Query } from '#src/platform/db/query.js';
import type { DatabaseOfProject, TableLocks } from '#src/platform/db/table-locks.js';
import type { Unit } from '#src/platform/db/unit.js';
import { bind } from '#src/platform/runtime/bind.js';
import { type Collection, type Databases, decides, isFromOne, isToOne, type Relation } from '../../databases/index.js';
import { LinksChanged } from '../store/errors.js';
import type { LinkStore } from './link-store.js';
import { readIds } from './related.js';
import { type RelationValue, validTargets } from './values.js';

/** Most ids that a unit reserves. Postgres has one lock table, which must hold this number for each connection of a few processes. */
const maxReserved = 128;

/** Attempts to lock all linked documents, because links may be added during the wait. */
const maxAttempts = 3;

/** Most links to read: one more than allowed. */
const maxLinks = relationLimits.unlinked + 1;

const savepoint: Query = { sql: 'savepoint linked', values: [] };
const rollback: Query = { sql: 'rollback to savepoint linked', values: [] };

/** Returns true if a document, by the number of its collection and its id, is locked for a change of relationships. */
export type Held = (collection: number, id: string) => boolean;

/** Locks for changes of relationships. */
export interface Holds {
  /** True if several units write at once. */
  readonly areNeeded: boolean;
  /** Called first in a unit that uses the documents of several collections of these databases. */
  begin(unit: Unit, databases: readonly DatabaseOfProject[]): Promise<void>;
  /** Called before a document is created or changed. Locks it, and the documents that it is or will be related to. */
  forChange(
    unit: Unit,
    collection: Collection,
    id: string,
    relations: readonly RelationValue[],
  ): Promise<Held | undefined>;
  /** Called before a document is deleted. Locks it, the documents that are deleted with it, and those that show any of them. */
  forRemoval(unit: Unit, collection: Collection, id: string): Promise<void>;
  /**
   * Called before several changes of one unit. Locks all documents known to be affected, and the collections in `whole` against all other
   * writers.
   */
  forAll(unit: Unit, touched: readonly Touched[], whole?: readonly Collection[]): Promise<void>;
}

/** A document that a unit will delete, or change with the given relationships. */
export interface Touched {
  readonly collection: Collection;
  readonly id: string;
  /** True if the request contains the id. */
  readonly isNamed: boolean;
  /** True if the id is not reserved: the document exists, or nothing else is locked with it. */
  readonly isThere?: boolean;
  readonly relations: readonly RelationValue[];
  readonly isRemoved: boolean;
}

/**
 * Documents of a collection to lock. `isWritten` is true if they store the id of the other side or the request has data for them; otherwise
 * the lock only prevents their deletion.
 */
interface Wanted {
  readonly ids: Set<string>;
  isWritten: boolean;
  /** True if the whole collection is locked. */
  isWhole?: boolean;
}

interface Deps {
  readonly databases: Databases;
  readonly links: LinkStore;
}

/**
 * Creates the locks of related documents. Units that change the same links from both sides would deadlock if each locked its own document
 * first. So a unit first locks all documents, ordered by collection number and id. A link is written only with locks on both its
 * documents. SQLite has one writer at a time and needs no locks.
 */
export function createHolds(databases: Databases, links: LinkStore, tables: TableLocks): Holds {
  const deps: Deps = { databases, links };
  return { areNeeded: links.locks, begin: tables.use, ...bind(deps, { forChange, forRemoval, forAll }) };
}

async function forChange(deps: Deps, unit: Unit, collection: Collection, id: string, values: readonly RelationValue[]) {
  const { databases, links } = deps;
  if (!links.locks || values.length === 0) return undefined;
  const nested = await below(databases, unit, collection, values);
  const own = { collection, id, isNamed: true, isThere: nested.length === 0, relations: values, isRemoved: false };
  const isHeld = await lockAll(deps, unit, [own, ...nested]);
  // Only one-to-one relationships are checked. Relationships to many keep links that were added concurrently.
  for (const { relation } of values) {
    if (!isToOne(relation) || !isFromOne(relation)) continue;
    // Documents of links that were added while the unit waited cannot be locked now without breaking the order.
    const now = await readIds(unit, links.relatedTo(relation, id, maxLinks));
    if (now.some((one) => !isHeld(relation.related.number, one))) throw new LinksChanged();
  }
  return isHeld;
}

/** Collects the nested documents to write. */
async function below(
  databases: Databases,
  unit: Unit,
  { projectId, databaseId }: Collection,
  values: readonly RelationValue[],
  level = 1,
): Promise<Touched[]> {
  const all: Touched[] = [];
  for (const { relation, targets } of values) {
    const nested = targets.flatMap(({ id, input, isNamed }) => (input === undefined ? [] : { id, input, isNamed }));
    if (nested.length === 0 || level > relationLimits.levels) continue;
    const path = { projectId, databaseId, collectionId: relation.related.id };
    const collection = (await databases.findCollection(unit, path))?.collection;
    // A new collection with the same id is detected during the write.
    if (collection?.number !== relation.related.number) continue;
    for (const { id, input, isNamed } of nested) {
      const relations = validTargets(collection, input.data ?? {});
      all.push({ collection, id, isNamed, relations, isRemoved: false });
      all.push(...(await below(databases, unit, collection, relations, level + 1)));
    }
  }
  return all;
}

async function forRemoval(deps: Deps, unit: Unit, collection: Collection, id: string): Promise<void> {
  const { links } = deps;
  const showing = collection.relations.filter(isFromOne);
  if (!links.locks || (showing.length === 0 && !collection.relations.some(takesAlong))) return;
  const doomed = async () => {
    const wanted = ownOnly(collection, id);
    await addDoomed(deps, unit, wanted, collection, id);
    return wanted;
  };
  for (let count = 1; count <= maxAttempts; count++) {
    await unit.run(savepoint);
    const isHeld = await lock(links, unit, await doomed());
    if (areHeld(await doomed(), isHeld)) return;
    await unit.run(rollback);
  }
  // The links keep changing. While the whole collections are locked, they cannot.
  const wanted = await doomed();
  for (const collections of wanted.values()) collections.isWhole = true;
  const isHeld = await lock(links, unit, wanted);
  if (!areHeld(await doomed(), isHeld)) throw new LinksChanged();
}

async function forAll(deps: Deps, unit: Unit, touched: readonly Touched[], whole?: readonly Collection[]) {
  if (!deps.links.locks) return;
  const isLinked = touched.some(({ relations, isRemoved }) => isRemoved || relations.length > 0);
  for (let count = 1; ; count++) {
    if (isLinked) await unit.run(savepoint);
    const isHeld = await lockAll(deps, unit, touched, whole);
    if (!isLinked || count === maxAttempts || areHeld(await wantedBy(deps, unit, touched), isHeld)) return;
    // Links were added while the unit waited. Releases the locks and tries again.
    await unit.run(rollback);
  }
}

async function lockAll(deps: Deps, unit: Unit, touched: readonly Touched[], whole: readonly Collection[] = []) {
  const { links } = deps;
  const wanted = await wantedBy(deps, unit, touched);
  const made = new Map<number, Wanted>();
  for (const { collection, id, isNamed, isThere, isRemoved } of touched)
    if (isNamed && !isRemoved && !isThere) add(made, collection.number, [id], true);
  for (const { number } of whole)
    wanted.set(number, { ids: wanted.get(number)?.ids ?? new Set(), isWritten: true, isWhole: true });
  // New documents have no rows to lock, so up to `maxReserved` ids are reserved instead. More count as locked without it; units that create
  // the same documents may then be retried.
  const count = [...made.values()].reduce((sum, { ids }) => sum + ids.size, 0);
  if (count <= maxReserved)
    for (const [number, { ids }] of inOrder(made)) await unit.all(links.reserve(number, [...ids]));
  return lock(links, unit, wanted, made);
}

async function wantedBy(deps: Deps, unit: Unit, touched: readonly Touched[]): Promise<Map<number, Wanted>> {
  const wanted = new Map<number, Wanted>();
  for (const { collection, id, isNamed, relations, isRemoved } of touched) {
    if (isNamed) add(wanted, collection.number, [id], true);
    await addRelated(deps.links, unit, wanted, id, relations);
    if (isRemoved) await addDoomed(deps, unit, wanted, collection, id);
  }
  return wanted;
}

async function addRelated(
  links: LinkStore,
  unit: Unit,
  wanted: Map<number, Wanted>,
  id: string,
  values: readonly RelationValue[],
) {
  for (const { relation, targets } of values) {
    const named = targets.flatMap((target) => (target.isNamed ? target.id : []));
    const before = isFromOne(relation) ? await readIds(unit, links.relatedTo(relation, id, maxLinks)) : [];
    const isWritten = isFromOne(relation) || targets.some(({ input }) => input !== undefined);
    add(wanted, relation.related.number, [...named, ...before], isWritten);
  }
}

/** Adds the documents that are deleted with a document, regardless of permissions, and those that show any of them. */
async function addDoomed(deps: Deps, unit: Unit, wanted: Map<number, Wanted>, collection: Collection, id: string) {
  const { databases, links } = deps;
  const doomed: { readonly collection: Collection; readonly ids: readonly string[] }[] = [{ collection, ids: [id] }];
  const known = ownOnly(collection, id);
  // The loop also visits elements that are added to the list.
  for (const { collection: own, ids } of doomed) {
    const { relations, projectId, databaseId } = own;
    for (const relation of relations.filter(isFromOne))
      add(wanted, relation.related.number, await readIds(unit, links.relatedToAny(relation, ids, maxLinks)), true);
    for (const relation of relations.filter(takesAlong)) {
      const { number, id: collectionId } = relation.related;
      const related = await readIds(unit, links.relatedToAny(relation, ids, maxLinks));
      const more = related.filter((one) => !known.get(number)?.ids.has(one));
      // `relationLimits.deleted` refuses a deletion of more documents later.
      if (more.length === 0 || more.length > relationLimits.deleted) continue;
      const found = (await databases.findCollection(unit, { projectId, databaseId, collectionId }))?.collection;
      // If another collection has this id now, the deletion itself notices.
      if (found?.number !== number) continue;
      for (const places of [wanted, known]) add(places, number, more, true);
      doomed.push({ collection: found, ids: more });
    }
  }
}

/** Locks existing documents. Deleted documents are not locked, even if recreated, unless their id was reserved. */
async function lock(
  links: LinkStore,
  unit: Unit,
  wanted: ReadonlyMap<number, Wanted>,
  reserved: ReadonlyMap<number, Wanted> = new Map(),
): Promise<Held> {
  const locked = new Map<number, ReadonlySet<string>>();
  for (const [number, { ids, isWritten, isWhole }] of inOrder(wanted)) {
    const query = isWhole ? links.lockAll(number) : links.lock(number, [...ids], isWritten);
    locked.set(number, new Set(await readIds(unit, query)));
  }
  return (number, id) =>
    wanted.get(number)?.isWhole === true ||
    locked.get(number)?.has(id) === true ||
    reserved.get(number)?.ids.has(id) === true;
}

function areHeld(wanted: ReadonlyMap<number, Wanted>, isHeld: Held): boolean {
  return [...wanted].every(([number, { ids }]) => [...ids].every((id) => isHeld(number, id)));
}

/** Sorts by the number of the collection. */
function inOrder(wanted: ReadonlyMap<number, Wanted>): readonly (readonly [number, Wanted])[] {
  return [...wanted].sort(([one], [other]) => one - other);
}

/** True if a deletion includes the related documents. */
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
