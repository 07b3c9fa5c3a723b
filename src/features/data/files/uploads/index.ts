import { Failure } from '#src/contract/errors.js';
import type { CarryOutOnce, IdempotentRequest } from '#src/contract/idempotency.js';
import { fileLimits } from '#src/contract/limits.js';
import { parseFields } from '#src/contract/operation.js';
import { defaultPermissions, demandOwnRoles, expandPermissions } from '#src/contract/permissions.js';
import type { RawJson } from '#src/contract/raw-json.js';
import { customId, uniqueId } from '#src/contract/shapes.js';
import type { ChunkRange, Upload } from '#src/contract/upload.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Idempotency } from '../../../installation/index.js';
import type { Bucket, Buckets } from '../../buckets/index.js';
import { creatorOf, grants, type Where } from '../access.js';
import { filesApi } from '../api.js';
import type { ContentReader } from '../content/reader.js';
import type { ContentWriter, WrittenPart } from '../content/writer.js';
import { demandExtension, safeName } from '../names.js';
import { recordOf } from '../record.js';
import { type FileRow, type FileStatements, files } from '../store.js';
import { fileReply } from '../view.js';

interface Deps {
  readonly buckets: Buckets;
  readonly statements: FileStatements;
  readonly writer: ContentWriter;
  readonly reader: ContentReader;
  readonly idempotency: Idempotency;
  /** Throws Failure `storage_bucket_not_found`. */
  readonly bucketOf: (where: Where) => Promise<Bucket>;
}

/** What a request carries: a whole file, or a chunk of one. */
interface Arrival {
  readonly bucket: Bucket;
  readonly creator: string;
  readonly chunk: ChunkRange | undefined;
  /** Whether the bytes are compressed, where the file is new. */
  readonly gzip: boolean;
}

/** What a new file has besides its bytes. */
interface NewFile {
  readonly id: string;
  readonly name: string;
  readonly permissions: readonly string[];
}

/** Form fields and boundaries around the file. */
const formBytes = 1_048_576;

/** Takes files in. Bytes are durable before a row names them. */
export function createUploads({ db, random, sealing }: Pick<Runtime, 'db' | 'random' | 'sealing'>, deps: Deps) {
  const creatorKey = sealing.derive('upload-creators');
  const { buckets, statements, writer, reader, bucketOf, idempotency } = deps;
  const find = async (bucket: Bucket, id: string): Promise<FileRow | undefined> => {
    const row = await db.one(statements.find({ bucketKey: bucket.key, id }));
    return row === undefined ? undefined : files.decode(row);
  };
  /** Throws Failure for what is known to be refused before anything has arrived. */
  const demandFit = async ({ project }: Where, { bucket, chunk }: Arrival, { bodyBytes = 0 }: Upload) => {
    const known = chunk?.size ?? Math.max(0, bodyBytes - formBytes);
    if (known > bucket.maximumFileSize) throw new Failure('storage_invalid_file_size');
    if (chunk !== undefined) demandChunk(chunk);
    await buckets.demandRoom(db, project, chunk === undefined ? known : 0);
  };
  /** Keeps the answer together with the change. */
  const keep = (unit: Unit, { idempotent }: AuditContext, bucket: Bucket, file: FileRow) =>
    idempotency.keep(unit, idempotent, 201, fileReply(bucket, file));
  /** A file that came in one request. */
  const addWhole = (where: Where, by: AuditContext, arrival: Arrival, fresh: NewFile, part: WrittenPart) =>
    db.work(by, async (unit) => {
      const { bucket } = arrival;
      await buckets.reserve(unit, where.project, bucket, { files: 1, bytes: part.size });
      const file: FileRow = {
        ...newRow(unit, arrival, fresh),
        mimeType: part.mimeType,
        signature: part.md5,
        digest: part.sha256,
        sizeOriginal: part.size,
        sizeActual: part.storedSize,
        completedAt: unit.now,
      };
      await insert(unit, statements, file);
      await store(unit, statements, file, part);
      unit.record('fileCreated', recordOf(bucket, file));
      await keep(unit, by, bucket, file);
      return file;
    });
  /** The file that a chunk belongs to, held; a new one where there is none. */
  const hold = async (unit: Unit, where: Where, arrival: Arrival, chunk: ChunkRange, fresh: NewFile) => {
    const { bucket } = arrival;
    const row = await unit.one(statements.lock(bucket.key, fresh.id));
    if (row !== undefined) return files.decode(row);
    const { count } = (await unit.one(statements.countUnfinished(bucket.key))) ?? {};
    if (Number(count) >= fileLimits.unfinished)
      throw new Failure('general_unavailable', { retryAfter: fileLimits.retrySeconds });
    await buckets.reserve(unit, where.project, bucket, { files: 1, bytes: chunk.size });
    const file = {
      ...newRow(unit, arrival, fresh),
      sizeOriginal: chunk.size,
      chunksTotal: chunksOf(chunk.size),
      chunksUploaded: 0,
    };
    await insert(unit, statements, file);
    return file;
  };
  /** Adds a chunk; one that is there already changes nothing. Tells whether the bytes are needed. */
  const addChunk = (
    where: Where,
    by: AuditContext,
    arrival: Arrival & { readonly chunk: ChunkRange },
    fresh: NewFile,
    part: WrittenPart,
  ) =>
    db.work(by, async (unit) => {
      const { chunk, bucket } = arrival;
      const number = numberOf(chunk);
      const file = await hold(unit, where, arrival, chunk, fresh);
      demandSame(file, arrival.creator, chunk);
      const isThere = await unit.one(statements.hasPart(bucket.key, file.id, number));
      if (file.completedAt !== null || isThere !== undefined) return { file, isUsed: false };
      await store(unit, statements, file, part);
      const change = {
        chunksUploaded: file.chunksUploaded + 1,
        sizeActual: file.sizeActual + part.storedSize,
        updatedAt: unit.now,
        ...(number === 0 ? { mimeType: part.mimeType } : {}),
      };
      await unit.run(statements.update(bucket.key, file.id, change));
      const changed = { ...file, ...change };
      // The answer to the last one is that of the complete file.
      if (changed.chunksUploaded < changed.chunksTotal) await keep(unit, by, bucket, changed);
      return { file: changed, isUsed: true };
    });
  const digestsOf = sharedDigests(reader);
  /** Completes a file all of whose chunks are there. A request that ended before this is made up for by the next. */
  const complete = async (where: Where, by: AuditContext, bucket: Bucket, file: FileRow): Promise<FileRow> => {
    if (file.completedAt !== null || file.chunksUploaded < file.chunksTotal) return file;
    const { md5, sha256 } = await digestsOf(where.project, file);
    return db.work(by, async (unit) => {
      const row = await unit.one(statements.lock(bucket.key, file.id));
      if (row === undefined) throw new Failure('storage_file_not_found');
      const current = files.decode(row);
      if (current.completedAt !== null) return current;
      const change = { signature: md5, digest: sha256, updatedAt: unit.now, completedAt: unit.now };
      await unit.run(statements.update(bucket.key, file.id, change));
      const completed = { ...current, ...change };
      unit.record('fileCreated', recordOf(bucket, completed));
      await keep(unit, by, bucket, completed);
      return completed;
    });
  };
  /** Adds what was received to a file; bytes that it turns out not to need are given up. */
  const add = async (
    where: Where,
    by: AuditContext,
    arrival: Arrival,
    fresh: NewFile,
    part: WrittenPart,
  ): Promise<FileRow> => {
    const { bucket, chunk } = arrival;
    if (chunk === undefined) return addWhole(where, by, arrival, fresh, part);
    const { file, isUsed } = await addChunk(where, by, { ...arrival, chunk }, fresh, part);
    if (!isUsed) await writer.discard(by, [part.key]);
    return complete(where, by, bucket, file);
  };

  return {
    upload: async (where: Where, by: AuditContext, upload: Upload, once?: CarryOutOnce): Promise<RawJson> => {
      const arrival = arrivalOf(where, await bucketOf(where), upload, creatorKey);
      const { bucket, chunk } = arrival;
      await demandFit(where, arrival, upload);
      const before = await continued(find, arrival, upload);
      const { fields, file: received } = await receive(writer, where, by, arrival, before, upload);
      const { part, name } = received;
      let isAdded = false;
      try {
        demandWhole(chunk, part);
        const { fileId, permissions } = parseFields(filesApi.create.body, fields);
        const fresh = {
          id: before?.id ?? (fileId === uniqueId ? random.id() : fileId),
          name,
          permissions: permissionsOf(where, permissions),
        };
        const run = async (idempotent?: IdempotentRequest) => {
          isAdded = true;
          return fileReply(bucket, await add(where, { ...by, idempotent }, arrival, fresh, part));
        };
        if (once === undefined) return await run();
        const content = [chunk ?? null, upload.fileId ?? null, fileId, name, permissions ?? null, part.sha256];
        // What was kept is an answer of this operation.
        const answer = (await once(content, run)) as RawJson;
        if (!isAdded) await writer.discard(by, [part.key]);
        return answer;
      } catch (error) {
        await writer.discard(by, [part.key]);
        throw error;
      }
    },
  };
}

/** Reads the bytes of a file once for its digests, however often its last chunk is sent meanwhile. */
function sharedDigests(reader: ContentReader): ContentReader['digestsOf'] {
  const underWay = new Map<string, ReturnType<ContentReader['digestsOf']>>();
  return (project, file) => {
    // One that was deleted meanwhile can have come anew under its id.
    const name = JSON.stringify([file.bucketKey, file.id, file.createdAt]);
    const begun = underWay.get(name) ?? reader.digestsOf(project, file).finally(() => underWay.delete(name));
    underWay.set(name, begun);
    return begun;
  };
}

/** The file that a further chunk names, as `find` finds it. Throws Failure. */
async function continued(
  find: (bucket: Bucket, id: string) => Promise<FileRow | undefined>,
  { bucket, creator, chunk }: Arrival,
  { fileId }: Upload,
): Promise<FileRow | undefined> {
  if (chunk === undefined || fileId === undefined) return undefined;
  if (!customId.safeParse(fileId).success) throw new Failure('storage_invalid_appwrite_id');
  const file = await find(bucket, fileId);
  if (file === undefined || file.creator !== creator) throw new Failure('storage_file_not_found');
  demandSame(file, creator, chunk);
  return file;
}

/** Writes the file of a form; what was written of one whose rest is refused is given up. */
async function receive(
  writer: Deps['writer'],
  where: Where,
  by: AuditContext,
  arrival: Arrival,
  before: FileRow | undefined,
  upload: Upload,
) {
  const { bucket, chunk } = arrival;
  let written: WrittenPart | undefined;
  try {
    return await upload.read(async ({ name, bytes }) => {
      demandExtension(bucket, name);
      written = await writer.write(by, where.project, bucket, {
        number: chunk === undefined ? 0 : numberOf(chunk),
        gzip: before === undefined ? arrival.gzip : before.compression === 'gzip',
        encryption: before?.encryption ?? bucket.encryption,
        maxBytes: chunk === undefined ? bucket.maximumFileSize : chunk.end - chunk.start + 1,
        bytes,
      });
      return { name: safeName(name), part: written };
    });
  } catch (error) {
    if (written !== undefined) await writer.discard(by, [written.key]);
    throw error;
  }
}

function permissionsOf({ actor }: Where, permissions: readonly string[] | undefined): string[] {
  if (permissions === undefined) return defaultPermissions(actor);
  const granted = expandPermissions(permissions, 'item');
  demandOwnRoles(granted, actor);
  return granted;
}

async function store(
  unit: Unit,
  statements: FileStatements,
  { bucketKey, id }: FileRow,
  part: WrittenPart,
): Promise<void> {
  const { size, storedSize } = part;
  const stored = { fileId: id, size, storedSize, state: 'stored' as const, changedAt: unit.now };
  const isStored = (await unit.run(statements.settleObject(part.key, stored))) > 0;
  if (!isStored) throw new Failure('general_unavailable', { message: `The upload took too long (${bucketKey}).` });
}

async function insert(unit: Unit, statements: FileStatements, row: FileRow): Promise<void> {
  if ((await unit.one(statements.insert(row))) === undefined) throw new Failure('storage_file_already_exists');
}

/** What a request carries. Throws Failure `user_unauthorized`. */
function arrivalOf(where: Where, bucket: Bucket, upload: Upload, creatorKey: Buffer): Arrival {
  if (!grants(where, bucket, 'create')) throw new Failure('user_unauthorized');
  const { chunk, bodyBytes = Number.POSITIVE_INFINITY } = upload;
  const isSmall = chunk !== undefined || bodyBytes <= fileLimits.compressedBytes;
  return { bucket, creator: creatorOf(where, creatorKey), chunk, gzip: bucket.compression === 'gzip' && isSmall };
}

function demandWhole(chunk: ChunkRange | undefined, { size }: WrittenPart): void {
  if (chunk !== undefined && size !== chunk.end - chunk.start + 1)
    throw new Failure('storage_invalid_content_range', {
      message: 'The chunk has fewer bytes than Content-Range says.',
    });
}

/** A file of which nothing is there yet; `id` is made already where the caller has chosen none. */
function newRow({ now }: Unit, { bucket, creator, gzip }: Arrival, { id, name, permissions }: NewFile): FileRow {
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
    encryption: bucket.encryption,
    createdAt: now,
    updatedAt: now,
    completedAt: null,
  };
}

function chunksOf(size: number): number {
  return Math.ceil(size / fileLimits.chunkBytes);
}

function numberOf({ start }: ChunkRange): number {
  return start / fileLimits.chunkBytes;
}

/** Chunks begin at multiples of their size, so that none overlaps another. Throws Failure `storage_invalid_content_range`. */
function demandChunk({ start, end, size }: ChunkRange): void {
  const { chunkBytes } = fileLimits;
  if (start % chunkBytes !== 0 || end !== Math.min(start + chunkBytes, size) - 1)
    throw new Failure('storage_invalid_content_range');
}

/** Throws Failure where a chunk is none of this file. */
function demandSame(file: FileRow, creator: string, { size }: ChunkRange): void {
  if (file.creator !== creator) throw new Failure('storage_file_already_exists');
  if (file.sizeOriginal === size) return;
  throw new Failure(file.completedAt === null ? 'storage_invalid_content_range' : 'storage_file_already_exists');
}
