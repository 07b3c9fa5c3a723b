import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import type { Buckets } from '../../buckets/index.js';
import type { FileStatements } from '../store.js';

/** Which file of which bucket. */
interface FilePath {
  readonly bucketId: string;
  readonly fileId: string;
}

/** Stored permissions that decide who reads a file, as they are now. */
interface FileReaders {
  /** No other bucket has it. */
  readonly containerKey: string;
  readonly container: readonly string[];
  readonly itemSecurity: boolean;
  /** Undefined where there is no such file. */
  readonly item: readonly string[] | undefined;
}

/** Tells of files who reads them now; undefined where the bucket is gone or disabled. */
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
