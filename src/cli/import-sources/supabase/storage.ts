import { createReadStream, type Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { ForeignRow } from '#src/platform/foreign-databases/index.js';
import type { FileBucket } from '../../project-file/file.js';
import { objectOf } from '../../user-records/index.js';
import { attributeKeys } from '../keys.js';
import type { Read, SourceFile } from '../source.js';
import type { UnsupportedList } from '../unsupported-list.js';
import { columnTime } from './columns.js';
import { type SupabaseData, tableName } from './data.js';

/** The buckets and files of Supabase's storage. */
interface Storage {
  readonly buckets: FileBucket[];
  files(bucketId: string): AsyncIterable<Read<SourceFile>>;
}

const copyAdvice =
  'Copy the directory of the storage service of a self-hosted Supabase, or download the objects into BUCKET/NAME, and name the directory with --storage.';

/** Reads the buckets. Without a directory, the objects are added to the list. */
export async function openStorage(
  data: SupabaseData,
  directory: string | undefined,
  unsupported: UnsupportedList,
): Promise<Storage> {
  const table = (name: string) => data.tables.find((one) => tableName(one) === `storage.${name}`);
  const [ofBuckets, ofObjects] = [table('buckets'), table('objects')];
  const rows: ForeignRow[] = [];
  if (ofBuckets !== undefined) for await (const found of data.rows(ofBuckets)) rows.push(...found);
  const names = attributeKeys(rows.map(({ id }) => String(id)));
  for (const { name, command } of ofObjects?.policies ?? [])
    unsupported.add(
      'policy',
      `storage.objects: policy ${JSON.stringify(name)} for ${command} has no counterpart. Files are for server keys until you grant permissions on the buckets.`,
    );
  for (const row of rows)
    if (row.public === 't')
      unsupported.add(
        'public bucket',
        `${row.id}: everyone could read its objects by name, but not list them. Grant read to any if everyone may do both.`,
      );
  if (directory === undefined && ofObjects !== undefined) {
    let objects = 0;
    for await (const found of data.rows(ofObjects)) objects += found.length;
    unsupported.add('file', copyAdvice, objects);
  }
  const root =
    directory === undefined
      ? undefined
      : await rootOf(
          directory,
          rows.map(({ id }) => String(id)),
        );
  return {
    buckets: rows.map((row): FileBucket => {
      const id = String(row.id);
      const $id = names.get(id) ?? id;
      if ($id !== id) unsupported.add('name', `the bucket ${id} is called ${$id} here.`);
      const limit = typeof row.file_size_limit === 'string' ? { maximumFileSize: Number(row.file_size_limit) } : {};
      return { $id, name: String(row.name ?? id), fileSecurity: false, $permissions: [], ...limit };
    }),
    files: async function* (bucketId) {
      const [bucket] = [...names].find(([, key]) => key === bucketId) ?? [];
      if (root === undefined || ofObjects === undefined) return;
      for await (const found of data.rows(ofObjects))
        for (const row of found) if (row.bucket_id === bucket) yield await fileOf(root, row);
    },
  };
}

/** The directory that contains those of the buckets. The storage service has one of the tenant around them. */
async function rootOf(directory: string, buckets: readonly string[]): Promise<string> {
  let level = [directory];
  for (let depth = 0; depth <= 2; depth += 1) {
    const next: string[] = [];
    for (const one of level) {
      const entries = await readdir(one, { withFileTypes: true }).catch(() => []);
      if (entries.some((entry) => entry.isDirectory() && buckets.includes(entry.name))) return one;
      next.push(...entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(one, name)));
    }
    level = next;
  }
  return directory;
}

async function fileOf(root: string, row: ForeignRow): Promise<Read<SourceFile>> {
  const [id, bucket, name, version] = [row.id, row.bucket_id, row.name, row.version].map((one) => String(one ?? ''));
  const place = `${bucket}/${name}`;
  if (`${place}/${version}`.split('/').includes('..') || place.includes('\0'))
    return { id: id ?? '', problem: `The name ${JSON.stringify(name)} is not valid.` };
  const candidates = [join(root, place, version ?? ''), join(root, place)];
  let found: { path: string; stats: Stats } | undefined;
  for (const path of candidates) {
    if (!path.startsWith(root + sep) || found !== undefined) continue;
    const stats = await lstat(path).catch(() => undefined);
    if (stats?.isFile()) found = { path, stats };
  }
  if (found === undefined) return { id: id ?? '', problem: `${place} is missing in ${root}.` };
  const { path, stats } = found;
  const metadata = objectOf(row.metadata) ?? {};
  const tag = typeof metadata.eTag === 'string' ? metadata.eTag.replaceAll('"', '') : '';
  return {
    id: id ?? '',
    // The service replaces the separators.
    name: name ?? '',
    permissions: [],
    createdAt: columnTime(row.created_at) ?? stats.mtime.toISOString(),
    updatedAt: columnTime(row.updated_at) ?? stats.mtime.toISOString(),
    size: stats.size,
    mimeType: typeof metadata.mimetype === 'string' ? metadata.mimetype : 'application/octet-stream',
    // Other tags are times, or digests of parts.
    signature: /^[0-9a-f]{32}$/.test(tag) ? tag : undefined,
    open: async () => createReadStream(path),
  };
}
