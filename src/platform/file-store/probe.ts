import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { type FileStore, FileStoreError } from './store.js';

/** Writes, reads and removes a small object. Returns the reason of a failure; undefined on success. */
export async function probeFileStore(store: FileStore): Promise<string | undefined> {
  const sent = randomBytes(32);
  const key = `probe/${sent.toString('hex', 0, 8)}`;
  try {
    await store.write(key, Readable.from([sent]));
    const received: Uint8Array[] = [];
    for await (const piece of await store.read(key)) received.push(piece);
    await store.remove(key);
    return Buffer.concat(received).equals(sent) ? undefined : 'an object was read back with other bytes';
  } catch (error) {
    if (error instanceof FileStoreError) return error.reason;
    throw error;
  }
}
