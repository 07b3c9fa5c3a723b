import type { Reading } from '#src/contract/reading.js';
import { Lane } from '../db/lane.js';
import { createConverter } from './converter.js';
import type { ConvertedImage, ImageRequest } from './image.js';

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
  /** Ends the processes that convert. */
  close(): void;
}

/** An image can take several hundred megabytes while it is decoded, so even large machines work on two at once. */
const mostAtOnce = 2;
/** Those that wait hold no bytes, and a page of thumbnails asks for all of them at once. */
const waiting = { waitingOfAccount: 128, waiting: 256, waitMs: 30_000 };

/** Creates the converter of one process on a machine with so many processors. */
export function createImages(processors: number): Images {
  const parallel = Math.min(mostAtOnce, Math.max(1, processors - 1));
  const lane = new Lane({ places: parallel, perAccount: parallel, ...waiting });
  const converters = Array.from({ length: parallel }, createConverter);
  const free = [...converters];
  return {
    convert: (reading, read, request) =>
      lane.use(reading, async () => {
        // The lane has no more places than there are converters. The one that worked last is warm.
        const converter = free.pop() ?? createConverter();
        try {
          return await converter.convert(await read(), request);
        } finally {
          free.push(converter);
        }
      }),
    close: () => {
      for (const converter of converters) converter.close();
    },
  };
}
