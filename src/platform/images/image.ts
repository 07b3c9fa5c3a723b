/** Target formats of conversions. */
export type ImageFormat = 'jpeg' | 'png' | 'webp' | 'avif' | 'gif';

/** The part of an image that cropping keeps. */
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

/** The longest side that a client may request, in pixels. */
export const maxSide = 4000;

/**
 * The longest side of the result, by format: AVIF takes ten times as long to encode as JPEG, and WebP with transparency three times the
 * memory.
 */
export const longestSide: Readonly<Record<ImageFormat, number>> = {
  jpeg: maxSide,
  png: maxSide,
  webp: 3000,
  avif: 2000,
  gif: maxSide,
};

/** Transformation of an image. */
export interface ImageRequest {
  /** Pixels; 0: in proportion to the other side. */
  readonly width: number;
  readonly height: number;
  readonly gravity: (typeof gravities)[number];
  /** 1 to 100; null: the default of the format. */
  readonly quality: number | null;
  /** Pixels. */
  readonly borderWidth: number;
  /** Six hex digits, like all colours. */
  readonly borderColor: string;
  readonly borderRadius: number;
  /** 0 to 1. */
  readonly opacity: number;
  /** Degrees, clockwise. */
  readonly rotation: number;
  /** Colour behind transparent parts; null: none, or white if the format has no transparency. */
  readonly background: string | null;
  /** Null: that of the image, or WebP for AVIF. */
  readonly format: ImageFormat | null;
}

/** A picture drawn by the service itself. */
export interface Drawing {
  /** SVG written by the service; callers control only numbers and colours in it. */
  readonly svg: string;
  /** A few letters in the middle, in the font that comes with the service. */
  readonly label?: { readonly text: string; readonly colour: string; readonly pixels: number };
}

/** A drawing with its encoding. */
export interface DrawRequest extends Drawing {
  readonly quality: number | null;
  readonly format: ImageFormat;
}

/** A converted image with its format. */
export interface ConvertedImage {
  readonly bytes: Buffer;
  readonly format: ImageFormat;
}

/** Response of the converter process, besides the bytes. */
export type ImageAnswer = { readonly residentBytes: number } & (
  | { readonly format: ImageFormat }
  | { readonly refused: ImageRefused['reason'] }
);

/** The image is not converted: its format is unknown, or it has too many pixels or bytes. */
export class ImageRefused extends Error {
  readonly reason: 'unsupported' | 'too-large';
  constructor(reason: ImageRefused['reason'], options?: ErrorOptions) {
    super(reason === 'unsupported' ? 'not an image of a supported format' : 'the image is too large', options);
    this.name = 'ImageRefused';
    this.reason = reason;
  }
}
