import type { WireActor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { answerLimits } from '#src/contract/limits.js';
import type { ReadFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { Lru } from '#src/platform/cache/lru.js';
import { createLoader, type Loader } from '#src/platform/db/batch.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Row } from '#src/platform/db/table.js';
import type { Runtime } from '#src/platform/index.js';
import { retry } from '#src/platform/runtime/retry.js';
import type { Collection, Databases } from '../../databases/index.js';
import type { StoredDocument } from '../model/document.js';
import { SchemaChanged } from '../store/errors.js';
import type { DocumentStore } from '../store/store.js';
import { type Creation, createCreation } from './creation.js';
import type { RowWrites } from './rows.js';

/** A collection of a project, and the caller of the request. */
export interface CollectionContext extends ReadFacts {
  readonly project: Project;
  readonly actor: WireActor;
  readonly databaseId: string;
  readonly collectionId: string;
}

/** Most attempts of one call. Each after the first means another change of the schema; a busy migration makes dozens in a row. */
const attempts = 100;
/** Bounds of the cache of collections with the texts of their statements. */
const cacheBounds = { bytes: 33_554_432, entries: 1000, largest: 4_194_304 } as const;

interface CachedCollection {
  readonly collection: Collection;
  /** Error for all callers except server keys if the collection or its database is disabled. */
  readonly hidden: 'database_not_found' | 'collection_not_found' | undefined;
  readonly joined: Joined;
}

/** Operations on a collection's documents that combine many requests in one statement. */
export interface Joined {
  /** Reads documents by id. */
  readonly lookup: Loader<Row>;
  readonly create: (creation: Creation) => Promise<StoredDocument>;
}

/** Lets requests on the documents of a collection share statements. */
export function joinRequests({ db, sql }: Pick<Runtime, 'db' | 'sql'>, store: DocumentStore, rowWrites: RowWrites) {
  return (collection: Collection): Joined => {
    const byIds = store.byIds(collection);
    return {
      lookup: createLoader(
        sql.dialect,
        async (ids) => {
          const rows = await db.all(byIds(ids));
          return new Map(rows.map((row) => [String(row.id), row]));
        },
        answerLimits.documentsTogether,
      ),
      create: createCreation({ db }, store, rowWrites, collection),
    };
  };
}

/** Cache of collections for requests on documents. */
export interface Collections {
  /** Finds the related collection with a number; undefined if it is disabled for the caller. Throws SchemaChanged if it is gone. */
  related(where: CollectionContext, number: number): Promise<Collection | undefined>;
  /** Removes a changed collection from the cache. */
  forget(where: CollectionContext): void;
  /** Runs the body with a collection, and again with the new one if the schema has changed. Disabled ones exist for server keys only. */
  use<T>(where: CollectionContext, body: (collection: Collection, joined: Joined) => Promise<T>): Promise<T>;
}

interface Deps {
  readonly db: Runtime['db'];
  readonly databases: Databases;
  readonly joinedOf: (collection: Collection) => Joined;
  readonly isWithinUnit: boolean;
  readonly cache: Lru<CachedCollection>;
}

/**
 * Creates the cache of collections for requests on documents. Every statement checks the version of the schema. If any process has changed
 * the schema, the collection is read again and the statement repeated. Within a caller's unit a repetition would write earlier changes of
 * the unit twice. SchemaChanged is thrown instead, and the caller starts the unit again.
 */
export function createCollections(
  { db }: Pick<Runtime, 'db'>,
  databases: Databases,
  joinedOf: (collection: Collection) => Joined,
  isWithinUnit = false,
): Collections {
  const cache = new Lru<CachedCollection>(cacheBounds);
  const deps: Deps = { db, databases, joinedOf, isWithinUnit, cache };
  return {
    related: (where, number) => related(deps, where, number),
    forget: (where) => {
      cache.delete(keyOf(where));
    },
    use: (where, body) => use(deps, where, body),
  };
}

async function related(deps: Deps, where: CollectionContext, number: number): Promise<Collection | undefined> {
  const key = keyOf(where);
  const found = await known(deps, where, key).catch((error: unknown) => {
    throw error instanceof Failure ? new SchemaChanged() : error;
  });
  if (hiddenBy(found, where) !== undefined) return undefined;
  if (found.collection.number === number) return found.collection;
  deps.cache.delete(key);
  throw new SchemaChanged();
}

/** Returns the collection. One that is disabled for the caller is read again, because another process may have enabled it. */
async function known(deps: Deps, where: CollectionContext, key: string): Promise<CachedCollection> {
  const entry = deps.cache.get(key);
  return entry === undefined || hiddenBy(entry, where) !== undefined ? load(deps, where, key) : entry;
}

/** Returns the error of a collection that is disabled for the caller. Server keys use disabled collections too. */
function hiddenBy({ hidden }: CachedCollection, { actor }: CollectionContext): CachedCollection['hidden'] {
  return actor.kind === 'key' ? undefined : hidden;
}

async function use<T>(
  deps: Deps,
  where: CollectionContext,
  body: (collection: Collection, joined: Joined) => Promise<T>,
): Promise<T> {
  const key = keyOf(where);
  let entry = await known(deps, where, key);
  return retry(
    async (attempt) => {
      if (attempt > 1) entry = await known(deps, where, key);
      const hidden = hiddenBy(entry, where);
      if (hidden !== undefined) throw new Failure(hidden);
      return body(entry.collection, entry.joined);
    },
    async (error, attempt) => {
      const { number, version } = entry.collection;
      const { collection } = mayBeStale(error) || isRefusal(error) ? await reload(deps, where, key, entry) : entry;
      // A new collection with the same id may have the same version. A related collection may have changed.
      const isSame = collection.number === number && collection.version === version;
      const mayBeRelated = error instanceof SchemaChanged || (collection.relations.length > 0 && mayBeStale(error));
      if (isSame && !mayBeRelated) return false;
      if (attempt >= attempts)
        throw error instanceof SchemaChanged
          ? new Failure('general_unavailable', { retryAfter: 1, cause: error })
          : error;
      if (deps.isWithinUnit) throw new SchemaChanged();
      return true;
    },
  );
}

async function load(
  { db, databases, joinedOf, cache }: Deps,
  { project, databaseId, collectionId }: CollectionContext,
  key: string,
): Promise<CachedCollection> {
  const found = await databases.findCollection(db, { projectId: project.id, databaseId, collectionId });
  if (found === undefined) {
    cache.delete(key);
    await databases.getDatabase(db, project.id, databaseId);
    throw new Failure('collection_not_found');
  }
  const { collection, databaseEnabled } = found;
  const hidden: CachedCollection['hidden'] = !databaseEnabled
    ? 'database_not_found'
    : collection.enabled
      ? undefined
      : 'collection_not_found';
  const entry: CachedCollection = { collection, hidden, joined: joinedOf(collection) };
  cache.set(key, entry, bytesOf(collection));
  return entry;
}

/** Reads the collection again. A unit of Postgres with a failed statement can read nothing more; its caller starts it again. */
function reload(deps: Deps, where: CollectionContext, key: string, entry: CachedCollection): Promise<CachedCollection> {
  return load(deps, where, key).catch((error: unknown) => {
    if (error instanceof DatabaseError && error.code === '25P02') return entry;
    throw error;
  });
}

/** True if the schema may have changed under the statement, such as for a missing table or column. */
function mayBeStale(error: unknown): boolean {
  return (
    error instanceof SchemaChanged ||
    (error instanceof DatabaseError && ['SQLITE_ERROR', '42P01', '42703', '0A000'].includes(error.code))
  );
}

function keyOf({ project, databaseId, collectionId }: CollectionContext): string {
  return `${project.id} ${databaseId} ${collectionId}`;
}

/** Estimated bytes of a cached collection: its own content, and texts of statements that name each attribute. The factors are measured. */
function bytesOf({ attributes, permissions }: Collection): number {
  return 8192 + 1200 * attributes.length + 4 * JSON.stringify([attributes, permissions]).length;
}

/** True for errors that an outdated schema may have caused. Only these justify reading the collection again. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof Failure &&
    [
      'user_unauthorized',
      'document_invalid_structure',
      'document_not_found',
      'general_query_invalid',
      'general_cursor_not_found',
    ].includes(error.type)
  );
}
