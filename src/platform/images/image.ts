/** The formats that images can be converted into. */
export type ImageFormat = 'jpeg' | 'png' | 'webp' | 'avif' | 'gif';

/** Which part of an image is kept where it is cropped. */
export const gravities = [
  'center',
  'top-left',
  'top',
  'top-right',
  'left',
  'right',
  'bottom-left',
  'bottom',
  'bottom-right',
  'auto',
] as const;

/** The longest side that a client may ask for, in pixels. */
export const maxSide = 4000;

/** The longest side of the result, by its format: AVIF takes ten times as long to write as JPEG, and WebP with transparency three times the memory. */
export const longestSide: Readonly<Record<ImageFormat, number>> = {
  jpeg: maxSide,
  png: maxSide,
  webp: 3000,
  avif: 2000,
  gif: maxSide,
};

/** How an image is to be shown. */
export interface ImageRequest {
  /** Pixels; 0: as the other side asks. */
  readonly width: number;
  readonly height: number;
  readonly gravity: (typeof gravities)[number];
  /** 1 to 100; null: what is usual for the format. */
  readonly quality: number | null;
  /** Pixels. */
  readonly borderWidth: number;
  /** Six hex digits, as are all colours. */
  readonly borderColor: string;
  readonly borderRadius: number;
  /** 0 to 1. */
  readonly opacity: number;
  /** Degrees, clockwise. */
  readonly rotation: number;
  /** What is behind transparent parts; null: nothing, or white where the format knows no transparency. */
  readonly background: string | null;
  /** Null: that of the image, or WebP for AVIF. */
  readonly format: ImageFormat | null;
}

/** An image in a format. */
export interface ConvertedImage {
  readonly bytes: Buffer;
  readonly format: ImageFormat;
}

/** What the process that converts images answers, beside the bytes. */
export type ImageAnswer = { readonly residentBytes: number } & (
  | { readonly format: ImageFormat }
  | { readonly refused: ImageRefused['reason'] }
);

/** The image will not be shown: its bytes are none of a known format, or there are more pixels or bytes than are worked on. */
export class ImageRefused extends Error {
  readonly reason: 'unsupported' | 'too-large';
  constructor(reason: ImageRefused['reason'], options?: ErrorOptions) {
    super(reason === 'unsupported' ? 'not an image of a supported format' : 'the image is too large', options);
    this.name = 'ImageRefused';
    this.reason = reason;
  }
}
