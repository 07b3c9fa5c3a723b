import type { Reading } from '#src/contract/reading.js';
import { Lane } from '../db/lane.js';
import { lazy } from '../lazy.js';
import { type ConvertedImage, ImageRefused, type ImageRequest } from './image.js';

export {
  type ConvertedImage,
  gravities,
  type ImageFormat,
  ImageRefused,
  type ImageRequest,
  maxSide,
} from './image.js';

/** Converts images, a few at a time. */
export interface Images {
  /**
   * Reads the image when the turn of its account comes. Throws ImageRefused, and DatabaseError where too many wait, or where the client is gone
   * before its turn.
   */
  convert(
    reading: Reading,
    read: () => Promise<AsyncIterable<Uint8Array>>,
    request: ImageRequest,
  ): Promise<ConvertedImage>;
}

/** Bytes of an image that is read. */
const maxBytes = 32 * 1024 * 1024;
/** An image can take several hundred megabytes while it is decoded, so even large machines work on two at once. */
const mostAtOnce = 2;
/** Those that wait hold no bytes, and a page of thumbnails asks for all of them at once. */
const waiting = { waitingOfAccount: 128, waiting: 256, waitMs: 30_000 };

/** Creates the converter of one process on a machine with so many processors. */
export function createImages(processors: number): Images {
  const parallel = Math.min(mostAtOnce, Math.max(1, processors - 1));
  const lane = new Lane({ places: parallel, perAccount: parallel, ...waiting });
  const pipeline = lazy(() => import('./pipeline.js'));
  return {
    convert: (reading, read, request) =>
      lane.use(reading, async () => {
        const bytes = await collect(await read());
        const { convertImage } = await pipeline.get();
        return convertImage(bytes, request);
      }),
  };
}

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const collected: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > maxBytes) throw new ImageRefused('too-large');
    collected.push(piece);
  }
  return Buffer.concat(collected);
}
