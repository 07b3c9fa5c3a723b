import { jobLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import type { FileStatements } from './model/store.js';

/** Differences between the file store and the database. */
interface FileCheck {
  /** Number of objects that files refer to. */
  readonly objects: number;
  readonly bytes: number;
  /** Keys that files refer to, but that are missing in the store or differ in size. */
  readonly missing: readonly string[];
  /** The files of the missing objects. */
  readonly files: readonly { readonly bucketId: string; readonly fileId: string; readonly projectId: string }[];
  /** Keys in the store without a row in the database. */
  readonly orphans: readonly string[];
}

/** Gets the number of objects checked so far: those that files refer to, or those in the store. */
type OnChecked = (objects: number, which: 'referred' | 'stored') => void;

/**
 * Compares the database with the file store, in both directions. `atMost` limits the number of objects checked in each,
 * approximately. Uploads in progress are in neither list. `onChecked` gets the number of objects checked so far in one direction: those
 * that files refer to, then those in the store.
 */
export function createFileCheck(
  { db, files }: Pick<Runtime, 'db' | 'files'>,
  statements: FileStatements,
): (atMost?: number, onChecked?: OnChecked) => Promise<FileCheck> {
  const findMissing = async (atMost: number, onChecked: OnChecked) => {
    const missing: string[] = [];
    let objects = 0;
    let bytes = 0;
    for (let after = ''; ; ) {
      const rows = await db.all(statements.objectsAfter(after, jobLimits.batch));
      for (const row of rows) {
        after = String(row.key);
        if (row.state !== 'stored') continue;
        objects += 1;
        onChecked(objects, 'referred');
        bytes += Number(row.stored_size);
        if ((await files.size(after)) !== Number(row.stored_size)) missing.push(after);
      }
      if (rows.length < jobLimits.batch || objects >= atMost) return { missing, objects, bytes };
    }
  };
  const unknownOf = async (keys: readonly string[]): Promise<string[]> => {
    const known = new Set((await db.all(statements.known(keys))).map(({ key }) => String(key)));
    return keys.filter((key) => !known.has(key));
  };
  const findOrphans = async (atMost: number, onChecked: OnChecked) => {
    const orphans: string[] = [];
    let keys: string[] = [];
    let seen = 0;
    for await (const { key } of files.list('')) {
      keys.push(key);
      seen += 1;
      onChecked(seen, 'stored');
      if (seen >= atMost) break;
      if (keys.length < jobLimits.batch) continue;
      orphans.push(...(await unknownOf(keys)));
      keys = [];
    }
    if (keys.length > 0) orphans.push(...(await unknownOf(keys)));
    return orphans;
  };
  return async (atMost = Number.POSITIVE_INFINITY, onChecked = () => {}) => {
    const { missing, objects, bytes } = await findMissing(atMost, onChecked);
    const orphans = await findOrphans(atMost, onChecked);
    // Ignores objects that were removed during the check.
    const stillMissing: string[] = [];
    for (const key of missing) if ((await unknownOf([key])).length === 0) stillMissing.push(key);
    const damaged = await filesWith(stillMissing, db, statements);
    return { objects, bytes, missing: stillMissing, files: damaged, orphans };
  };
}

/** The files that refer to these objects. */
async function filesWith(
  keys: readonly string[],
  db: Runtime['db'],
  statements: FileStatements,
): Promise<FileCheck['files']> {
  const found: FileCheck['files'][number][] = [];
  for (let at = 0; at < keys.length; at += jobLimits.batch) {
    const rows = await db.all(statements.filesOf(keys.slice(at, at + jobLimits.batch)));
    for (const row of rows)
      found.push({
        projectId: String(row.project_id),
        bucketId: String(row.bucket_id),
        fileId: String(row.file_id),
      });
  }
  return found;
}
