import { type ErrorType, Failure } from '#src/contract/errors.js';
import { schemaLimits } from '#src/contract/limits.js';
import { expandPermissions } from '#src/contract/permissions.js';
import { uniqueId } from '#src/contract/shapes.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Query } from '#src/platform/db/query.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { shownAttributes } from '../relations/relation.js';
import { removeRelations } from '../relations/removal.js';
import { type Collection, type CollectionPath, currentLayout } from '../schema.js';
import type { CollectionService, DatabaseService } from '../service.js';
import { collections } from '../store.js';
import { recordOf, type SchemaDeps } from './record.js';
import { fulltextNumbers, tablesOf } from './tables.js';

export { recordOfPart, type SchemaDeps } from './record.js';

/** How the row of a collection is changed. */
export interface CollectionRows {
  /** Reads a collection for a change; others that change it wait. */
  lock(unit: Unit, path: CollectionPath): Promise<Collection>;
  /** The same before the collections that it is or will be related to are changed, too. */
  lockWithRelated(unit: Unit, path: CollectionPath, added?: readonly Collection[]): Promise<Collection>;
  /** Writes what is changed and returns the collection as it is then. */
  change(unit: Unit, collection: Collection, changed: Partial<Collection>): Promise<Collection>;
}

/** Throws Failure where the schema has become larger than what every request to the collection can bear to read. */
export function demandRoom(
  { attributes, indexes, relations }: Pick<Collection, 'attributes' | 'indexes' | 'relations'>,
  type: ErrorType,
): void {
  if (Buffer.byteLength(JSON.stringify([attributes, indexes, relations])) <= schemaLimits.bytes) return;
  throw new Failure(type, {
    message: `The attributes and indexes of a collection, with defaults and elements, have at most ${schemaLimits.bytes} bytes together.`,
  });
}

/** Throws Failure where an attribute of that key cannot be added: it is there, or there are as many as there may be. */
export function demandFreeKey(collection: Collection, key: string, isAdded = true): void {
  const shown = shownAttributes(collection);
  if (shown.some((other) => other.key === key))
    throw new Failure('attribute_already_exists', { message: `The key "${key}" is taken already.` });
  if (isAdded && shown.length >= schemaLimits.attributes)
    throw new Failure('attribute_limit_exceeded', {
      message: `"${key}" cannot be added to "${collection.id}", which has ${schemaLimits.attributes} already, the most that it may have.`,
    });
}

/** The refusal of a column that the database does not add: it counts those that were removed. */
export function tooManyColumns(key: string): Failure {
  return new Failure('attribute_limit_exceeded', {
    message: `"${key}" cannot be added: the database counts those that were removed, and allows no more.`,
  });
}

/** The numbers of collections and of those that they are related to. */
export function numbersWithRelated(some: readonly Collection[]): readonly number[] {
  return some.flatMap(({ number, relations }) => [number, ...relations.map(({ related }) => related.number)]);
}

/** Removes a collection, whose row is held, with its tables, which are locked. */
export async function removeWithTables(unit: Unit, deps: SchemaDeps, collection: Collection): Promise<void> {
  const { store, ddl } = deps;
  const { number, layout } = collection;
  const counted = await unit.one(
    layout === currentLayout ? store.countedDocuments(number) : store.countDocuments(number),
  );
  await removeRelations(unit, deps, number);
  for (const statement of ddl.drop(number, fulltextNumbers(collection))) await unit.run(statement);
  await unit.run(store.removeCollection(number));
  const { resource, payload } = recordOf(collection);
  unit.record('collectionDeleted', { resource, payload: { ...payload, documents: Number(counted?.count ?? 0) } });
}

/** Collections: tables of documents. */
export function createCollections(
  deps: SchemaDeps,
  { getDatabase }: DatabaseService,
): { readonly rows: CollectionRows; readonly collections: CollectionService } {
  const { store, ddl, random } = deps;
  const findCollection: CollectionService['findCollection'] = async (reader, path) => {
    const row = await reader.one(store.findCollection(path));
    if (row === undefined) return undefined;
    return { collection: collections.decode(row), databaseEnabled: Number(row.databaseEnabled) === 1 };
  };
  const getCollection: CollectionService['getCollection'] = async (reader, path) => {
    const found = await findCollection(reader, path);
    if (found !== undefined) return found.collection;
    await getDatabase(reader, path.projectId, path.databaseId);
    throw new Failure('collection_not_found');
  };
  const lock: CollectionRows['lock'] = async (unit, path) => {
    await unit.all(store.lockCollection(path));
    return getCollection(unit, path);
  };
  const lockWithRelated: CollectionRows['lockWithRelated'] = async (unit, path, added = []) => {
    const before = await getCollection(unit, path);
    await unit.all(store.hold(numbersWithRelated([before]).concat(added.map(({ number }) => number))));
    return lock(unit, path);
  };
  const change: CollectionRows['change'] = async (unit, collection, changed) => {
    const all = { ...changed, updatedAt: unit.now };
    await unit.run(store.updateCollection(collection.number, all));
    return { ...collection, ...all };
  };
  const service: CollectionService = {
    findCollection,
    getCollection,
    describedCollections: async (reader, projectId) => {
      const { bytes } = (await reader.one(store.attributeBytes(projectId))) ?? {};
      if (Number(bytes ?? 0) > schemaLimits.describedBytes) return undefined;
      return (await reader.all(store.allCollections(projectId))).map((row) => collections.decode(row));
    },
    sizeOf: async (reader, path) => {
      const collection = await getCollection(reader, path);
      const { number } = collection;
      const fulltext = fulltextNumbers(collection);
      return {
        rows: await measured(reader, store.countDocuments(number), 'count'),
        bytes: await measured(reader, store.bytesOf(number, fulltext), 'bytes'),
      };
    },
    createCollection: async (unit, { projectId, databaseId, collectionId }, input) => {
      // Nobody deletes it before there is the collection. One that is made anew after this look is not locked.
      if ((await unit.one(store.lock(projectId, databaseId))) === undefined) throw new Failure('database_not_found');
      await getDatabase(unit, projectId, databaseId);
      const number = Number((await unit.one(store.nextNumber()))?.last);
      const { count } = (await unit.one(store.countCollections(projectId))) ?? {};
      if (Number(count) >= schemaLimits.collections) throw new Failure('collection_limit_exceeded');
      const collection: Collection = {
        ...input,
        id: collectionId === uniqueId ? random.id() : collectionId,
        projectId,
        databaseId,
        number,
        version: 1,
        layout: currentLayout,
        upgradedTo: null,
        permissions: expandPermissions(input.permissions, 'container'),
        attributes: [],
        indexes: [],
        relations: [],
        lastPart: 0,
        createdAt: unit.now,
        updatedAt: unit.now,
      };
      if ((await unit.one(store.insertCollection(collection))) === undefined)
        throw new Failure('collection_already_exists');
      for (const statement of ddl.create(number)) await unit.run(statement);
      unit.record('collectionCreated', recordOf(collection));
      return collection;
    },
    updateCollection: async (unit, path, input) => {
      const collection = await lock(unit, path);
      const changed = await change(unit, collection, {
        name: input.name ?? collection.name,
        enabled: input.enabled ?? collection.enabled,
        documentSecurity: input.documentSecurity ?? collection.documentSecurity,
        permissions:
          input.permissions === undefined ? collection.permissions : expandPermissions(input.permissions, 'container'),
      });
      unit.record('collectionUpdated', recordOf(changed));
      return changed;
    },
    removeCollection: async (unit, path) => {
      const collection = await lockWithRelated(unit, path);
      await deps.tables.lock(unit, [collection], tablesOf([collection]));
      await removeWithTables(unit, deps, collection);
    },
  };
  return { rows: { lock, lockWithRelated, change }, collections: service };
}

/** A number, or null where a statement may not run long enough to count it. */
async function measured(reader: Reader, query: Query, column: string): Promise<number | null> {
  try {
    return Number((await reader.one(query))?.[column]);
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === 'timeout') return null;
    throw error;
  }
}
