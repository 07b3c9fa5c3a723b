import { Failure } from '#src/contract/errors.js';
import type { Operation } from '#src/contract/operation.js';
import { allows, rolesOf } from '#src/contract/permissions.js';
import type { DatabaseOfProject, TableLocks } from '#src/platform/db/table-locks.js';
import type { Unit } from '#src/platform/db/unit.js';
import { within } from '#src/platform/db/within.js';
import type { Runtime } from '#src/platform/index.js';
import { etagOf } from '#src/platform/text/etag.js';
import type { Idempotency } from '../../../installation/index.js';
import type { Collection, Databases } from '../../databases/index.js';
import { collectionGrants } from '../access/access.js';
import { type CollectionContext, type Collections, createCollections, type Joined } from '../access/collections.js';
import type { Documents } from '../access/service.js';
import type { BulkChanges } from '../changes/bulk.js';
import type { Changes } from '../changes/index.js';
import { createDocumentWrites } from '../changes/writes.js';
import { toDocument } from '../model/row.js';
import { printDocument } from '../model/serializer.js';
import { requireCurrent } from '../store/errors.js';
import type { DocumentStore } from '../store/store.js';
import { createDocumentReads } from './reads.js';

/** Operations on documents that are part of a unit of work. */
export interface DocumentsOfUnit {
  /** The operations with their routes. They read and write within the unit. */
  readonly operations: readonly Operation[];
  /** Blocks other changes of several documents in these databases. */
  lock(databases: readonly DatabaseOfProject[]): Promise<void>;
  /**
   * True if permissions allow the change, or the document does not exist. Takes no locks. The change may still be refused for other
   * reasons.
   */
  mayChange(change: NamedChange): Promise<boolean>;
  /** Locks a document until the end of the unit and returns its entity tag, regardless of permissions. Empty if it does not exist. */
  tagOf(where: CollectionContext, id: string): Promise<string>;
}

/** A document that will be changed, or deleted. */
export interface NamedChange {
  readonly where: CollectionContext;
  readonly id: string;
  readonly isRemoved: boolean;
}

interface Parts {
  readonly databases: Databases;
  readonly store: DocumentStore;
  readonly changes: Changes;
  readonly bulk: BulkChanges;
  readonly idempotency: Idempotency;
  readonly tables: TableLocks;
}

interface Deps extends Pick<Parts, 'store'> {
  readonly unit: Unit;
  readonly collections: Collections;
}

/** Creates the service of documents within a unit. Requests do not wait for others to share a statement, because a unit awaits only SQL. */
export function createDocumentsOfUnit(
  runtime: Pick<Runtime, 'sql' | 'clock' | 'config'>,
  unit: Unit,
  { databases, store, changes, bulk, idempotency, tables }: Parts,
): { readonly documents: Documents } & Omit<DocumentsOfUnit, 'operations'> {
  const inside = { ...runtime, db: within(unit) };
  const alone = (collection: Collection): Joined => ({
    lookup: (id) => unit.one(store.byIds(collection)([id])),
    create: ({ document }) => changes.insert(unit, collection, document),
  });
  const collections = createCollections(inside, databases, alone, true);
  const deps: Deps = { unit, store, collections };
  const unshared: DocumentStore = { ...store, sharedList: () => undefined };
  return {
    documents: {
      ...createDocumentReads(inside, collections, unshared, (where, _collection, _request, read) => read(where)),
      ...createDocumentWrites(inside, collections, { changes, bulk, store }, idempotency),
    },
    lock: (places) => tables.write(unit, places),
    mayChange: (change) => mayChange(deps, change),
    tagOf: (where, id) =>
      collections.use(where, async (collection) => {
        await unit.one(store.permissions(collection, id));
        const row = await unit.one(store.one(collection, id, null));
        if (row === undefined) return '';
        requireCurrent(collection, row.version);
        return etagOf(printDocument(toDocument(collection, row)));
      }),
  };
}

async function mayChange({ unit, store, collections }: Deps, { where, id, isRemoved }: NamedChange): Promise<boolean> {
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
