import { once } from 'node:events';
import type { Writable } from 'node:stream';

const headBytes = 4;

/** Writes a frame: its length, then its bytes. Resolves when the stream accepts another one. */
export async function writeFrame(target: Writable, bytes: Uint8Array): Promise<void> {
  const head = Buffer.allocUnsafe(headBytes);
  head.writeUInt32BE(bytes.length);
  target.write(head);
  if (!target.write(bytes)) await once(target, 'drain');
}

/** Reads frames, one at a time; undefined at the end of the source. */
export function createFrameReader(source: AsyncIterable<Uint8Array>): () => Promise<Buffer | undefined> {
  const pieces = source[Symbol.asyncIterator]();
  let rest: Uint8Array = Buffer.alloc(0);
  /** Reads `size` bytes; undefined if the source ends before. */
  const take = async (size: number): Promise<Buffer | undefined> => {
    const taken = Buffer.allocUnsafeSlow(size);
    for (let filled = 0; ; ) {
      const some = rest.subarray(0, size - filled);
      taken.set(some, filled);
      filled += some.length;
      rest = rest.subarray(some.length);
      if (filled === size) return taken;
      const { done, value } = await pieces.next();
      if (done) return undefined;
      rest = value;
    }
  };
  return async () => {
    const head = await take(headBytes);
    return head && take(head.readUInt32BE());
  };
}
