import { Failure } from '#src/contract/errors.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { creatingUser } from '../access.js';
import type { WrittenPart } from '../content/writer.js';
import type { FileRow, FileStatements } from '../store.js';
import type { Arrival, NewFile } from './arrival.js';

/** A file of which nothing is there yet, kept as its first part was written. */
export function newRow(
  { now }: Unit,
  { bucket, creator }: Arrival,
  { id, name, permissions }: NewFile,
  { gzip, encryption }: WrittenPart,
): FileRow {
  return {
    bucketKey: bucket.key,
    id,
    projectId: bucket.projectId,
    name,
    permissions,
    creator,
    mimeType: '',
    signature: '',
    digest: '',
    sizeOriginal: 0,
    sizeActual: 0,
    chunksTotal: 1,
    chunksUploaded: 1,
    compression: gzip ? 'gzip' : 'none',
    encryption,
    createdAt: now,
    updatedAt: now,
    completedAt: null,
  };
}

/** Whether a user was deleted. */
export type IsGone = (reader: Reader, projectId: string, userId: string) => Promise<boolean>;

/**
 * Makes the row of a file; the usage of the project has to be held. Throws Failure `storage_file_already_exists`, and `user_unauthorized` where
 * its user was deleted while it arrived: an erasure that held the usage before has not found it.
 */
export async function insert(
  unit: Unit,
  { statements, isGone }: { readonly statements: FileStatements; readonly isGone: IsGone },
  row: FileRow,
): Promise<void> {
  const userId = creatingUser(row.creator);
  if (userId !== undefined && (await isGone(unit, row.projectId, userId))) throw new Failure('user_unauthorized');
  if ((await unit.one(statements.insert(row))) === undefined) throw new Failure('storage_file_already_exists');
}

/** Makes what was written a part of a file. Throws Failure `general_unavailable` where it cannot be one; sent again, it can. */
export async function store(
  unit: Unit,
  statements: FileStatements,
  { bucketKey, id, compression, encryption }: FileRow,
  part: WrittenPart,
): Promise<void> {
  // A file is read in one way. What was written before there was the file, the bucket had other settings for.
  if (part.gzip !== (compression === 'gzip') || part.encryption !== encryption)
    throw new Failure('general_unavailable', {
      message: 'The settings of the bucket have changed meanwhile. Please send the chunk again.',
    });
  const { size, storedSize } = part;
  const stored = { fileId: id, size, storedSize, state: 'stored' as const, changedAt: unit.now };
  const isStored = (await unit.run(statements.settleObject(part.key, stored))) > 0;
  if (!isStored) throw new Failure('general_unavailable', { message: `The upload took too long (${bucketKey}).` });
}
