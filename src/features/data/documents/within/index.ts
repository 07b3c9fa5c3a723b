import { Failure } from '#src/contract/errors.js';
import { relationLimits } from '#src/contract/limits.js';
import type { Operation } from '#src/contract/operation.js';
import { allows, rolesOf } from '#src/contract/permissions.js';
import type { Unit } from '#src/platform/db/unit.js';
import { within } from '#src/platform/db/within.js';
import { etagOf } from '#src/platform/etag.js';
import type { Runtime } from '#src/platform/index.js';
import type { Idempotency } from '../../../installation/index.js';
import type { Collection, Databases } from '../../databases/index.js';
import { grants } from '../access.js';
import type { BulkChanges, Matched } from '../changes/bulk.js';
import type { Changes } from '../changes/index.js';
import { createCollections, type Joined, type Where } from '../collections.js';
import { demandCurrent } from '../errors.js';
import { createReads } from '../reads.js';
import type { Holds, Touched } from '../relations/holds.js';
import { validTargets } from '../relations/values.js';
import { toDocument } from '../row.js';
import { printDocument } from '../serializer.js';
import type { Documents } from '../service.js';
import type { DocumentStore } from '../store.js';
import { createWrites } from '../writes.js';

/** Operations on documents that are parts of a unit of work. */
export interface DocumentsOfUnit {
  /** The operations with their routes; what they read and change belongs to the unit. */
  readonly operations: readonly Operation[];
  /** Locks the documents that the unit will change, and those related to them, in one order for all units; what is not there or not valid is left out. */
  hold(changes: readonly HeldChange[], matches: readonly HeldMatch[]): Promise<void>;
  /** Whether the caller may make a change, or make the document that is not there: nothing is locked, and it may be refused for other reasons. */
  mayChange(change: HeldChange): Promise<boolean>;
  /** Locks a document until the end of the unit and names its state, whoever may read it; empty where there is none. */
  tagOf(where: Where, id: string): Promise<string>;
}

/** A document that will be changed to hold some data, or be deleted. */
export interface HeldChange {
  readonly where: Where;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly isRemoved: boolean;
}

/** Documents that match queries and will be changed or deleted together. */
export interface HeldMatch {
  readonly where: Where;
  readonly queries: readonly string[];
}

/** What queries match in a collection. */
interface Found extends Matched {
  readonly collection: Collection;
}

interface Deps {
  readonly databases: Databases;
  readonly store: DocumentStore;
  readonly changes: Changes;
  readonly bulk: BulkChanges;
  readonly idempotency: Idempotency;
  readonly holds: Holds;
}

/** Builds the service of documents over a unit. No request of it waits for others to share a statement: a unit awaits only SQL. */
export function createDocumentsOfUnit(
  runtime: Pick<Runtime, 'sql' | 'clock' | 'config'>,
  unit: Unit,
  { databases, store, changes, bulk, idempotency, holds }: Deps,
): { readonly documents: Documents } & Omit<DocumentsOfUnit, 'operations'> {
  const inside = { ...runtime, db: within(unit) };
  const alone = (collection: Collection): Joined => ({
    lookup: (id) => unit.one(store.byIds(collection)([id])),
    create: ({ document }) => changes.insert(unit, collection, document),
  });
  const collections = createCollections(inside, databases, alone, true);
  const mayChange: DocumentsOfUnit['mayChange'] = async ({ where, id, isRemoved }) => {
    try {
      return await collections.use(where, async (collection) => {
        const row = await unit.one(store.permissions(collection, id, false));
        const action = isRemoved ? 'delete' : 'update';
        if (row === undefined || grants(where, collection, action)) return true;
        return collection.documentSecurity && allows(JSON.parse(String(row.permissions)), action, rolesOf(where.actor));
      });
    } catch (error) {
      // The change itself is refused for it.
      if (error instanceof Failure) return false;
      throw error;
    }
  };
  /** A change with those of documents below its own. Who may not make it holds nobody up. */
  const touched = async (change: HeldChange, isNamed = true, level = 0): Promise<Touched[]> => {
    const { where, id, data, isRemoved } = change;
    if (level > relationLimits.levels || !(await mayChange(change))) return [];
    const collection = await collections.use(where, async (found) => found);
    const relations = validTargets(collection, data);
    const below: Touched[] = [];
    for (const { relation, targets } of relations)
      for (const target of targets) {
        if (target.input === undefined) continue;
        const related = { ...where, collectionId: relation.related.id };
        const inner = { where: related, id: target.id, data: target.input.data ?? {}, isRemoved: false };
        below.push(...(await touched(inner, target.isNamed, level + 1)));
      }
    return [{ collection, id, isNamed, relations, isRemoved }, ...below];
  };
  /** What queries match before any change of the unit. */
  const matched = async (matches: readonly HeldMatch[]): Promise<Found[]> => {
    const all: Found[] = [];
    for (const { where, queries } of matches)
      try {
        const found = await collections.use(where, async (collection) => {
          return { collection, ...(await bulk.matched(unit, collection, queries)) };
        });
        all.push(found);
      } catch (error) {
        // The change itself is refused for it.
        if (!(error instanceof Failure)) throw error;
      }
    return all;
  };
  /** Locks what is named and what matches. If that changes meanwhile, or by the unit itself, locks the collections: what matches then would be locked out of the order. */
  const holdMatched = async (named: readonly Touched[], matches: readonly HeldMatch[]): Promise<void> => {
    const found = await matched(matches);
    const wholes = found.map(({ collection }) => collection);
    if (!found.some((one) => isMoved(one, found, named))) {
      await unit.run({ sql: 'savepoint held', values: [] });
      await holds.forAll(unit, [...named, ...found.flatMap(touchedBy)]);
      const locked = new Set([...named, ...found.flatMap(touchedBy)].map(rowNameOf));
      const now = (await matched(matches)).flatMap(touchedBy);
      if (now.every((one) => locked.has(rowNameOf(one)))) return;
      await unit.run({ sql: 'rollback to savepoint held', values: [] });
    }
    await holds.forAll(unit, named, wholes);
  };
  const unshared: DocumentStore = { ...store, sharedList: () => undefined };
  return {
    documents: {
      ...createReads(inside, collections, unshared, (where, _collection, _request, read) => read(where)),
      ...createWrites(inside, collections, { changes, bulk }, idempotency),
    },
    hold: async (held, matches) => {
      if (!holds.areNeeded) return;
      await holds.begin(
        unit,
        [...held, ...matches].map(({ where: { project, databaseId } }) => ({ projectId: project.id, databaseId })),
      );
      const named: Touched[] = [];
      for (const change of held) named.push(...(await touched(change)));
      if (matches.length === 0) await holds.forAll(unit, named);
      else await holdMatched(named, matches);
    },
    mayChange,
    tagOf: (where, id) =>
      collections.use(where, async (collection) => {
        await unit.one(store.permissions(collection, id));
        const row = await unit.one(store.one(collection, id, null, runtime.config.answerMaxBytes));
        if (row === undefined) return '';
        demandCurrent(collection, row.version);
        return etagOf(printDocument(toDocument(collection, row)));
      }),
  };
}

function touchedBy({ collection, ids }: Found): Touched[] {
  return ids.map((id) => ({ collection, id, isNamed: true, isThere: true, relations: [], isRemoved: false }));
}

/** Whether other changes of the unit decide on which documents match. */
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
