import type { WireActor } from '#src/contract/actor.js';
import type { AnswerRoom } from '#src/contract/answer-room.js';
import { Failure } from '#src/contract/errors.js';
import { answerLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Reading } from '#src/contract/reading.js';
import { createLoader, type Loader } from '#src/platform/db/batch.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Row } from '#src/platform/db/table.js';
import type { Runtime } from '#src/platform/index.js';
import { Lru } from '#src/platform/lru.js';
import type { Collection, Databases } from '../databases/index.js';
import type { RowWrites } from './changes/rows.js';
import { type Creation, createCreation } from './creation.js';
import type { StoredDocument } from './document.js';
import { SchemaChanged } from './errors.js';
import type { DocumentStore } from './store.js';

/** Which collection of which project, and on whose behalf. */
export interface Where {
  readonly project: Project;
  readonly actor: WireActor;
  readonly databaseId: string;
  readonly collectionId: string;
  readonly reading: Reading;
  /** The bytes that the answer may have. */
  readonly room: AnswerRoom;
}

/** On whose behalf a change is made. */
export type AuditContext = Parameters<Runtime['db']['work']>[0];

/** Each attempt after the first means that the schema has changed once more; a busy migration changes it dozens of times in a row. */
const attempts = 100;
/** Collections that are kept, with the texts of their statements. */
const cacheBounds = { bytes: 33_554_432, entries: 1000, largest: 4_194_304 } as const;

interface CachedCollection {
  readonly collection: Collection;
  /** What everybody but server keys is answered, where the collection or its database is disabled. */
  readonly hidden: 'database_not_found' | 'collection_not_found' | undefined;
  readonly joined: Joined;
}

/** What requests do to a collection's documents together, many in one statement. */
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

/**
 * Collections as requests on documents need them. They are kept from request to request, and every statement checks the version: where it
 * has grown meanwhile, by whatever process, the collection is read anew and the statement made again. Within a unit of others it is not: what
 * the unit has written would be written once more, so that whoever runs the unit begins anew, for SchemaChanged.
 */
export function createCollections(
  { db }: Pick<Runtime, 'db'>,
  databases: Databases,
  joinedOf: (collection: Collection) => Joined,
  isWithinUnit = false,
) {
  const cache = new Lru<CachedCollection>(cacheBounds);

  const load = async ({ project, databaseId, collectionId }: Where, key: string): Promise<CachedCollection> => {
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
  };
  /** A unit of Postgres in which a statement has failed reads nothing any more; who runs it begins anew. */
  const reload = (where: Where, key: string, entry: CachedCollection): Promise<CachedCollection> =>
    load(where, key).catch((error: unknown) => {
      if (error instanceof DatabaseError && error.code === '25P02') return entry;
      throw error;
    });
  /** A table or column that is gone: the schema has changed under the statement, unless it has not. */
  const mayBeStale = (error: unknown) =>
    error instanceof SchemaChanged ||
    (error instanceof DatabaseError && ['SQLITE_ERROR', '42P01', '42703', '0A000'].includes(error.code));

  /** As callers have a collection: a disabled one is there for server keys only, and one that was may be enabled meanwhile. */
  const known = async (where: Where, key: string): Promise<CachedCollection | undefined> => {
    const entry = cache.get(key) ?? (await load(where, key));
    if (entry.hidden === undefined || where.actor.kind === 'key') return entry;
    const fresh = await load(where, key);
    return fresh.hidden === undefined ? fresh : undefined;
  };

  return {
    /** The related collection with a number; undefined where it is disabled for the caller. */
    related: async (where: Where, number: number): Promise<Collection | undefined> => {
      const key = keyOf(where);
      const found = await known(where, key).catch((error: unknown) => {
        throw error instanceof Failure ? new SchemaChanged() : error;
      });
      if (found === undefined || found.collection.number === number) return found?.collection;
      cache.delete(key);
      throw new SchemaChanged();
    },
    /** The collection is another one now. */
    forget: (where: Where): void => {
      cache.delete(keyOf(where));
    },
    /** Runs the body with a collection, again with the new one when the schema has changed. Disabled ones exist for server keys only. */
    use: async <T>(where: Where, body: (collection: Collection, joined: Joined) => Promise<T>): Promise<T> => {
      const key = keyOf(where);
      for (let attempt = 1; ; attempt++) {
        const entry = cache.get(key) ?? (await load(where, key));
        if (entry.hidden !== undefined && where.actor.kind !== 'key') {
          // Switched on again, perhaps, by another process.
          const fresh = await load(where, key);
          if (fresh.hidden !== undefined) throw new Failure(fresh.hidden);
          continue;
        }
        try {
          return await body(entry.collection, entry.joined);
        } catch (error) {
          const { number, version } = entry.collection;
          const { collection } = mayBeStale(error) || isRefusal(error) ? await reload(where, key, entry) : entry;
          // Another collection under the same id may well have the same version, and a related one may have changed.
          const isSame = collection.number === number && collection.version === version;
          const mayBeRelated = error instanceof SchemaChanged || (collection.relations.length > 0 && mayBeStale(error));
          if ((isSame && !mayBeRelated) || attempt >= attempts) throw error;
          if (isWithinUnit) throw new SchemaChanged();
        }
      }
    },
  };
}

function keyOf({ project, databaseId, collectionId }: Where): string {
  return `${project.id} ${databaseId} ${collectionId}`;
}

/** A collection, and texts that name each of its attributes: as measured, some hundred bytes for each, and what it holds itself. */
function bytesOf({ attributes, permissions }: Collection): number {
  return 8192 + 1200 * attributes.length + 4 * JSON.stringify([attributes, permissions]).length;
}

/** Collections as requests on documents need them. */
export type Collections = ReturnType<typeof createCollections>;

/** Refusals that the old schema may have caused; only then is it worth reading the collection again. */
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
