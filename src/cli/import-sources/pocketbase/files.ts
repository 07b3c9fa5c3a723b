import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { objectOf } from '../../user-records/index.js';
import type { Read, SourceFile } from '../source.js';

/** The id of a file, the same in every run. Names of PocketBase are longer than ids can be. */
export function fileIdOf(recordId: string, name: string): string {
  return createHash('sha256').update(`${recordId}/${name}`).digest('hex').slice(0, 20);
}

/** True for a name that leads to no other directory. */
function isPlainName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && basename(name) === name && !name.includes('\0');
}

/** Describes a file of a record that was created at a time. Beside it, PocketBase stores its type, MD5 and original name in a file `.attrs`. */
export async function storedFile(
  storage: string,
  [collectionId, recordId, name]: readonly [string, string, string],
  permissions: readonly string[],
  created: string | undefined,
): Promise<Read<SourceFile>> {
  const id = fileIdOf(recordId, name);
  if (![collectionId, recordId, name].every(isPlainName))
    return { id, problem: `The name ${JSON.stringify(name)} is not valid.` };
  const path = join(storage, collectionId, recordId, name);
  const found = await lstat(path).catch(() => undefined);
  if (found?.isFile() !== true) return { id, problem: `storage/${collectionId}/${recordId}/${name} is missing.` };
  const attributes = objectOf(await readFile(`${path}.attrs`, 'utf8').catch(() => '')) ?? {};
  const { md5, 'user.content_type': type, 'user.metadata': metadata } = attributes;
  const original = objectOf(metadata)?.['original-filename'];
  return {
    id,
    name: typeof original === 'string' && original !== '' ? original : name,
    permissions,
    // Files are never changed, and a copy of the directory may have other times.
    createdAt: created ?? found.mtime.toISOString(),
    updatedAt: created ?? found.mtime.toISOString(),
    size: found.size,
    mimeType: typeof type === 'string' && type !== '' ? type : 'application/octet-stream',
    signature: typeof md5 === 'string' ? Buffer.from(md5, 'base64').toString('hex') : undefined,
    open: async () => createReadStream(path),
  };
}
