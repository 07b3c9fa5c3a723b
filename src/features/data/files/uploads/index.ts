import { Failure } from '#src/contract/errors.js';
import type { CarryOutOnce, IdempotentRequest } from '#src/contract/idempotency.js';
import { parseFields } from '#src/contract/operation.js';
import type { RawJson } from '#src/contract/raw-json.js';
import { customId, uniqueId } from '#src/contract/shapes.js';
import type { Upload, UploadedFile } from '#src/contract/upload.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Idempotency } from '../../../installation/index.js';
import type { Bucket, Buckets } from '../../buckets/index.js';
import type { Where } from '../access.js';
import { filesApi } from '../api.js';
import type { ContentReader } from '../content/reader.js';
import type { ContentWriter, WrittenPart } from '../content/writer.js';
import { demandExtension, safeName } from '../names.js';
import { recordOf } from '../record.js';
import { type FileRow, type FileStatements, files } from '../store.js';
import { fileReply } from '../view.js';
import {
  type Arrival,
  arrivalOf,
  type Begun,
  demandChunk,
  demandSame,
  demandWhole,
  type NewFile,
  numberOf,
  permissionsOf,
} from './arrival.js';
import { createChunks } from './chunks.js';
import { type IsGone, insert, newRow, store } from './rows.js';

interface Deps {
  readonly buckets: Buckets;
  readonly statements: FileStatements;
  readonly isGone: IsGone;
  readonly writer: ContentWriter;
  readonly reader: ContentReader;
  readonly idempotency: Idempotency;
  /** Throws Failure `storage_bucket_not_found`. */
  readonly bucketOf: (where: Where) => Promise<Bucket>;
  /** Throws Failure `storage_bucket_not_found`. */
  readonly bucketIn: (reader: Reader, where: Where) => Promise<Bucket>;
}

/** Form fields and boundaries around the file. */
const formBytes = 1_048_576;

/** Takes files in. Bytes are durable before a row names them. */
export function createUploads({ db, random, sealing }: Pick<Runtime, 'db' | 'random' | 'sealing'>, deps: Deps) {
  const creatorKey = sealing.derive('upload-creators');
  const { buckets, statements, writer, bucketOf, idempotency } = deps;
  /** The upload of an id. Its part is read first: that of an upload which is gone is found to be gone later. */
  const find = async (bucket: Bucket, id: string): Promise<Begun | undefined> => {
    const part = await db.one(statements.mark(bucket.key, id));
    const row = part && (await db.one(statements.find({ bucketKey: bucket.key, id })));
    return row && { file: files.decode(row), mark: String(part.key) };
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
  const chunks = createChunks({ db }, { ...deps, keep });
  /** A file that came in one request. */
  const addWhole = (where: Where, by: AuditContext, arrival: Arrival, fresh: NewFile, part: WrittenPart) =>
    db.work(by, async (unit) => {
      const { bucket } = arrival;
      await buckets.reserve(unit, where.project, bucket, { files: 1, bytes: part.size });
      const file: FileRow = {
        ...newRow(unit, arrival, fresh, part),
        mimeType: part.mimeType,
        signature: part.md5,
        digest: part.sha256,
        sizeOriginal: part.size,
        sizeActual: part.storedSize,
        completedAt: unit.now,
      };
      await insert(unit, deps, file);
      await store(unit, statements, file, part);
      unit.record('fileCreated', recordOf(bucket, file));
      await keep(unit, by, bucket, file);
      return file;
    });
  /** Adds what was received to a file; bytes that it turns out not to need are given up. */
  const add = async (
    where: Where,
    by: AuditContext,
    arrival: Arrival,
    fresh: NewFile,
    { part, begun }: Pick<Received, 'part' | 'begun'>,
  ): Promise<FileRow> => {
    const { chunk } = arrival;
    if (chunk === undefined) return addWhole(where, by, arrival, fresh, part);
    const { file, isUsed } = await chunks.add(where, by, { arrival: { ...arrival, chunk }, begun, fresh, part });
    if (!isUsed) await writer.discard(by, [part.key]);
    return file;
  };

  return {
    upload: async (where: Where, by: AuditContext, upload: Upload, once?: CarryOutOnce): Promise<RawJson> => {
      const arrival = arrivalOf(where, await bucketOf(where), upload, creatorKey);
      const { bucket, chunk } = arrival;
      await demandFit(where, arrival, upload);
      const named = await continued(find, arrival, upload);
      const begunOf = async (form: UploadedFile) => named ?? (await begunBy(find, arrival, form.fields.fileId));
      const { fields, file: received } = await receive(writer, where, by, arrival, begunOf, upload);
      const { part, name } = received;
      let isAdded = false;
      try {
        demandWhole(chunk, part);
        const { fileId, permissions } = parseFields(filesApi.create.body, fields);
        const fresh = {
          id: named?.file.id ?? (fileId === uniqueId ? random.id() : fileId),
          name,
          permissions: permissionsOf(where, permissions),
        };
        const run = async (idempotent?: IdempotentRequest) => {
          isAdded = true;
          return fileReply(bucket, await add(where, { ...by, idempotent }, arrival, fresh, received));
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

type Find = (bucket: Bucket, id: string) => Promise<Begun | undefined>;

/** The upload that the header of a further chunk names. Throws Failure. */
async function continued(find: Find, arrival: Arrival, { fileId }: Upload): Promise<Begun | undefined> {
  const { creator, chunk } = arrival;
  if (chunk === undefined || fileId === undefined) return undefined;
  if (!customId.safeParse(fileId).success) throw new Failure('storage_invalid_appwrite_id');
  const begun = await begunBy(find, arrival, fileId);
  if (begun === undefined) throw new Failure('storage_file_not_found');
  demandSame(begun.file, creator, chunk);
  return begun;
}

/** The upload of an id that a chunk can belong to; none where the id is no text yet, or the file somebody else's. */
async function begunBy(find: Find, { bucket, creator, chunk }: Arrival, fileId: unknown): Promise<Begun | undefined> {
  const id = customId.safeParse(fileId);
  if (chunk === undefined || !id.success) return undefined;
  const begun = await find(bucket, id.data);
  return begun?.file.creator === creator ? begun : undefined;
}

/** A file of a form, written. */
interface Received {
  readonly name: string;
  readonly part: WrittenPart;
  readonly begun: Begun | undefined;
}

/** Writes the file of a form; what was written of one whose rest is refused is given up. */
async function receive(
  writer: Deps['writer'],
  where: Where,
  by: AuditContext,
  arrival: Arrival,
  begunOf: (form: UploadedFile) => Promise<Begun | undefined>,
  upload: Upload,
) {
  const { bucket, chunk } = arrival;
  let written: WrittenPart | undefined;
  try {
    return await upload.read(async (form): Promise<Received> => {
      demandExtension(bucket, form.name);
      const begun = await begunOf(form);
      written = await writer.write(by, where.project, bucket, {
        number: chunk === undefined ? 0 : numberOf(chunk),
        gzip: begun === undefined ? arrival.gzip : begun.file.compression === 'gzip',
        encryption: begun?.file.encryption ?? bucket.encryption,
        maxBytes: chunk === undefined ? bucket.maximumFileSize : chunk.end - chunk.start + 1,
        bytes: form.bytes,
      });
      return { name: safeName(form.name), part: written, begun };
    });
  } catch (error) {
    if (written !== undefined) await writer.discard(by, [written.key]);
    throw error;
  }
}
