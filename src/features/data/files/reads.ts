import { mapLook } from '#src/contract/answer-room.js';
import { Failure } from '#src/contract/errors.js';
import { FileContent } from '#src/contract/file-content.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { commonFields, type ListField, type Lists, readList } from '#src/platform/list-query/index.js';
import type { Bucket, Buckets } from '../buckets/index.js';
import { demandChangeable, demandReadable, isAllowed, visibleRoles, type Where } from './access.js';
import type { ContentReader } from './content/reader.js';
import type { Files } from './service.js';
import { type FileRow, type FileStatements, files } from './store.js';
import type { FileTokens } from './tokens/service.js';

const fields = {
  ...commonFields,
  $permissions: { column: 'permissions', type: 'texts' },
  name: { column: 'name', type: 'text' },
  signature: { column: 'signature', type: 'text' },
  mimeType: { column: 'mime_type', type: 'text' },
  sizeOriginal: { column: 'size_original', type: 'integer' },
  sizeActual: { column: 'size_actual', type: 'integer' },
  chunksTotal: { column: 'chunks_total', type: 'integer' },
  chunksUploaded: { column: 'chunks_uploaded', type: 'integer' },
} as const satisfies Readonly<Record<string, ListField>>;

/** What a browser may show: images that hold no scripts, told by their bytes. Everything else is saved. */
const shownTypes: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
]);

interface Deps {
  readonly buckets: Buckets;
  readonly lists: Lists;
  readonly statements: FileStatements;
  readonly reader: ContentReader;
  readonly tokens: Pick<FileTokens, 'check'>;
}

/** Reads of files. */
export function createReads({ db }: Pick<Runtime, 'db'>, { buckets, lists, statements, reader, tokens }: Deps) {
  /** A disabled bucket exists for server keys only. */
  const bucketOf = async (source: Reader, { project, actor, bucketId }: Where): Promise<Bucket> => {
    const bucket = await buckets.get(source, project.id, bucketId);
    if (!bucket.enabled && actor.kind !== 'key') throw new Failure('storage_bucket_not_found');
    return bucket;
  };
  const fileOf = async (source: Reader, bucket: Bucket, id: string): Promise<FileRow> => {
    const row = await source.one(statements.find({ bucketKey: bucket.key, id }));
    if (row === undefined) throw new Failure('storage_file_not_found');
    return files.decode(row);
  };
  const readable = async (where: Where, id: string) => {
    const bucket = await bucketOf(db, where);
    const file = await fileOf(db, bucket, id);
    return { bucket, file, mayRead: isAllowed(where, bucket, file, 'read') };
  };
  const reads: Pick<Files, 'get' | 'list' | 'opened' | 'content' | 'shareable'> = {
    get: async (where, id) => {
      const { bucket, file, mayRead } = await readable(where, id);
      if (!mayRead) throw new Failure('storage_file_not_found');
      return { bucket, file };
    },
    list: (where, request) =>
      readList(db, request, async (snapshot, maxBytes) => {
        const bucket = await bucketOf(snapshot, where);
        const rows = statements.rows(bucket.key, visibleRoles(where, bucket));
        const listing = { rows, select: statements.columns(), fields, search: ['name', 'id'] };
        const look = await lists.page(snapshot, listing, request, maxBytes);
        return mapLook(look, ({ total, rows: found }) => ({
          bucket,
          total,
          files: found.map((row) => files.decode(row)),
        }));
      }),
    opened: async (where, id, token) => {
      const { bucket, file, mayRead } = await readable(where, id);
      // Who may read needs no token, and one that is wrong tells nothing of the file.
      const state = mayRead || !token ? 'unknown' : await tokens.check(where.project, token, file);
      if (state === 'expired') throw new Failure('token_expired');
      if (!mayRead && state !== 'opens') throw new Failure('storage_file_not_found');
      if (file.completedAt === null) throw new Failure('storage_file_not_found');
      return { bucket, file };
    },
    content: async (where, id, { token, shown }) => {
      const { file } = await reads.opened(where, id, token);
      return new FileContent({
        size: file.sizeOriginal,
        type: file.mimeType,
        name: file.name,
        etag: file.digest,
        isInline: shown && shownTypes.has(file.mimeType),
        open: (start, end) => reader.open(where.project, file, start, end),
      });
    },
    shareable: async (source, where, id) => {
      const bucket = await bucketOf(source, where);
      const file = await fileOf(source, bucket, id);
      demandChangeable(where, bucket, file, 'update');
      demandReadable(where, bucket, file);
      return { bucket, file };
    },
  };
  return { ...reads, bucketOf: (where: Where) => bucketOf(db, where), bucketIn: bucketOf };
}
