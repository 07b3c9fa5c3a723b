import { join } from 'node:path';
import { type ForeignRow, type ForeignSqlite, openForeignSqlite } from '#src/platform/foreign-databases/index.js';
import { notFoundError, usageError } from '../../terminal/exit.js';
import { objectOf } from '../../user-records/index.js';
import { foundAt } from '../found.js';
import { itemPermissions } from '../grants.js';
import type { ImportSource } from '../source.js';
import { createUnsupportedList, type UnsupportedList } from '../unsupported-list.js';
import { userGroups } from './access.js';
import { type PocketBaseCollection, readCollections } from './collections.js';
import { importedValue, isoTime, textsOf } from './fields.js';
import { fileIdOf, storedFile } from './files.js';
import { type CollectionPart, partsOf } from './parts.js';
import { rowsOf } from './rows.js';
import { fileNames, listUnsupportedOfUsers, pocketBaseUsers } from './users.js';

/** The place of an import. */
interface Target {
  readonly projectId: string;
  /** The id of the database for the collections. */
  readonly databaseId: string;
}

/** Opens the directory `pb_data` of PocketBase, which may be running. Throws CommandError. */
export async function openPocketBase(directory: string, target: Target): Promise<ImportSource> {
  const file = join(directory, 'data.db');
  if (foundAt(file)?.isFile() !== true)
    throw notFoundError('file_not_found', `${directory} has no file data.db.`, 'name the directory pb_data');
  const database = await openForeignSqlite(file).catch((error: Error) => {
    throw usageError(
      `${file} cannot be read: ${error.message}.`,
      'check that it is a database of PocketBase, and its permissions',
    );
  });
  try {
    return await sourceOf(database, directory, file, target);
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function sourceOf(
  database: ForeignSqlite,
  directory: string,
  file: string,
  { projectId, databaseId }: Target,
): Promise<ImportSource> {
  const collections = await readCollections(database, file);
  const unsupported = createUnsupportedList();
  const groups = userGroups(collections);
  const { parts, schemas, buckets } = await partsOf(database, collections, groups, unsupported);
  const auth = collections.filter(({ type, system }) => type === 'auth' && !system);
  const users = { database, unsupported, labels: groups.labels };
  await listUnsupportedOfUsers(users, auth);
  const storesElsewhere = await usesS3(database);
  const storage = join(directory, 'storage');
  const partOf = (id: string) => parts.find((part) => part.id === id);
  return {
    schema: {
      project: { $id: projectId },
      databases: [
        {
          $id: databaseId,
          name: 'PocketBase',
          collections: schemas,
        },
      ],
      buckets,
    },
    users: () =>
      allUsers(auth, (source) =>
        pocketBaseUsers(
          users,
          source,
          parts.find((part) => part.source === source && !part.hasDocuments),
        ),
      ),
    memberships: async function* () {},
    documents: (_, collectionId) => documentsOf(database, partOf(collectionId)),
    files: (bucketId) => filesOf(database, partOf(bucketId), storage, storesElsewhere ? unsupported : undefined),
    unsupported: unsupported.all,
    close: database.close,
  };
}

async function* allUsers(
  auth: readonly PocketBaseCollection[],
  read: (source: PocketBaseCollection) => ReturnType<ImportSource['users']>,
) {
  for (const source of auth) yield* read(source);
}

/** True if the settings say so. Encrypted settings are unreadable; then files that are not in the directory are reported one by one. */
async function usesS3(database: ForeignSqlite): Promise<boolean> {
  const [row] = await database.all("SELECT value FROM _params WHERE id = 'settings'");
  return objectOf(objectOf(row?.value)?.s3)?.enabled === true;
}

function permissionsOf({ access }: CollectionPart, row: ForeignRow): string[] {
  return itemPermissions(access, (member) => textsOf(row[member]));
}

async function* documentsOf(database: ForeignSqlite, part: CollectionPart | undefined) {
  if (part === undefined) return;
  for await (const rows of rowsOf(database, part.source, part.rowBytes))
    for (const row of rows) {
      const id = String(row.id);
      yield {
        id,
        permissions: permissionsOf(part, row),
        createdAt: isoTime(row.created),
        updatedAt: isoTime(row.updated),
        data: Object.fromEntries(
          [...part.fields].map(([field, key]) => [key, importedValue(field, row, (name) => fileIdOf(id, name))]),
        ),
      };
    }
}

/** Reads the files of a part. If they are elsewhere, they are added to the list. */
async function* filesOf(
  database: ForeignSqlite,
  part: CollectionPart | undefined,
  storage: string,
  elsewhere: UnsupportedList | undefined,
) {
  if (part === undefined) return;
  const advice = 'PocketBase stores its files in S3. Copy the objects into pb_data/storage and import again.';
  for await (const rows of rowsOf(database, part.source, part.rowBytes))
    for (const row of rows)
      for (const name of fileNames(part, row)) {
        const path = [part.source.id, String(row.id), name] as const;
        if (elsewhere === undefined)
          yield await storedFile(storage, path, permissionsOf(part, row), isoTime(row.created));
        else elsewhere.add('file', advice);
      }
}
