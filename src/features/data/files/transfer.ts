import type { ServerKey } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { expandPermissions } from '#src/contract/permissions.js';
import { operatorReading } from '#src/contract/reading.js';
import type { Instant } from '#src/contract/shapes.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Bucket } from '../buckets/index.js';
import type { ContentReader } from './content/reader.js';
import type { BucketContext } from './model/access.js';
import { safeName } from './model/names.js';
import { fileRecordOf } from './model/record.js';
import type { Files } from './model/service.js';
import { type FileRow, type FileStatements, files } from './model/store.js';

/** A file to import, with its bytes. */
interface ImportedFile {
  readonly id: string;
  readonly name: string;
  readonly permissions: readonly string[];
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly size: number;
  /** MD5 in hexadecimal; undefined if it is unknown. */
  readonly signature: string | undefined;
  /** Reads the bytes. */
  open(): Promise<AsyncIterable<Uint8Array>>;
}

/** Options of an import. */
interface ImportOptions {
  /** Leaves existing files as they are. */
  readonly keep: boolean;
  /** Compares and writes nothing. */
  readonly dryRun: boolean;
}

/** A bucket of a project. */
type FilePlace = Pick<BucketContext, 'project' | 'bucketId'>;

/** A file with its bytes. */
interface ExportedFile {
  readonly file: FileRow;
  /** Throws Failure. */
  open(): Promise<AsyncIterable<Uint8Array>>;
}

/** Imports and exports the files of buckets for the operator, with their ids and times. */
interface FileTransfer {
  /** Reads the complete files of a bucket in the order of their ids. */
  exported(place: FilePlace): AsyncIterable<ExportedFile>;
  /** Makes a file equal to the given one. Reads its bytes only if they differ by size or signature. Throws Failure. */
  importOne(
    place: FilePlace,
    by: AuditContext,
    given: ImportedFile,
    options: ImportOptions,
  ): Promise<'created' | 'changed' | 'skipped'>;
}

/** The operator has the permissions of a server key with all scopes. */
const operator: ServerKey = { kind: 'key', id: '', name: 'operator', scopes: ['all'], expire: null };

interface Deps extends Pick<Runtime, 'db'> {
  readonly files: Files;
  readonly statements: FileStatements;
  readonly reader: ContentReader;
  /** Throws Failure `storage_bucket_not_found`. */
  readonly bucketIn: (reader: Runtime['db'], where: BucketContext) => Promise<Bucket>;
}

/** Creates the transfer of files. */
export function createFileTransfer({ db }: Pick<Runtime, 'db'>, given: Omit<Deps, 'db'>): FileTransfer {
  return bind({ ...given, db }, { importOne, exported });
}

/** Files of a page. */
const filesOfPage = 200;

async function* exported({ db, statements, bucketIn, reader }: Deps, place: FilePlace) {
  const where = contextOf(place);
  const bucket = await bucketIn(db, where);
  for (let after = ''; ; ) {
    const page = (await db.all(statements.after(bucket.key, after, filesOfPage))).map((row) => files.decode(row));
    for (const file of page) yield { file, open: () => reader.open(place.project, file, 0, file.sizeOriginal - 1) };
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

function contextOf(place: FilePlace): BucketContext {
  return { ...place, actor: operator, reading: operatorReading };
}

async function importOne(
  deps: Deps,
  place: FilePlace,
  by: AuditContext,
  given: ImportedFile,
  { keep, dryRun }: ImportOptions,
): Promise<'created' | 'changed' | 'skipped'> {
  const { db, statements, bucketIn } = deps;
  const where = contextOf(place);
  const bucket = await bucketIn(db, where);
  const row = await db.one(statements.find({ bucketKey: bucket.key, id: given.id }));
  const present = row && files.decode(row);
  const isComplete = present !== undefined && present.completedAt !== null;
  if (isComplete && keep) return 'skipped';
  const hasBytes = isComplete && isSameContent(present, given);
  if (hasBytes && isSameRecord(present, given)) return 'skipped';
  const outcome = isComplete ? 'changed' : 'created';
  if (dryRun) return outcome;
  if (!hasBytes) {
    if (present !== undefined) await deps.files.remove(where, by, given.id);
    await store(deps, where, by, given);
  }
  await describe(deps, bucket, by, given, hasBytes);
  return outcome;
}

function isSameContent(present: FileRow, { size, signature = present.signature }: ImportedFile): boolean {
  return present.sizeOriginal === size && present.signature === signature;
}

function isSameRecord(present: FileRow, { name, permissions, createdAt, updatedAt }: ImportedFile): boolean {
  const wanted = expandPermissions(permissions, 'item');
  return (
    present.name === safeName(name) &&
    present.createdAt === createdAt &&
    present.updatedAt === updatedAt &&
    present.permissions.length === wanted.length &&
    wanted.every((one) => present.permissions.includes(one))
  );
}

/** Uploads the bytes. Throws Failure `storage_invalid_file_size` if the source sends another number of bytes than it says. */
async function store({ files: service }: Deps, where: BucketContext, by: AuditContext, given: ImportedFile) {
  const { id: fileId, name, permissions, size } = given;
  const fields = { fileId, permissions };
  await service.upload(where, by, {
    chunk: undefined,
    fileId: undefined,
    bodyBytes: size,
    read: async (take) => ({ fields, file: await take({ name, fields, bytes: exactly(size, await given.open()) }) }),
  });
}

async function* exactly(size: number, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let received = 0;
  for await (const chunk of bytes) {
    received += chunk.length;
    yield chunk;
  }
  if (received !== size)
    throw new Failure('storage_invalid_file_size', {
      message: `The source sent ${received} bytes instead of ${size}.`,
    });
}

/** Sets name, permissions and times. Announces the change unless the file has just been created. */
async function describe(
  { db, statements }: Deps,
  bucket: Bucket,
  by: AuditContext,
  { id, name, permissions, createdAt, updatedAt }: ImportedFile,
  isAnnounced: boolean,
): Promise<void> {
  await db.work(by, async (unit) => {
    const row = await unit.one(statements.lock(bucket.key, id));
    if (row === undefined) throw new Failure('storage_file_not_found');
    const change = {
      name: safeName(name),
      permissions: expandPermissions(permissions, 'item'),
      createdAt,
      updatedAt,
    };
    await unit.run(statements.update(bucket.key, id, change));
    if (!isAnnounced) return;
    const { resource, payload, announce, audience } = fileRecordOf(bucket, { ...files.decode(row), ...change });
    unit.record('fileUpdated', { resource, payload });
    unit.announce('fileUpdated', { resource, data: announce, audience });
  });
}
