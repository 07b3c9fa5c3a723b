import { notFoundError, usageError } from '../../terminal/exit.js';
import { foundAt } from '../found.js';
import type { ImportSource } from '../source.js';
import { createUnsupportedList } from '../unsupported-list.js';
import { connectedData } from './connection.js';
import { type SupabaseData, tableName } from './data.js';
import { dumpedData } from './dump.js';
import { openStorage } from './storage.js';
import { importedTables } from './tables.js';
import { supabaseUsers } from './users.js';

/** Source and target of an import. */
interface Target {
  readonly projectId: string;
  /** The id of the database for the collections. */
  readonly databaseId: string;
  readonly schema: string;
  /** Names of tables; all if undefined. */
  readonly tables: readonly string[] | undefined;
  /** Directory of the objects of the storage service. */
  readonly storage: string | undefined;
}

/** Opens a dump in plain format, or a database at a URL `postgres://…`. Throws CommandError. */
export async function openSupabase(from: string, target: Target): Promise<ImportSource> {
  if (target.storage !== undefined && foundAt(target.storage)?.isDirectory() !== true)
    throw notFoundError('file_not_found', `${target.storage} is no directory.`, 'check the path of --storage');
  const data = await dataOf(from, target.schema);
  try {
    return await sourceOf(data, target);
  } catch (error) {
    await data.close();
    throw error;
  }
}

async function dataOf(from: string, schema: string): Promise<SupabaseData> {
  if (isUrl(from)) return connectedData(from, schema);
  const found = foundAt(from);
  if (found === undefined)
    throw notFoundError(
      'file_not_found',
      `There is no file ${from}.`,
      'name a file of pg_dump, or a URL that begins with postgres://',
    );
  if (found.isDirectory())
    throw usageError(`${from} is a directory.`, `if pg_dump made it, convert it: pg_restore -f dump.sql ${from}`);
  return dumpedData(from, schema);
}

/** True for the address of a database. */
export function isUrl(from: string): boolean {
  return /^postgres(ql)?:\/\//.test(from);
}

async function sourceOf(
  data: SupabaseData,
  { projectId, databaseId, schema, tables, storage: directory }: Target,
): Promise<ImportSource> {
  const unsupported = createUnsupportedList();
  for (const remark of data.remarks) unsupported.add('privileges', remark);
  if (!data.tables.some((table) => tableName(table) === 'auth.users'))
    unsupported.add('users', 'The source has no table auth.users that can be read. pg_dump -n and -t leave it out.');
  const ofSchema = data.tables.filter((table) => table.schema === schema);
  const unknown = tables?.find((name) => !ofSchema.some((table) => table.name === name));
  if (unknown !== undefined)
    throw usageError(
      `The schema ${schema} has no table ${unknown}.`,
      `tables are ${ofSchema.map(({ name }) => name).join(', ')}`,
    );
  const chosen = tables === undefined ? ofSchema : ofSchema.filter(({ name }) => tables.includes(name));
  const imported = importedTables(data, schema, chosen, unsupported);
  const storage = await openStorage(data, directory, unsupported);
  return {
    schema: {
      project: { $id: projectId },
      databases:
        imported.length === 0
          ? []
          : [{ $id: databaseId, name: 'Supabase', collections: imported.map((one) => one.schema) }],
      buckets: storage.buckets,
    },
    users: () => supabaseUsers(data, unsupported),
    memberships: async function* () {},
    documents: async function* (_, collectionId, part) {
      const found = imported.find(({ id }) => id === collectionId);
      if (found === undefined) return;
      for await (const rows of data.rows(found.table)) for (const row of rows) yield found.documentOf(row, part);
    },
    files: storage.files,
    unsupported: unsupported.all,
    close: data.close,
  };
}
