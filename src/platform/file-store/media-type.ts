import { isUtf8 } from 'node:buffer';
import { lazy } from '../runtime/lazy.js';

const detector = lazy(async () => (await import('file-type')).fileTypeFromBuffer);

/** Leading bytes used to detect the media type. */
export const sampleBytes = 4100;

/** Matches control characters other than white space, which text does not contain. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters.
const control = /[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]/;
/** The root of SVG, after anything that may precede the root of XML. */
const svg =
  /^\s*(?:<\?xml\s[^>]*\?>\s*)?(?:<!--(?:(?!-->)[\s\S])*-->\s*|<!DOCTYPE\s+svg\b[^<>[]*(?:\[[^\]]*\]\s*)?>\s*)*<svg[\s>]/;
const octets = 'application/octet-stream';

/** The media type of a file by its first bytes; never by its name. A file without a signature is text or unknown. */
export async function mediaTypeOf(sample: Buffer): Promise<string> {
  const text = textOf(sample);
  if (text !== undefined && svg.test(text.content)) return 'image/svg+xml';
  if (text?.charset.startsWith('utf-16')) return `text/plain; charset=${text.charset}`;
  const detect = await detector.get();
  // A crafted file can make the detector fail; its type is unknown then.
  const found = await detect(sample).catch(() => undefined);
  // The byte order mark of other text looks like a frame of MPEG audio.
  if (found !== undefined && !(found.mime === 'audio/mpeg' && sample[1] === 0xfe)) return found.mime;
  if (text !== undefined) return `text/plain; charset=${text.charset}`;
  // Text in an older, unknown encoding.
  return sample.length > 0 && !control.test(sample.toString('latin1')) ? 'text/plain' : octets;
}

/** The sample as text, if it is UTF-8, or UTF-16 with a byte order mark; it may end within a character. */
function textOf(sample: Buffer): { readonly charset: string; readonly content: string } | undefined {
  const [first, second] = sample;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (!isUtf16 && ![0, 1, 2, 3].some((cut) => isUtf8(sample.subarray(0, Math.max(0, sample.length - cut)))))
    return undefined;
  const charset = isUtf16 ? (first === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8';
  try {
    // Decoded as a stream: an incomplete character at the end is ignored, and other errors are thrown.
    const content = new TextDecoder(charset, { fatal: true }).decode(sample, { stream: true });
    return control.test(content) ? undefined : { charset, content };
  } catch {
    return undefined;
  }
}
