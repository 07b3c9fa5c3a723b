import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import type { Buckets } from '../buckets/index.js';
import type { FileStatements } from './model/store.js';

interface FilePath {
  readonly bucketId: string;
  readonly fileId: string;
}

/** Current permissions that decide which roles can read a file. */
interface FileReaders {
  /** Never reused by another bucket. */
  readonly containerKey: string;
  readonly container: readonly string[];
  readonly itemSecurity: boolean;
  /** Undefined if there is no such file. */
  readonly item: readonly string[] | undefined;
}

/** Reads the current read permissions of files; undefined if the bucket is gone or disabled. */
export function createFileReaders({ db }: Pick<Runtime, 'db'>, buckets: Buckets, statements: FileStatements) {
  const ofBucket = async (project: Project, bucketId: string, ids: readonly string[]) => {
    const bucket = await buckets.find(db, project.id, bucketId);
    if (bucket === undefined || !bucket.enabled) return undefined;
    const rows = bucket.fileSecurity ? await db.all(statements.permissionsOf(bucket.key, ids)) : [];
    const own = rows.map((row) => [String(row.id), JSON.parse(String(row.permissions)) as readonly string[]] as const);
    return { bucket, files: new Map(own) };
  };
  return async (project: Project, paths: readonly FilePath[]): Promise<readonly (FileReaders | undefined)[]> => {
    const ids = new Map<string, Set<string>>();
    for (const { bucketId, fileId } of paths) ids.set(bucketId, (ids.get(bucketId) ?? new Set()).add(fileId));
    const found = new Map<string, Awaited<ReturnType<typeof ofBucket>>>();
    for (const [bucketId, ofOne] of ids) found.set(bucketId, await ofBucket(project, bucketId, [...ofOne]));
    return paths.map(({ bucketId, fileId }) => {
      const of = found.get(bucketId);
      if (of === undefined) return undefined;
      const { key: containerKey, permissions: container, fileSecurity: itemSecurity } = of.bucket;
      return { containerKey, container, itemSecurity, item: of.files.get(fileId) };
    });
  };
}
