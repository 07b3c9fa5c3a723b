import { Failure } from '#src/contract/errors.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { SingleFlight } from '#src/platform/runtime/single-flight.js';
import type { Idempotency } from '../../../installation/index.js';
import type { Bucket, Buckets } from '../../buckets/index.js';
import type { ContentReader, FileDigests } from '../content/reader.js';
import type { WrittenPart } from '../content/writer.js';
import { type BucketContext, creatingUser } from '../model/access.js';
import { type FileRow, type FileStatements, files } from '../model/store.js';
import { fileReply } from '../model/view.js';
import type { Arrived } from './arrival.js';

/** Dependencies of adding files and chunks. */
export interface UploadDeps {
  readonly db: Runtime['db'];
  readonly buckets: Buckets;
  readonly statements: FileStatements;
  readonly isGone: IsGone;
  readonly idempotency: Idempotency;
  readonly reader: ContentReader;
  /** Hashes a file once for all concurrent callers. */
  readonly hashOnce: SingleFlight<FileDigests>;
  /** Throws Failure `storage_bucket_not_found`. */
  readonly bucketIn: (reader: Reader, where: BucketContext) => Promise<Bucket>;
}

/** A file row without bytes, with the encoding of its first part. */
export function newRow({ now }: Unit, { arrival: { bucket, creator }, fresh, part }: Arrived): FileRow {
  return {
    ...fresh,
    bucketKey: bucket.key,
    projectId: bucket.projectId,
    creator,
    mimeType: '',
    signature: '',
    digest: '',
    sizeOriginal: 0,
    sizeActual: 0,
    chunksTotal: 1,
    chunksUploaded: 1,
    compression: part.gzip ? 'gzip' : 'none',
    encryption: part.encryption,
    createdAt: now,
    updatedAt: now,
    completedAt: null,
  };
}

/** Checks if a user was deleted. */
export type IsGone = (reader: Reader, projectId: string, userId: string) => Promise<boolean>;

/**
 * Inserts a file. Requires the lock on the project's usage. Throws Failure `storage_file_already_exists`, and `user_unauthorized` if the
 * user was deleted during the upload: an erasure that had the lock before did not see this file.
 */
export async function insert({ statements, isGone }: UploadDeps, unit: Unit, row: FileRow): Promise<void> {
  const userId = creatingUser(row.creator);
  if (userId !== undefined && (await isGone(unit, row.projectId, userId))) throw new Failure('user_unauthorized');
  if ((await unit.one(statements.insert(row))) === undefined) throw new Failure('storage_file_already_exists');
}

/** Makes a written part belong to a file. Throws Failure `general_unavailable` if that is impossible; sending it again helps. */
export async function store(
  statements: FileStatements,
  unit: Unit,
  { bucketKey, id, compression, encryption }: FileRow,
  part: WrittenPart,
): Promise<void> {
  // All parts of a file have the same encoding. A chunk written before the file existed may have used other bucket settings.
  if (part.gzip !== (compression === 'gzip') || part.encryption !== encryption)
    throw new Failure('general_unavailable', {
      message: 'The settings of the bucket have changed meanwhile. Please send the chunk again.',
    });
  const { size, storedSize } = part;
  const stored = { fileId: id, size, storedSize, state: 'stored' as const, changedAt: unit.now };
  const isStored = (await unit.run(statements.settleObject(part.key, stored))) > 0;
  if (!isStored) throw new Failure('general_unavailable', { message: `The upload took too long (${bucketKey}).` });
}

/** Stores the response for idempotent retries, in the same unit as the change. */
export function keep({ idempotency }: UploadDeps, unit: Unit, { by, arrival }: Arrived, file: FileRow): Promise<void> {
  return idempotency.keep(unit, by.idempotent, 201, fileReply(arrival.bucket, file));
}

/** Deletes the row of a file and marks its objects. A job removes the bytes later, so that no row refers to missing bytes. */
export async function removeRow(
  { buckets, statements }: Pick<UploadDeps, 'buckets' | 'statements'>,
  unit: Unit,
  { projectId, bucketKey, id, sizeOriginal }: FileRow,
): Promise<void> {
  await unit.run(statements.leaveObjects(bucketKey, [id], unit.now));
  await unit.run(statements.remove(bucketKey, id));
  await buckets.release(unit, projectId, bucketKey, { files: 1, bytes: sizeOriginal });
}

/** Discards an upload without a chunk since `before`. Returns false if the upload is active or complete. */
export async function giveUp(
  deps: Pick<UploadDeps, 'buckets' | 'statements'>,
  unit: Unit,
  { projectId, bucketKey, id }: FileRow,
  before: Instant,
): Promise<boolean> {
  await deps.buckets.hold(unit, projectId);
  const row = await unit.one(deps.statements.lock(bucketKey, id));
  const file = row && files.decode(row);
  if (file === undefined || file.completedAt !== null || file.updatedAt >= before) return false;
  await removeRow(deps, unit, file);
  return true;
}
