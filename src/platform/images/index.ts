import type { Reading } from '#src/contract/reading.js';
import { createSlots } from '../db/list-slots.js';
import { createConverter } from './converter.js';
import type { ConvertedImage, DrawRequest, ImageRequest } from './image.js';

export {
  type ConvertedImage,
  type Drawing,
  type DrawRequest,
  gravities,
  type ImageFormat,
  ImageRefused,
  type ImageRequest,
  maxSide,
} from './image.js';

/** Converts images, a few at a time. */
export interface Images {
  /**
   * Reads and converts the image when the turn of its account comes. Throws ImageRefused, and DatabaseError if the queue is full or the
   * client is gone before its turn.
   */
  convert(
    reading: Reading,
    read: () => Promise<AsyncIterable<Uint8Array>>,
    request: ImageRequest,
  ): Promise<ConvertedImage>;
  /** Draws a picture of the service's own when the turn of its account comes. Throws DatabaseError like `convert`. */
  draw(reading: Reading, request: DrawRequest): Promise<ConvertedImage>;
  /** Ends the converter processes. */
  close(): void;
}

/** An image can take several hundred megabytes while it is decoded, so even large machines convert only two at once. */
const mostAtOnce = 2;
/** Queued requests hold no bytes, and a page of thumbnails requests all of them at once. */
const waiting = { waitingOfAccount: 128, waiting: 256, waitMs: 30_000 };

/** The empty input of a drawing. */
async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Creates the image converters of this process, for a machine with `processors` processors. */
export function createImages(processors: number): Images {
  const parallel = Math.min(mostAtOnce, Math.max(1, processors - 1));
  const slots = createSlots({ places: parallel, perAccount: parallel, ...waiting });
  const converters = Array.from({ length: parallel }, createConverter);
  const free = [...converters];
  const work = (
    reading: Reading,
    read: () => Promise<AsyncIterable<Uint8Array>>,
    request: ImageRequest | DrawRequest,
  ): Promise<ConvertedImage> =>
    slots(reading, async () => {
      // The semaphore has as many slots as there are converters. The most recently used one is warm.
      const converter = free.pop() ?? createConverter();
      try {
        return await converter.convert(await read(), request);
      } finally {
        free.push(converter);
      }
    });
  return {
    convert: work,
    draw: (reading, request) => work(reading, async () => nothing(), request),
    close: () => {
      for (const converter of converters) converter.close();
    },
  };
}
