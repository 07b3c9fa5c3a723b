import type { Project } from '#src/contract/project.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Runtime } from '#src/platform/index.js';
import type { Collection, Databases } from '../../databases/index.js';
import type { DocumentStore } from './store.js';

/** Ids of a document, its collection and its database. */
interface DocumentPath {
  readonly databaseId: string;
  readonly collectionId: string;
  readonly documentId: string;
}

/** Current stored permissions that decide who may read a document. */
interface DocumentReaders {
  /** Unique for each collection. */
  readonly containerKey: string;
  readonly container: readonly string[];
  readonly itemSecurity: boolean;
  /** Undefined if the document does not exist or its own permissions do not count. */
  readonly item: readonly string[] | undefined;
}

/**
 * Creates the lookup of current readers of documents. The result is undefined if the collection is gone or disabled. It caches nothing, so
 * revoked permissions take effect at once.
 */
export function createDocumentReaders({ db }: Pick<Runtime, 'db'>, databases: Databases, store: DocumentStore) {
  const permissions = async (collection: Collection, ids: readonly string[]) => {
    if (!collection.documentSecurity) return new Map<string, readonly string[]>();
    const rows = await db.all(store.permissionsOf(collection, ids)).catch((error: unknown) => {
      // The collection was deleted between the two reads.
      if (error instanceof DatabaseError && ['SQLITE_ERROR', '42P01'].includes(error.code)) return [];
      throw error;
    });
    return new Map(rows.map((row) => [String(row.id), JSON.parse(String(row.permissions)) as readonly string[]]));
  };
  const ofCollection = async (project: Project, databaseId: string, collectionId: string, ids: readonly string[]) => {
    const found = await databases.findCollection(db, { projectId: project.id, databaseId, collectionId });
    if (found === undefined || !found.databaseEnabled || !found.collection.enabled) return undefined;
    return { collection: found.collection, documents: await permissions(found.collection, ids) };
  };
  return async (
    project: Project,
    paths: readonly DocumentPath[],
  ): Promise<readonly (DocumentReaders | undefined)[]> => {
    const keyOf = ({ databaseId, collectionId }: DocumentPath) => `${databaseId} ${collectionId}`;
    const groups = new Map<string, DocumentPath[]>();
    for (const path of paths) groups.set(keyOf(path), [...(groups.get(keyOf(path)) ?? []), path]);
    const collections = new Map<string, Awaited<ReturnType<typeof ofCollection>>>();
    for (const [key, [first, ...others]] of groups) {
      if (first === undefined) continue;
      const ids = new Set([first, ...others].map(({ documentId }) => documentId));
      collections.set(key, await ofCollection(project, first.databaseId, first.collectionId, [...ids]));
    }
    return paths.map((path) => {
      const found = collections.get(keyOf(path));
      if (found === undefined) return undefined;
      const { number, permissions: container, documentSecurity: itemSecurity } = found.collection;
      return { containerKey: String(number), container, itemSecurity, item: found.documents.get(path.documentId) };
    });
  };
}
