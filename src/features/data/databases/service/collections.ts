import { type ErrorType, Failure } from '#src/contract/errors.js';
import { schemaLimits } from '#src/contract/limits.js';
import { expandPermissions } from '#src/contract/permissions.js';
import { uniqueId } from '#src/contract/shapes.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Query } from '#src/platform/db/query.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { bind } from '#src/platform/runtime/bind.js';
import { attributeSeal } from '../encryption/index.js';
import { shownAttributes } from '../model/relation-sides.js';
import { type Collection, type CollectionPath, currentLayout } from '../model/schema.js';
import type {
  CollectionChange,
  CollectionDraft,
  CollectionService,
  CollectionSize,
  DatabaseService,
} from '../model/service.js';
import { collections } from '../model/store.js';
import { collectionRecordOf, type SchemaDeps } from './record.js';
import { removeRelations } from './relation-removal.js';
import { fulltextNumbers, tablesOf } from './tables.js';

export { recordOfPart, type SchemaDeps } from './record.js';

/** Changes the row of a collection. */
export interface CollectionRows {
  /** Reads a collection for a change and locks it against other changes. */
  lock(unit: Unit, path: CollectionPath): Promise<Collection>;
  /** The same, and locks the collections that it is or will be related to. */
  lockWithRelated(unit: Unit, path: CollectionPath, added?: readonly Collection[]): Promise<Collection>;
  /** Writes the change and returns the collection after it. */
  change(unit: Unit, collection: Collection, changed: Partial<Collection>): Promise<Collection>;
}

/** Dependencies of the services of attributes, indexes and relationships. */
export interface PartDeps extends SchemaDeps {
  readonly rows: CollectionRows;
}

/** Throws Failure if the schema exceeds its size limit: every request to the collection reads it. */
export function requireRoom(
  { attributes, indexes, relations }: Pick<Collection, 'attributes' | 'indexes' | 'relations'>,
  type: ErrorType,
): void {
  if (Buffer.byteLength(JSON.stringify([attributes, indexes, relations])) <= schemaLimits.bytes) return;
  throw new Failure(type, {
    message: ({ attributes, collection }) =>
      `The ${attributes} and indexes of a ${collection}, with defaults and elements, have at most ${schemaLimits.bytes} bytes together.`,
  });
}

/** Throws Failure if an attribute with this key exists, or the number of attributes is at its limit. */
export function requireFreeKey(collection: Collection, key: string, isAdded = true): void {
  const shown = shownAttributes(collection);
  if (shown.some((other) => other.key === key))
    throw new Failure('attribute_already_exists', { message: `The key "${key}" is taken already.` });
  if (isAdded && shown.length >= schemaLimits.attributes)
    throw new Failure('attribute_limit_exceeded', {
      message: `"${key}" cannot be added to "${collection.id}", which has ${schemaLimits.attributes} already, the most that it may have.`,
    });
}

/** Adds a column. Throws Failure if the database has no more columns, because it also counts removed ones. */
export async function addColumn(unit: Unit, key: string, statements: readonly Query[]): Promise<void> {
  try {
    for (const statement of statements) await unit.run(statement);
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind !== 'tooManyColumns') throw error;
    throw new Failure('attribute_limit_exceeded', {
      message: `"${key}" cannot be added: the database counts those that were removed, and allows no more.`,
    });
  }
}

/** The numbers of collections and of their related collections. */
export function numbersWithRelated(some: readonly Collection[]): readonly number[] {
  return some.flatMap(({ number, relations }) => [number, ...relations.map(({ related }) => related.number)]);
}

/** Removes one of the collections that a unit removes. Their rows and tables are locked. */
export async function removeWithTables(
  deps: SchemaDeps,
  unit: Unit,
  collection: Collection,
  removed: readonly Collection[],
): Promise<void> {
  const { store, ddl, removal } = deps;
  const { number, layout } = collection;
  const counted = await unit.one(
    layout === currentLayout ? store.countedDocuments(number) : store.countDocuments(number),
  );
  await removeRelations(deps, unit, number, new Set(removed.map((one) => one.number)));
  await removal.drop(unit, ddl.drop(number, fulltextNumbers(collection)));
  await unit.run(store.removeCollection(number));
  const { resource, payload } = collectionRecordOf(collection);
  unit.record('collectionDeleted', { resource, payload: { ...payload, documents: Number(counted?.count ?? 0) } });
}

interface Deps extends SchemaDeps {
  readonly getDatabase: DatabaseService['getDatabase'];
}

/** Collections: tables of documents. */
export function createCollectionService(
  schema: SchemaDeps,
  { getDatabase }: DatabaseService,
): { readonly rows: CollectionRows; readonly collections: CollectionService } {
  const deps: Deps = { ...schema, getDatabase };
  return {
    rows: bind(deps, { lock, lockWithRelated, change }),
    collections: bind(deps, {
      findCollection,
      getCollection,
      describedCollections,
      sizeOf,
      createCollection,
      updateCollection,
      removeCollection,
    }),
  };
}

async function findCollection({ store, sealing }: Deps, reader: Reader, path: CollectionPath) {
  const row = await reader.one(store.findCollection(path));
  if (row === undefined) return undefined;
  const found = collections.decode(row);
  const collection = { ...found, seal: attributeSeal(sealing, found, String(row.dataKey)) };
  return { collection, databaseEnabled: Number(row.databaseEnabled) === 1 };
}

async function getCollection(deps: Deps, reader: Reader, path: CollectionPath): Promise<Collection> {
  const found = await findCollection(deps, reader, path);
  if (found !== undefined) return found.collection;
  await deps.getDatabase(reader, path.projectId, path.databaseId);
  throw new Failure('collection_not_found');
}

async function describedCollections({ store }: Deps, reader: Reader, projectId: string) {
  const { bytes } = (await reader.one(store.attributeBytes(projectId))) ?? {};
  if (Number(bytes ?? 0) > schemaLimits.describedBytes) return undefined;
  return (await reader.all(store.allCollections(projectId))).map((row) => collections.decode(row));
}

async function sizeOf(deps: Deps, reader: Reader, path: CollectionPath): Promise<CollectionSize> {
  const collection = await getCollection(deps, reader, path);
  const { number } = collection;
  return {
    rows: await measured(reader, deps.store.countDocuments(number), 'count'),
    bytes: await measured(reader, deps.store.bytesOf(number, fulltextNumbers(collection)), 'bytes'),
  };
}

/** A number, or null if counting exceeds the time limit of a statement. */
async function measured(reader: Reader, query: Query, column: string): Promise<number | null> {
  try {
    return Number((await reader.one(query))?.[column]);
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === 'timeout') return null;
    throw error;
  }
}

async function createCollection(
  { store, ddl, random, getDatabase }: Deps,
  unit: Unit,
  { projectId, databaseId, collectionId }: CollectionPath,
  input: CollectionDraft,
): Promise<Collection> {
  // Locked, so that the database is not deleted before the collection is inserted. A database created after this read is not locked.
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
    tracked: true,
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
  unit.record('collectionCreated', collectionRecordOf(collection));
  return collection;
}

async function updateCollection(deps: Deps, unit: Unit, path: CollectionPath, input: CollectionChange) {
  const collection = await lock(deps, unit, path);
  const changed = await change(deps, unit, collection, {
    name: input.name ?? collection.name,
    enabled: input.enabled ?? collection.enabled,
    documentSecurity: input.documentSecurity ?? collection.documentSecurity,
    permissions:
      input.permissions === undefined ? collection.permissions : expandPermissions(input.permissions, 'container'),
  });
  unit.record('collectionUpdated', collectionRecordOf(changed));
  return changed;
}

async function removeCollection(deps: Deps, unit: Unit, path: CollectionPath): Promise<void> {
  const collection = await lockWithRelated(deps, unit, path);
  await deps.tables.lock(unit, [collection], tablesOf([collection]));
  await removeWithTables(deps, unit, collection, [collection]);
}

async function lock(deps: Deps, unit: Unit, path: CollectionPath): Promise<Collection> {
  await unit.all(deps.store.lockCollection(path));
  return getCollection(deps, unit, path);
}

async function lockWithRelated(deps: Deps, unit: Unit, path: CollectionPath, added: readonly Collection[] = []) {
  const before = await getCollection(deps, unit, path);
  await unit.all(deps.store.hold(numbersWithRelated([before]).concat(added.map(({ number }) => number))));
  return lock(deps, unit, path);
}

async function change({ store }: Deps, unit: Unit, collection: Collection, changed: Partial<Collection>) {
  const all = { ...changed, updatedAt: unit.now };
  await unit.run(store.updateCollection(collection.number, all));
  return { ...collection, ...all };
}
