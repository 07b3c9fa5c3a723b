/** The media type of a logo. SVG is excluded, because it can contain scripts. */
export type ImageType = 'image/png' | 'image/jpeg' | 'image/webp';

/** Detects the media type of an image by its first bytes; undefined for anything but PNG, JPEG and WebP. */
export function imageTypeOf(content: Buffer): ImageType | undefined {
  const starts = (hex: string, at = 0) => content.subarray(at, at + hex.length / 2).toString('hex') === hex;
  if (starts('89504e470d0a1a0a')) return 'image/png';
  if (starts('ffd8ff')) return 'image/jpeg';
  // "RIFF", four bytes of length, "WEBP".
  return starts('52494646') && starts('57454250', 8) ? 'image/webp' : undefined;
}
