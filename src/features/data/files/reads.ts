import { Failure } from '#src/contract/errors.js';
import { FileContent } from '#src/contract/file-content.js';
import { RawJson } from '#src/contract/raw-json.js';
import { readAnswer } from '#src/platform/db/answer-reader.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import {
  commonFields,
  type ListField,
  type ListQueries,
  type ListRequest,
  type Lists,
} from '#src/platform/list-query/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { printJson } from '#src/platform/text/json.js';
import type { Bucket, Buckets } from '../buckets/index.js';
import type { ContentReader } from './content/reader.js';
import {
  type BucketContext,
  bucketGrants,
  isAllowed,
  requireChangeableFile,
  requireReadable,
  unpermittedInBucket,
  visibleRoles,
} from './model/access.js';
import type { FileInBucket, FilePage, Files } from './model/service.js';
import { type FileRow, type FileStatements, files } from './model/store.js';
import { withoutContent } from './model/view.js';
import type { FileTokens } from './tokens/service.js';

const fields = {
  ...commonFields,
  $permissions: { column: 'permissions', type: 'texts' },
  name: { column: 'name', type: 'text', index: 'order' },
  signature: { column: 'signature', type: 'text' },
  mimeType: { column: 'mime_type', type: 'text' },
  sizeOriginal: { column: 'size_original', type: 'integer' },
  sizeActual: { column: 'size_actual', type: 'integer' },
  chunksTotal: { column: 'chunks_total', type: 'integer' },
  chunksUploaded: { column: 'chunks_uploaded', type: 'integer' },
} as const satisfies Readonly<Record<string, ListField>>;

/** Media types that a browser may display: images without scripts, and PDF, detected by their bytes. All others are downloads. */
const shownTypes: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
  'application/pdf',
]);

interface Deps {
  readonly db: Runtime['db'];
  readonly buckets: Buckets;
  readonly lists: Lists;
  readonly statements: FileStatements;
  readonly reader: ContentReader;
  readonly tokens: Pick<FileTokens, 'check'>;
}

/** Read operations on files. */
interface FileReads extends Pick<Files, 'get' | 'list' | 'opened' | 'content' | 'shareable' | 'repeated'> {
  /** The bucket; if it is disabled, only server keys find it. */
  bucketIn(reader: Reader, where: BucketContext): Promise<Bucket>;
}

/** Creates the read operations on files. */
export function createFileReads({ db }: Pick<Runtime, 'db'>, given: Omit<Deps, 'db'>): FileReads {
  return bind({ ...given, db }, { get, list, opened, content, shareable, repeated, bucketIn });
}

async function get(deps: Deps, where: BucketContext, id: string): Promise<FileInBucket> {
  const { bucket, file, mayRead } = await readable(deps, where, id);
  if (!mayRead) throw new Failure('storage_file_not_found');
  return { bucket, file };
}

function list(deps: Deps, where: BucketContext, request: ListRequest & ListQueries): Promise<FilePage> {
  const { db, lists, statements } = deps;
  return readAnswer(db, request, async (snapshot) => {
    const bucket = await bucketIn(deps, snapshot, where);
    const rows = statements.rows(bucket.key, visibleRoles(where, bucket));
    const search = ['id', 'name'];
    const searchIndex = { table: 'files', scope: ['bucket_key', bucket.key], texts: search } as const;
    const listing = { rows, select: files.row, fields, search, searchIndex, isLarge: true } as const;
    const { total, rows: found } = await lists.page(snapshot, listing, request);
    return { bucket, total, files: found.map((row) => files.decode(row)) };
  });
}

async function opened(deps: Deps, where: BucketContext, id: string, token: string | undefined): Promise<FileInBucket> {
  const { bucket, file, mayRead } = await readable(deps, where, id);
  // The token is not checked if the caller may read the file. A wrong token gets the same error as a missing file.
  const state = mayRead || !token ? 'unknown' : await deps.tokens.check(where.project, token, { bucket, file });
  if (state === 'expired') throw new Failure('token_expired');
  if (!mayRead && state !== 'opens') throw new Failure('storage_file_not_found');
  if (file.completedAt === null) throw new Failure('storage_file_not_found');
  return { bucket, file };
}

async function content(
  deps: Deps,
  where: BucketContext,
  id: string,
  { token, shown }: { readonly token: string | undefined; readonly shown: boolean },
): Promise<FileContent> {
  const { file } = await opened(deps, where, id, token);
  return new FileContent({
    size: file.sizeOriginal,
    type: file.mimeType,
    name: file.name,
    etag: file.digest,
    isInline: shown && shownTypes.has(file.mimeType),
    open: (start, end) => deps.reader.open(where.project, file, start, end),
  });
}

async function shareable(deps: Deps, source: Reader, where: BucketContext, id: string): Promise<FileInBucket> {
  const bucket = await bucketIn(deps, source, where);
  const file = await fileOf(deps, source, bucket, id);
  requireChangeableFile(where, bucket, file, 'update');
  requireReadable(where, bucket, file);
  return { bucket, file };
}

async function repeated(
  deps: Deps,
  where: BucketContext,
  id: string,
  action: 'update' | 'delete',
  kept: () => RawJson | undefined,
): Promise<RawJson | undefined> {
  const bucket = await bucketIn(deps, deps.db, where);
  const row = await deps.db.one(deps.statements.find({ bucketKey: bucket.key, id }));
  // The permissions of a deleted file are unknown, so with `fileSecurity` a repeated deletion is not refused.
  if (row === undefined && action === 'delete') {
    if (!bucket.fileSecurity && !bucketGrants(where, bucket, action)) throw unpermittedInBucket(where, bucket, action);
    return kept();
  }
  if (row === undefined) throw new Failure('storage_file_not_found');
  const file = files.decode(row);
  requireChangeableFile(where, bucket, file, action);
  const answer = kept();
  if (answer === undefined || isAllowed(where, bucket, file, 'read')) return answer;
  return new RawJson(printJson(withoutContent(JSON.parse(answer.text))), answer.status);
}

async function readable(deps: Deps, where: BucketContext, id: string) {
  const bucket = await bucketIn(deps, deps.db, where);
  const file = await fileOf(deps, deps.db, bucket, id);
  return { bucket, file, mayRead: isAllowed(where, bucket, file, 'read') };
}

async function bucketIn({ buckets }: Deps, source: Reader, where: BucketContext): Promise<Bucket> {
  const bucket = await buckets.get(source, where.project.id, where.bucketId);
  if (!bucket.enabled && where.actor.kind !== 'key') throw new Failure('storage_bucket_not_found');
  return bucket;
}

async function fileOf({ statements }: Deps, source: Reader, bucket: Bucket, id: string): Promise<FileRow> {
  const row = await source.one(statements.find({ bucketKey: bucket.key, id }));
  if (row === undefined) throw new Failure('storage_file_not_found');
  return files.decode(row);
}
