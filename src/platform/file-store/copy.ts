import { createHash } from 'node:crypto';
import { type FileStore, FileStoreError, ObjectNotFoundError } from './store.js';

/** Progress of copying. */
export interface CopyProgress {
  /** Objects that the target already had in the same size. */
  readonly present: number;
  readonly copied: number;
  readonly bytes: number;
  /** Objects that were removed from the source while they were copied. */
  readonly removed: number;
}

/**
 * Copies every object that the target does not have in the same size. Each copy is read back and compared by size and SHA-256; a copy that
 * differs is removed. If an object disappears from the source during the copy, it is removed from the target too. Throws FileStoreError.
 */
export async function* copyObjects(source: FileStore, target: FileStore): AsyncGenerator<CopyProgress> {
  let progress: CopyProgress = { present: 0, copied: 0, bytes: 0, removed: 0 };
  for await (const { key, size } of source.list('')) {
    if ((await target.size(key)) === size) progress = { ...progress, present: progress.present + 1 };
    else if (await copyObject(key, source, target))
      progress = { ...progress, copied: progress.copied + 1, bytes: progress.bytes + size };
    else progress = { ...progress, removed: progress.removed + 1 };
    yield progress;
  }
  yield progress;
}

/** False if the object is gone. */
async function copyObject(key: string, source: FileStore, target: FileStore): Promise<boolean> {
  const sent = createHash('sha256');
  try {
    const bytes = await source.read(key);
    const size = await target.write(key, hashed(bytes, sent));
    const digest = sent.digest('hex');
    const received = createHash('sha256');
    let back = 0;
    for await (const piece of hashed(await target.read(key), received)) back += piece.length;
    if (back !== size || received.digest('hex') !== digest) {
      await target.remove(key);
      throw new FileStoreError('copy-differs', { reason: `the copy of ${key} differs from it` });
    }
  } catch (error) {
    if (!(error instanceof ObjectNotFoundError)) throw error;
    await target.remove(key);
    return false;
  }
  if ((await source.size(key)) !== undefined) return true;
  await target.remove(key);
  return false;
}

async function* hashed(bytes: AsyncIterable<Uint8Array>, hash: { update(piece: Uint8Array): unknown }) {
  for await (const piece of bytes) {
    hash.update(piece);
    yield piece;
  }
}
