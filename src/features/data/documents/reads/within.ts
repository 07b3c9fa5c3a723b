import { Failure } from '#src/contract/errors.js';
import { relationLimits } from '#src/contract/limits.js';
import type { Operation } from '#src/contract/operation.js';
import { allows, rolesOf } from '#src/contract/permissions.js';
import type { Unit } from '#src/platform/db/unit.js';
import { within } from '#src/platform/db/within.js';
import type { Runtime } from '#src/platform/index.js';
import { etagOf } from '#src/platform/text/etag.js';
import type { Idempotency } from '../../../installation/index.js';
import type { Collection, Databases } from '../../databases/index.js';
import { collectionGrants } from '../access/access.js';
import { type CollectionContext, type Collections, createCollections, type Joined } from '../access/collections.js';
import type { Documents } from '../access/service.js';
import type { BulkChanges, Matched } from '../changes/bulk.js';
import type { Changes } from '../changes/index.js';
import { createRepeats } from '../changes/repeats.js';
import { createDocumentWrites } from '../changes/writes.js';
import { toDocument } from '../model/row.js';
import { printDocument } from '../model/serializer.js';
import type { Holds, Touched } from '../relations/holds.js';
import { validTargets } from '../relations/values.js';
import { requireCurrent } from '../store/errors.js';
import type { DocumentStore } from '../store/store.js';
import { createDocumentReads } from './reads.js';

/** Operations on documents that are part of a unit of work. */
export interface DocumentsOfUnit {
  /** The operations with their routes. They read and write within the unit. */
  readonly operations: readonly Operation[];
  /**
   * Locks the documents that the unit will change, and related ones, in the same order in all units. Skips missing documents and invalid
   * data.
   */
  hold(changes: readonly HeldChange[], matches: readonly HeldMatch[]): Promise<void>;
  /**
   * True if permissions allow the change, or the document does not exist. Takes no locks. The change may still be refused for other
   * reasons.
   */
  mayChange(change: HeldChange): Promise<boolean>;
  /** Locks a document until the end of the unit and returns its entity tag, regardless of permissions. Empty if it does not exist. */
  tagOf(where: CollectionContext, id: string): Promise<string>;
}

/** A document that will be changed with data, or deleted. */
export interface HeldChange {
  readonly where: CollectionContext;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly isRemoved: boolean;
}

/** Documents that match queries and will be changed or deleted together. */
export interface HeldMatch {
  readonly where: CollectionContext;
  readonly queries: readonly string[];
}

/** Matches of queries in a collection. */
interface Found extends Matched {
  readonly collection: Collection;
}

interface Parts {
  readonly databases: Databases;
  readonly store: DocumentStore;
  readonly changes: Changes;
  readonly bulk: BulkChanges;
  readonly idempotency: Idempotency;
  readonly holds: Holds;
}

interface Deps extends Pick<Parts, 'store' | 'bulk' | 'holds'> {
  readonly unit: Unit;
  readonly collections: Collections;
}

/** Creates the service of documents within a unit. Requests do not wait for others to share a statement, because a unit awaits only SQL. */
export function createDocumentsOfUnit(
  runtime: Pick<Runtime, 'sql' | 'clock' | 'config'>,
  unit: Unit,
  { databases, store, changes, bulk, idempotency, holds }: Parts,
): { readonly documents: Documents } & Omit<DocumentsOfUnit, 'operations'> {
  const inside = { ...runtime, db: within(unit) };
  const alone = (collection: Collection): Joined => ({
    lookup: (id) => unit.one(store.byIds(collection)([id])),
    create: ({ document }) => changes.insert(unit, collection, document),
  });
  const collections = createCollections(inside, databases, alone, true);
  const deps: Deps = { unit, store, bulk, holds, collections };
  const unshared: DocumentStore = { ...store, sharedList: () => undefined };
  return {
    documents: {
      ...createDocumentReads(inside, collections, unshared, (where, _collection, _request, read) => read(where)),
      ...createRepeats(inside, collections, store),
      ...createDocumentWrites(inside, collections, { changes, bulk, store }, idempotency),
    },
    hold: (held, matches) => hold(deps, held, matches),
    mayChange: (change) => mayChange(deps, change),
    tagOf: (where, id) =>
      collections.use(where, async (collection) => {
        await unit.one(store.permissions(collection, id));
        const row = await unit.one(store.one(collection, id, null, runtime.config.answerMaxBytes));
        if (row === undefined) return '';
        requireCurrent(collection, row.version);
        return etagOf(printDocument(toDocument(collection, row)));
      }),
  };
}

async function hold(deps: Deps, held: readonly HeldChange[], matches: readonly HeldMatch[]): Promise<void> {
  const { unit, holds } = deps;
  if (!holds.areNeeded) return;
  await holds.begin(
    unit,
    [...held, ...matches].map(({ where: { project, databaseId } }) => ({ projectId: project.id, databaseId })),
  );
  const named: Touched[] = [];
  for (const change of held) named.push(...(await touched(deps, change)));
  if (matches.length === 0) await holds.forAll(unit, named);
  else await holdMatched(deps, named, matches);
}

/** Collects a change and its nested changes. A change without permission takes no locks. */
async function touched(deps: Deps, change: HeldChange, isNamed = true, level = 0): Promise<Touched[]> {
  const { where, id, data, isRemoved } = change;
  if (level > relationLimits.levels || !(await mayChange(deps, change))) return [];
  const collection = await deps.collections.use(where, async (found) => found);
  const relations = validTargets(collection, data);
  const below: Touched[] = [];
  for (const { relation, targets } of relations)
    for (const target of targets) {
      if (target.input === undefined) continue;
      const related = { ...where, collectionId: relation.related.id };
      const inner = { where: related, id: target.id, data: target.input.data ?? {}, isRemoved: false };
      below.push(...(await touched(deps, inner, target.isNamed, level + 1)));
    }
  return [{ collection, id, isNamed, relations, isRemoved }, ...below];
}

async function mayChange({ unit, store, collections }: Deps, { where, id, isRemoved }: HeldChange): Promise<boolean> {
  try {
    return await collections.use(where, async (collection) => {
      const row = await unit.one(store.permissions(collection, id, false));
      const action = isRemoved ? 'delete' : 'update';
      if (row === undefined || collectionGrants(where, collection, action)) return true;
      return collection.documentSecurity && allows(JSON.parse(String(row.permissions)), action, rolesOf(where.actor));
    });
  } catch (error) {
    // The change itself is refused with this error.
    if (error instanceof Failure) return false;
    throw error;
  }
}

/**
 * Locks named and matching documents. If the matches change concurrently, or by the unit itself, locks whole collections instead: new
 * matches would be locked out of order.
 */
async function holdMatched(deps: Deps, named: readonly Touched[], matches: readonly HeldMatch[]): Promise<void> {
  const { unit, holds } = deps;
  const found = await matched(deps, matches);
  const wholes = found.map(({ collection }) => collection);
  if (!found.some((one) => isMoved(one, found, named))) {
    await unit.run({ sql: 'savepoint held', values: [] });
    await holds.forAll(unit, [...named, ...found.flatMap(touchedBy)]);
    const locked = new Set([...named, ...found.flatMap(touchedBy)].map(rowNameOf));
    const now = (await matched(deps, matches)).flatMap(touchedBy);
    if (now.every((one) => locked.has(rowNameOf(one)))) return;
    await unit.run({ sql: 'rollback to savepoint held', values: [] });
  }
  await holds.forAll(unit, named, wholes);
}

/** Finds the documents that queries match before any change of the unit. */
async function matched({ unit, bulk, collections }: Deps, matches: readonly HeldMatch[]): Promise<Found[]> {
  const all: Found[] = [];
  for (const { where, queries } of matches)
    try {
      const found = await collections.use(where, async (collection) => {
        return { collection, ...(await bulk.matched(unit, collection, queries)) };
      });
      all.push(found);
    } catch (error) {
      // The change itself is refused with this error.
      if (!(error instanceof Failure)) throw error;
    }
  return all;
}

function touchedBy({ collection, ids }: Found): Touched[] {
  return ids.map((id) => ({ collection, id, isNamed: true, isThere: true, relations: [], isRemoved: false }));
}

/** True if other changes of the unit can affect the matches. */
function isMoved(
  { isPart, collection: { number } }: Found,
  found: readonly Found[],
  named: readonly Touched[],
): boolean {
  const isHere = ({ collection }: { readonly collection: Collection }) => collection.number === number;
  return isPart && (named.some(isHere) || found.filter(isHere).length > 1);
}

function rowNameOf({ collection, id }: Touched): string {
  return `${collection.number}/${id}`;
}
