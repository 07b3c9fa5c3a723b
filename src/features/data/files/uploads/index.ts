import { Failure } from '#src/contract/errors.js';
import type { CarryOutOnce, IdempotentRequest } from '#src/contract/idempotency.js';
import { parseFields } from '#src/contract/operation.js';
import type { RawJson } from '#src/contract/raw-json.js';
import { customId, uniqueId } from '#src/contract/shapes.js';
import type { Upload, UploadedFile } from '#src/contract/upload.js';
import type { DerivedKey } from '#src/platform/crypto/key-ring.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { createSingleFlight } from '#src/platform/runtime/single-flight.js';
import type { Bucket } from '../../buckets/index.js';
import type { ContentWriter, WrittenPart } from '../content/writer.js';
import type { BucketContext } from '../model/access.js';
import { requireExtension, safeName } from '../model/names.js';
import { fileRecordOf } from '../model/record.js';
import type { Files } from '../model/service.js';
import { type FileRow, files } from '../model/store.js';
import { fileReply } from '../model/view.js';
import {
  type Arrival,
  type Arrived,
  arrivalOf,
  type Begun,
  bytesOf,
  canContinue,
  numberOf,
  permissionsOf,
  requireChunk,
  requireSame,
  requireWhole,
} from './arrival.js';
import { addChunk } from './chunks.js';
import { uploadFields } from './fields.js';
import { insert, keep, newRow, store, type UploadDeps } from './rows.js';

interface Deps extends UploadDeps {
  readonly random: Runtime['random'];
  readonly creatorKey: DerivedKey;
  readonly writer: ContentWriter;
}

/** Bytes allowed for form fields and boundaries around the file. */
const formBytes = 1_048_576;

/** Receives files. The bytes are durable before a row refers to them. */
export function createFileUploads(
  { db, random, sealing }: Pick<Runtime, 'db' | 'random' | 'sealing'>,
  given: Omit<Deps, 'db' | 'random' | 'creatorKey' | 'hashOnce'>,
): Pick<Files, 'upload'> {
  const creatorKey = sealing.derive('upload-creators');
  const deps: Deps = { ...given, db, random, creatorKey, hashOnce: createSingleFlight() };
  return bind(deps, { upload });
}

async function upload(
  deps: Deps,
  where: BucketContext,
  by: AuditContext,
  given: Upload,
  once?: CarryOutOnce,
): Promise<RawJson> {
  const { random, writer } = deps;
  const arrival = arrivalOf(where, await deps.bucketIn(deps.db, where), given, deps.creatorKey());
  const { bucket, chunk } = arrival;
  await requireFit(deps, where, arrival, given);
  const named = await continued(deps, arrival, given);
  const requireNamed = (fileId: unknown) => {
    if (chunk !== undefined && named === undefined && (given.fileId ?? fileId) !== fileId)
      throw new Failure('storage_file_not_found');
  };
  // In the forms of some clients the fields come after the file.
  const begunOf = async ({ fields: { fileId = given.fileId } }: UploadedFile) => {
    requireNamed(fileId);
    return named ?? (await begunBy(deps, arrival, fileId));
  };
  const { fields, file: received } = await receive(writer, where, by, arrival, begunOf, given);
  const { part, name, begun } = received;
  let isAdded = false;
  try {
    requireWhole(chunk, part);
    const { fileId, permissions } = parseFields(uploadFields, fields);
    requireNamed(fileId);
    const fresh = {
      id: named?.file.id ?? (fileId === uniqueId ? random.id() : fileId),
      name,
      permissions: permissionsOf(where, permissions),
    };
    const run = async (idempotent?: IdempotentRequest) => {
      isAdded = true;
      return fileReply(bucket, await add(deps, { where, by: { ...by, idempotent }, arrival, begun, fresh, part }));
    };
    if (once === undefined) return await run();
    const content = [chunk ?? null, given.fileId ?? null, fileId, name, permissions ?? null, part.sha256];
    // Safe: the stored response belongs to this operation.
    const answer = (await once(content, run)) as RawJson;
    if (!isAdded) await writer.discard(by, [part.key]);
    return answer;
  } catch (error) {
    await writer.discard(by, [part.key]);
    throw error;
  }
}

/** Throws Failure for violations that are known before the body arrives. */
async function requireFit(
  { db, buckets }: Deps,
  { project }: BucketContext,
  { bucket, chunk }: Arrival,
  { bodyBytes = 0 }: Upload,
): Promise<void> {
  const known = chunk?.size ?? Math.max(0, bodyBytes - formBytes);
  if (known > bucket.maximumFileSize) throw new Failure('storage_invalid_file_size');
  if (chunk !== undefined) requireChunk(chunk);
  await buckets.requireRoom(db, project, chunk === undefined ? known : 0);
}

/**
 * The upload named in the header of a chunk. Throws Failure if it does not exist, except for a first chunk: Appwrite's SDKs for Python and Go send
 * the id from the form there before the file exists.
 */
async function continued(deps: Deps, arrival: Arrival, { fileId }: Upload): Promise<Begun | undefined> {
  const { creator, chunk } = arrival;
  if (chunk === undefined || fileId === undefined) return undefined;
  if (!customId.safeParse(fileId).success) throw new Failure('storage_invalid_appwrite_id');
  const begun = await begunBy(deps, arrival, fileId);
  if (begun === undefined && chunk.start === 0) return undefined;
  if (begun === undefined) throw new Failure('storage_file_not_found');
  requireSame(begun.file, creator, chunk);
  return begun;
}

/** The upload that a chunk continues. Undefined if the id is invalid or the file belongs to another creator. */
async function begunBy(deps: Deps, arrival: Arrival, fileId: unknown): Promise<Begun | undefined> {
  const { bucket, creator, chunk } = arrival;
  const id = customId.safeParse(fileId);
  if (chunk === undefined || !id.success || !canContinue(arrival, id.data)) return undefined;
  const begun = await find(deps, bucket, id.data);
  return begun?.file.creator === creator ? begun : undefined;
}

/**
 * The upload of an id. Reads the part first: if the upload is replaced between the reads, the mark is outdated and a later check fails.
 */
async function find({ db, statements }: Deps, bucket: Bucket, id: string): Promise<Begun | undefined> {
  const part = await db.one(statements.mark(bucket.key, id));
  const row = part && (await db.one(statements.find({ bucketKey: bucket.key, id })));
  return row && { file: files.decode(row), mark: String(part.key) };
}

/** A received file, written to the store. */
interface Received {
  readonly name: string;
  readonly part: WrittenPart;
  readonly begun: Begun | undefined;
}

/** Writes the file of a form. Removes it if the rest of the form is refused. */
async function receive(
  writer: Deps['writer'],
  where: BucketContext,
  by: AuditContext,
  arrival: Arrival,
  begunOf: (form: UploadedFile) => Promise<Begun | undefined>,
  upload: Upload,
) {
  const { bucket, chunk } = arrival;
  let written: WrittenPart | undefined;
  try {
    return await upload.read(async (form): Promise<Received> => {
      requireExtension(bucket, form.name);
      const begun = await begunOf(form);
      written = await writer.write(by, where.project, bucket, {
        number: chunk === undefined ? 0 : numberOf(chunk),
        gzip: begun === undefined ? arrival.gzip : begun.file.compression === 'gzip',
        encryption: begun?.file.encryption ?? bucket.encryption,
        maxBytes: bucket.maximumFileSize,
        bytes: chunk === undefined ? form.bytes : bytesOf(chunk, form.bytes),
      });
      return { name: safeName(form.name), part: written, begun };
    });
  } catch (error) {
    if (written !== undefined) await writer.discard(by, [written.key]);
    throw error;
  }
}

/** Adds the received bytes to a file. Removes them if the file turns out not to need them. */
async function add(deps: Deps, arrived: Arrived): Promise<FileRow> {
  const { by, arrival, part } = arrived;
  const { chunk } = arrival;
  if (chunk === undefined) return addWhole(deps, arrived);
  const { file, isUsed } = await addChunk(deps, { ...arrived, arrival: { ...arrival, chunk } });
  if (!isUsed) await deps.writer.discard(by, [part.key]);
  return file;
}

/** Adds a file sent in one request. */
function addWhole(deps: Deps, arrived: Arrived): Promise<FileRow> {
  const { where, part } = arrived;
  const { bucket } = arrived.arrival;
  return deps.db.work(arrived.by, async (unit) => {
    await deps.buckets.reserve(unit, where.project, bucket, { files: 1, bytes: part.size });
    const file: FileRow = {
      ...newRow(unit, arrived),
      mimeType: part.mimeType,
      signature: part.md5,
      digest: part.sha256,
      sizeOriginal: part.size,
      sizeActual: part.storedSize,
      completedAt: unit.now,
    };
    await insert(deps, unit, file);
    await store(deps.statements, unit, file, part);
    unit.record('fileCreated', fileRecordOf(bucket, file));
    await keep(deps, unit, arrived, file);
    return file;
  });
}
