import { Failure } from '#src/contract/errors.js';
import { fileLimits } from '#src/contract/limits.js';
import type { ChunkRange } from '#src/contract/upload.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Bucket, Buckets } from '../../buckets/index.js';
import type { Where } from '../access.js';
import type { ContentReader } from '../content/reader.js';
import type { WrittenPart } from '../content/writer.js';
import { recordOf } from '../record.js';
import { type FileRow, type FileStatements, fileObjects, files, type ObjectRow } from '../store.js';
import { type Arrival, type Begun, chunksOf, demandSame, type NewFile, numberOf } from './arrival.js';
import { giveUp } from './giving-up.js';
import { type IsGone, insert, newRow, store } from './rows.js';

interface Deps {
  readonly buckets: Buckets;
  readonly statements: FileStatements;
  readonly isGone: IsGone;
  readonly reader: ContentReader;
  /** Throws Failure `storage_bucket_not_found`. */
  readonly bucketIn: (reader: Reader, where: Where) => Promise<Bucket>;
  /** Keeps the answer together with the change. */
  readonly keep: (unit: Unit, by: AuditContext, bucket: Bucket, file: FileRow) => Promise<void>;
}

/** A chunk that has arrived, and where it belongs. */
interface ArrivedChunk {
  readonly arrival: Arrival & { readonly chunk: ChunkRange };
  /** Undefined where there was no such upload yet. */
  readonly begun: Begun | undefined;
  readonly fresh: NewFile;
  readonly part: WrittenPart;
}

/** The file of a chunk, and the chunk of that number that the file had before. */
interface Added {
  readonly file: FileRow;
  readonly mark: string;
  readonly before: { readonly part: ObjectRow | undefined } | undefined;
}

/** Adds chunks to files, and completes the files. */
export function createChunks({ db }: Pick<Runtime, 'db'>, deps: Deps) {
  const { buckets, statements, reader, bucketIn, keep } = deps;
  /** The file of an id, held; with a mark only the upload that has it. Throws Failure also where the bucket is gone. */
  const hold = async (unit: Unit, where: Where, bucket: Bucket, id: string, mark: string | undefined) => {
    const row = await unit.one(statements.lock(bucket.key, id));
    // One of the same id can have come anew.
    if ((await bucketIn(unit, where)).key !== bucket.key) throw new Failure('storage_bucket_not_found');
    const isGone = mark !== undefined && (await unit.one(statements.isMarked(bucket.key, id, mark))) === undefined;
    if (isGone) throw new Failure('storage_file_not_found');
    return row && files.decode(row);
  };
  /** The file of a chunk, held; a new one where there is none. */
  const holdOrBegin = async (unit: Unit, where: Where, { arrival, begun, fresh, part }: ArrivedChunk) => {
    const { bucket, chunk, creator } = arrival;
    const found = await hold(unit, where, bucket, fresh.id, begun?.mark);
    if (found !== undefined) return found;
    // Other chunks may come first at the same time.
    await buckets.hold(unit, where.project.id);
    const row = await unit.one(statements.lock(bucket.key, fresh.id));
    if (row !== undefined) return files.decode(row);
    if (where.actor.kind !== 'key' && chunksOf(chunk.size) > 1)
      await demandFewUnfinished(unit, deps, where, creator, chunk.size);
    await buckets.reserve(unit, where.project, bucket, { files: 1, bytes: chunk.size });
    const file = {
      ...newRow(unit, arrival, fresh, part),
      sizeOriginal: chunk.size,
      chunksTotal: chunksOf(chunk.size),
      chunksUploaded: 0,
    };
    await insert(unit, deps, file);
    return file;
  };
  const markOf = async (unit: Unit, { bucketKey, id }: FileRow) =>
    String((await unit.one(statements.mark(bucketKey, id)))?.key);
  /** Adds a chunk; where the file has one of its number already, or is complete, it changes nothing. */
  const addChunk = (where: Where, by: AuditContext, arrived: ArrivedChunk): Promise<Added> =>
    db.work(by, async (unit) => {
      const { part, arrival } = arrived;
      const { bucket, creator, chunk } = arrival;
      const file = await holdOrBegin(unit, where, arrived);
      demandSame(file, creator, chunk);
      const row = await unit.one(statements.part(bucket.key, file.id, numberOf(chunk)));
      if (file.completedAt !== null || row !== undefined)
        return { file, mark: await markOf(unit, file), before: { part: row && fileObjects.decode(row) } };
      await store(unit, statements, file, part);
      const change = {
        chunksUploaded: file.chunksUploaded + 1,
        sizeActual: file.sizeActual + part.storedSize,
        updatedAt: unit.now,
        ...(numberOf(chunk) === 0 ? { mimeType: part.mimeType } : {}),
      };
      await unit.run(statements.update(bucket.key, file.id, change));
      const changed = { ...file, ...change };
      // The answer to the last one is that of the complete file.
      if (changed.chunksUploaded < changed.chunksTotal) await keep(unit, by, bucket, changed);
      return { file: changed, mark: await markOf(unit, file), before: undefined };
    });
  /** Throws Failure `storage_file_already_exists` unless the part has the bytes that have arrived. */
  const demandSameBytes = async (
    { project }: Where,
    file: FileRow,
    there: ObjectRow | undefined,
    part: WrittenPart,
  ) => {
    const isSame = there?.size === part.size && (await reader.digestOfPart(project, file, there)) === part.sha256;
    if (!isSame) throw new Failure('storage_file_already_exists');
  };
  const digestsOf = sharedDigests(reader);
  /** Completes a file all of whose chunks are there. A request that ended before this is made up for by the next. */
  const complete = async (where: Where, by: AuditContext, bucket: Bucket, { file, mark }: Added): Promise<FileRow> => {
    if (file.completedAt !== null || file.chunksUploaded < file.chunksTotal) return file;
    const { md5, sha256 } = await digestsOf(where.project, file, mark);
    return db.work(by, async (unit) => {
      const current = await hold(unit, where, bucket, file.id, mark);
      if (current === undefined) throw new Failure('storage_file_not_found');
      if (current.completedAt !== null) return current;
      const change = { signature: md5, digest: sha256, updatedAt: unit.now, completedAt: unit.now };
      await unit.run(statements.update(bucket.key, file.id, change));
      const completed = { ...current, ...change };
      unit.record('fileCreated', recordOf(bucket, completed));
      await keep(unit, by, bucket, completed);
      return completed;
    });
  };
  return {
    /** Adds a chunk to its file. Throws Failure where the file has other bytes in its place. */
    add: async (where: Where, by: AuditContext, arrived: ArrivedChunk) => {
      const added = await addChunk(where, by, arrived);
      const { file, before } = added;
      if (before !== undefined) await demandSameBytes(where, file, before.part, arrived.part);
      return { file: await complete(where, by, arrived.arrival.bucket, added), isUsed: before === undefined };
    },
  };
}

/**
 * Lets a creator begin another upload: those that have got no chunk for some time make room for it. Throws Failure `general_rate_limit_exceeded`
 * where there are too many others.
 */
async function demandFewUnfinished(
  unit: Unit,
  deps: Pick<Deps, 'buckets' | 'statements'>,
  { project }: Where,
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
    if (!(await giveUp(unit, deps, oldest, idleSince))) break;
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

/** Reads the bytes of a file once for its digests, however often its last chunk is sent meanwhile. */
function sharedDigests(reader: ContentReader) {
  const underWay = new Map<string, ReturnType<ContentReader['digestsOf']>>();
  return (project: Where['project'], file: FileRow, mark: string): ReturnType<ContentReader['digestsOf']> => {
    const begun = underWay.get(mark) ?? reader.digestsOf(project, file).finally(() => underWay.delete(mark));
    underWay.set(mark, begun);
    return begun;
  };
}
