import sharp, { type Sharp } from 'sharp';
import { packageFile } from '../runtime/package-root.js';
import {
  type ConvertedImage,
  type DrawRequest,
  type ImageFormat,
  ImageRefused,
  type ImageRequest,
  longestSide,
} from './image.js';

/**
 * Most pixels of a source image, by the format name in libvips. JPEG, PNG and WebP are decoded in strips or reduced, the others as a whole.
 * A format that is not listed is rejected.
 */
const maxPixels: Readonly<Record<string, number>> = {
  jpeg: 52_000_000,
  png: 52_000_000,
  webp: 52_000_000,
  gif: 16_000_000,
  heif: 12_000_000,
};
/**
 * Longest side of a source image, in pixels. Beyond it only PNG and AVIF can contain an image, and cropping one leads to sides that libvips
 * rejects.
 */
const maxSourceSide = 65_535;
/** The loaders of these formats. No other code of libvips sees bytes of callers, especially not the loaders of SVG, PDF and TIFF. */
const loaders = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif'].map((name) => `VipsForeignLoad${name}`);
/** Time limit of one step. */
const timeout = { seconds: 10 };

const positions: Readonly<Record<ImageRequest['gravity'], string | number>> = {
  center: 'centre',
  'top-left': 'left top',
  top: 'top',
  'top-right': 'right top',
  left: 'left',
  right: 'right',
  'bottom-left': 'left bottom',
  bottom: 'bottom',
  'bottom-right': 'right bottom',
  auto: sharp.strategy.attention,
};
const transparent = { r: 0, g: 0, b: 0, alpha: 0 };

sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: loaders });
// Images do not repeat, and the queue in front limits the concurrency.
sharp.cache(false);
sharp.concurrency(1);

/** Converts an image: its first frame, turned upright, without its metadata. Throws ImageRefused. */
export async function convertImage(bytes: Buffer, request: ImageRequest): Promise<ConvertedImage> {
  try {
    const source = await describe(bytes);
    const format = request.format ?? source.format;
    const options = { limitInputPixels: source.maxPixels, sequentialRead: true, pages: 1, failOn: 'error' } as const;
    const behind = backgroundOf(request, format);
    const resized = resize(sharp(bytes, options).autoOrient().timeout(timeout), request, longestSide[format]);
    const shown = isDecorated(request) ? await decorate(resized, request, behind, longestSide[format]) : resized;
    if (behind !== null) shown.flatten({ background: behind });
    return { bytes: await encode(shown, request, format).toBuffer(), format };
  } catch (error) {
    throw error instanceof ImageRefused ? error : new ImageRefused(reasonOf(error), { cause: error });
  }
}

/** The loader used only for drawings of the service. */
const drawingLoader = { operation: ['VipsForeignLoadSvg'] };

/** Draws a picture. The process handles one image at a time, so no bytes of a caller reach the SVG loader while it is unblocked. */
export async function drawImage({ svg, label, quality, format }: DrawRequest): Promise<ConvertedImage> {
  sharp.unblock(drawingLoader);
  try {
    const image = sharp(Buffer.from(svg)).timeout(timeout);
    if (label !== undefined) image.composite([{ input: await letters(label), gravity: 'centre' }]);
    if (format === 'jpeg') image.flatten({ background: '#ffffff' });
    return { bytes: await encode(image, { quality }, format).toBuffer(), format };
  } finally {
    sharp.block(drawingLoader);
  }
}

/** Letters on a transparent background, as PNG. Pango parses the text as markup, so it is escaped. */
function letters({ text, colour, pixels }: NonNullable<DrawRequest['label']>): Promise<Buffer> {
  const escaped = text.replace(/[&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`);
  const marked = `<span foreground="#${colour}">${escaped}</span>`;
  // At 72 dots per inch a point is a pixel.
  const font = { font: `Inter Medium ${pixels}`, fontfile: packageFile('dist/initials.ttf'), dpi: 72 };
  return sharp({ text: { text: marked, ...font, rgba: true } })
    .png()
    .toBuffer();
}

/** Reads the header of an image; no pixel is decoded before the size is checked. */
async function describe(bytes: Buffer): Promise<{ format: ImageFormat; maxPixels: number }> {
  const { format, width, height } = await sharp(bytes, { limitInputPixels: false, pages: 1 }).metadata();
  const limit = maxPixels[format];
  if (limit === undefined) throw new ImageRefused('unsupported');
  if (width * height > limit || Math.max(width, height) > maxSourceSide) throw new ImageRefused('too-large');
  // AVIF takes seconds to encode, so it is used only on request.
  return { format: format === 'heif' ? 'webp' : (format as ImageFormat), maxPixels: limit };
}

/**
 * Both sides given: exactly this size, cropped. One side: the other in proportion. None: the size of the image. The result is scaled down
 * so that no side exceeds `longest`.
 */
function resize(image: Sharp, { width, height, gravity }: ImageRequest, longest: number): Sharp {
  const inside = { fit: 'inside', withoutEnlargement: width === 0 && height === 0 } as const;
  if (width === 0 || height === 0)
    return image.resize(Math.min(width || longest, longest), Math.min(height || longest, longest), inside);
  const scale = Math.min(1, longest / Math.max(width, height));
  const [x, y] = [width, height].map((side) => Math.max(1, Math.round(side * scale)));
  return image.resize(x, y, { fit: 'cover', position: positions[gravity] });
}

function isDecorated({ borderWidth, borderRadius, opacity, rotation }: ImageRequest): boolean {
  return borderWidth > 0 || borderRadius > 0 || opacity < 1 || rotation % 360 !== 0;
}

/** Adds border, round corners, opacity and rotation, in this order; then scales down to the longest side. */
async function decorate(resized: Sharp, request: ImageRequest, behind: string | null, longest: number): Promise<Sharp> {
  const { borderWidth, borderRadius, borderColor, opacity, rotation } = request;
  const border = { top: borderWidth, bottom: borderWidth, left: borderWidth, right: borderWidth };
  const { data, info } = await resized
    .extend({ ...border, background: `#${borderColor}` })
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const raw = { width: info.width, height: info.height, channels: 4 } as const;
  roundCorners(data, raw, borderRadius);
  // A separate step, because sharp would add the background before applying the opacity.
  const faded =
    opacity === 1 ? data : await sharp(data, { raw }).linear([1, 1, 1, opacity], [0, 0, 0, 0]).raw().toBuffer();
  const image = sharp(faded, { raw }).timeout(timeout);
  if (rotation % 360 !== 0) image.rotate(rotation, { background: behind ?? transparent });
  return image.resize(longest, longest, { fit: 'inside', withoutEnlargement: true });
}

/** Makes the pixels outside of the quarter circles at the corners transparent; RGBA, eight bits each. */
function roundCorners(pixels: Buffer, { width, height }: { width: number; height: number }, radius: number): void {
  const r = Math.min(radius, width / 2, height / 2);
  for (let row = 0; row < r; row++) {
    const up = r - row - 0.5;
    const outside = Math.max(0, r - Math.sqrt(Math.max(0, r * r - up * up)));
    const whole = Math.floor(outside);
    for (const y of [row, height - 1 - row]) {
      const [left, right] = [4 * y * width, 4 * (y * width + width)];
      pixels.fill(0, left, left + 4 * whole);
      pixels.fill(0, right - 4 * whole, right);
      // The alpha of the pixel on the circle is reduced by the part outside.
      for (const alpha of [left + 4 * whole + 3, right - 4 * whole - 1])
        pixels[alpha] = Math.round((pixels[alpha] ?? 0) * (1 - (outside - whole)));
    }
  }
}

/** The colour behind transparent parts; null if they stay transparent. */
function backgroundOf({ background }: ImageRequest, format: ImageFormat): string | null {
  if (background !== null) return `#${background}`;
  return format === 'jpeg' ? '#ffffff' : null;
}

function encode(image: Sharp, { quality }: Pick<ImageRequest, 'quality'>, format: ImageFormat): Sharp {
  const chosen = quality === null ? {} : { quality };
  switch (format) {
    case 'jpeg':
      return image.jpeg(chosen);
    case 'webp':
      return image.webp(chosen);
    case 'avif':
      // The lowest effort that compresses better than WebP; the default takes seconds.
      return image.avif({ ...chosen, effort: 2 });
    case 'png':
      return image.png();
    case 'gif':
      return image.gif();
  }
}

/** Sharp's errors differ only in their messages. A timeout counts as too large. */
function reasonOf(error: unknown): ImageRefused['reason'] {
  return error instanceof Error && /pixel limit|timeout|too large|out of range/i.test(error.message)
    ? 'too-large'
    : 'unsupported';
}
