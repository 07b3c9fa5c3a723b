import { Failure } from '#src/contract/errors.js';
import { fileLimits } from '#src/contract/limits.js';
import type { ChunkRange } from '#src/contract/upload.js';
import type { Unit } from '#src/platform/db/unit.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import type { BucketContext } from '../model/access.js';
import { fileRecordOf } from '../model/record.js';
import { type FileRow, fileObjects, files, type ObjectRow } from '../model/store.js';
import { type Arrival, type Arrived, chunksOf, numberOf, requireSame } from './arrival.js';
import { giveUp, insert, keep, newRow, store, type UploadDeps } from './rows.js';

interface ArrivedChunk extends Arrived {
  readonly arrival: Arrival & { readonly chunk: ChunkRange };
}

/** The file of a chunk, and the chunk with the same number that the file already had. */
interface Added {
  readonly file: FileRow;
  readonly mark: string;
  readonly before: { readonly part: ObjectRow | undefined } | undefined;
}

/** Adds a chunk to its file, and completes a file that has all chunks. Throws Failure if the file has other bytes in that range. */
export async function addChunk(deps: UploadDeps, arrived: ArrivedChunk) {
  const added = await insertChunk(deps, arrived);
  const { file, before } = added;
  if (before !== undefined) await requireSameBytes(deps, arrived, file, before.part);
  return { file: await complete(deps, arrived, added), isUsed: before === undefined };
}

/** Changes nothing if the file already has this chunk or is complete. */
function insertChunk(deps: UploadDeps, arrived: ArrivedChunk): Promise<Added> {
  const { db, statements } = deps;
  const { part, arrival } = arrived;
  const { bucket, creator, chunk } = arrival;
  return db.work(arrived.by, async (unit) => {
    const file = await holdOrBegin(deps, unit, arrived);
    const markOf = async () => String((await unit.one(statements.mark(file.bucketKey, file.id)))?.key);
    requireSame(file, creator, chunk);
    const row = await unit.one(statements.part(bucket.key, file.id, numberOf(chunk)));
    if (file.completedAt !== null || row !== undefined)
      return { file, mark: await markOf(), before: { part: row && fileObjects.decode(row) } };
    await store(statements, unit, file, part);
    const change = {
      chunksUploaded: file.chunksUploaded + 1,
      sizeActual: file.sizeActual + part.storedSize,
      updatedAt: unit.now,
      ...(numberOf(chunk) === 0 ? { mimeType: part.mimeType } : {}),
    };
    await unit.run(statements.update(bucket.key, file.id, change));
    const changed = { ...file, ...change };
    // The last chunk's response is that of the complete file, stored by `complete`.
    if (changed.chunksUploaded < changed.chunksTotal) await keep(deps, unit, arrived, changed);
    return { file: changed, mark: await markOf(), before: undefined };
  });
}

/** Locks the file of a chunk, or inserts it. */
async function holdOrBegin(deps: UploadDeps, unit: Unit, arrived: ArrivedChunk): Promise<FileRow> {
  const { buckets, statements } = deps;
  const { where, begun, fresh } = arrived;
  const { bucket, chunk, creator } = arrived.arrival;
  const found = await hold(deps, unit, arrived, begun?.mark);
  if (found !== undefined) return found;
  // Checks again under the lock: another chunk may have inserted the file concurrently.
  await buckets.hold(unit, where.project.id);
  const row = await unit.one(statements.lock(bucket.key, fresh.id));
  if (row !== undefined) return files.decode(row);
  if (where.actor.kind !== 'key' && chunksOf(chunk.size) > 1)
    await requireFewUnfinished(deps, unit, where, creator, chunk.size);
  await buckets.reserve(unit, where.project, bucket, { files: 1, bytes: chunk.size });
  const file = {
    ...newRow(unit, arrived),
    sizeOriginal: chunk.size,
    chunksTotal: chunksOf(chunk.size),
    chunksUploaded: 0,
  };
  await insert(deps, unit, file);
  return file;
}

/** Locks the file of an id; with a mark, only the upload that has it. Throws Failure also if the bucket is gone. */
async function hold(
  { statements, bucketIn }: UploadDeps,
  unit: Unit,
  { where, arrival: { bucket }, fresh: { id } }: ArrivedChunk,
  mark: string | undefined,
): Promise<FileRow | undefined> {
  const row = await unit.one(statements.lock(bucket.key, id));
  // The bucket may have been deleted and recreated with the same id.
  if ((await bucketIn(unit, where)).key !== bucket.key) throw new Failure('storage_bucket_not_found');
  const isGone = mark !== undefined && (await unit.one(statements.isMarked(bucket.key, id, mark))) === undefined;
  if (isGone) throw new Failure('storage_file_not_found');
  return row && files.decode(row);
}

/**
 * Admits another upload of a creator. Discards idle unfinished uploads if there are too many. Throws Failure `general_rate_limit_exceeded`
 * if the others are still too many.
 */
async function requireFewUnfinished(
  deps: UploadDeps,
  unit: Unit,
  { project }: BucketContext,
  creator: string,
  size: number,
): Promise<void> {
  const { idleSeconds, unfinishedOfCreator, unfinishedPart } = fileLimits;
  const maxBytes = project.settings['files.maxBytes'] / unfinishedPart;
  const unfinished = (await unit.all(deps.statements.unfinishedOf(project.id, creator))).map((row) =>
    files.decode(row),
  );
  let bytes = unfinished.reduce((sum, { sizeOriginal }) => sum + sizeOriginal, size);
  const isFull = () => unfinished.length > 0 && (unfinished.length >= unfinishedOfCreator || bytes > maxBytes);
  const idleSince = instantOf(millisecondsOf(unit.now) - idleSeconds * 1000);
  for (let [oldest] = unfinished; oldest !== undefined && isFull(); [oldest] = unfinished) {
    if (!(await giveUp(deps, unit, oldest, idleSince))) break;
    unfinished.shift();
    bytes -= oldest.sizeOriginal;
  }
  const [oldest] = unfinished;
  if (oldest === undefined || !isFull()) return;
  const idleMs = millisecondsOf(unit.now) - millisecondsOf(oldest.updatedAt);
  throw new Failure('general_rate_limit_exceeded', {
    message: `Too many uploads are not finished: ${unfinished.length}. Finish them, or wait until one has got no chunk for ${idleSeconds / 60} minutes.`,
    retryAfter: Math.max(1, Math.ceil(idleSeconds - idleMs / 1000)),
  });
}

/** Throws Failure `storage_file_already_exists` unless the stored part has the same bytes as the received one. */
async function requireSameBytes(
  { reader }: UploadDeps,
  { where: { project }, part }: ArrivedChunk,
  file: FileRow,
  there: ObjectRow | undefined,
): Promise<void> {
  const isSame = there?.size === part.size && (await reader.digestOfPart(project, file, there)) === part.sha256;
  if (!isSame) throw new Failure('storage_file_already_exists');
}

/** Completes a file that has all chunks. If a request ended before this step, the next one completes the file. */
async function complete(deps: UploadDeps, arrived: ArrivedChunk, { file, mark }: Added): Promise<FileRow> {
  const { bucket } = arrived.arrival;
  if (file.completedAt !== null || file.chunksUploaded < file.chunksTotal) return file;
  const { project } = arrived.where;
  // The last chunk may arrive several times concurrently.
  const { md5, sha256 } = await deps.hashOnce(() => deps.reader.digestsOf(project, file), mark);
  return deps.db.work(arrived.by, async (unit) => {
    const current = await hold(deps, unit, arrived, mark);
    if (current === undefined) throw new Failure('storage_file_not_found');
    if (current.completedAt !== null) return current;
    const change = { signature: md5, digest: sha256, updatedAt: unit.now, completedAt: unit.now };
    await unit.run(deps.statements.update(bucket.key, file.id, change));
    const completed = { ...current, ...change };
    unit.record('fileCreated', fileRecordOf(bucket, completed));
    await keep(deps, unit, arrived, completed);
    return completed;
  });
}
