import type { Instant } from '#src/contract/shapes.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Buckets } from '../../buckets/index.js';
import { type FileRow, type FileStatements, files } from '../model/store.js';

/** Discards an upload without a chunk since `before`. Returns false if the upload is active or complete. */
export async function giveUp(
  { buckets, statements }: { readonly buckets: Buckets; readonly statements: FileStatements },
  unit: Unit,
  { projectId, bucketKey, id }: Pick<FileRow, 'projectId' | 'bucketKey' | 'id'>,
  before: Instant,
): Promise<boolean> {
  await buckets.hold(unit, projectId);
  const row = await unit.one(statements.lock(bucketKey, id));
  const file = row && files.decode(row);
  if (file === undefined || file.completedAt !== null || file.updatedAt >= before) return false;
  await unit.run(statements.leaveObjects(bucketKey, [id], unit.now));
  await unit.run(statements.remove(bucketKey, id));
  await buckets.release(unit, projectId, bucketKey, { files: 1, bytes: file.sizeOriginal });
  return true;
}
