import { isUtf8 } from 'node:buffer';
import { lazy } from './lazy.js';

const detector = lazy(async () => (await import('file-type')).fileTypeFromBuffer);

/** Of the beginning of a file, by which its type is told. */
export const sampleBytes = 4100;

/** What text does not hold: control characters other than white space. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const control = /[\x00-\x08\x0e-\x1a\x1c-\x1f]/;

/** The media type of a file by its first bytes; never by its name. What has no signature is text or unknown. */
export async function mediaTypeOf(sample: Buffer): Promise<string> {
  const detect = await detector.get();
  // A detector that trips over what somebody has made up says nothing of it.
  const found = await detect(sample).catch(() => undefined);
  if (found !== undefined) return found.mime;
  return isText(sample) ? 'text/plain; charset=utf-8' : 'application/octet-stream';
}

/** A sample may end within a character. */
function isText(sample: Buffer): boolean {
  const isWhole = [0, 1, 2, 3].some((cut) => isUtf8(sample.subarray(0, Math.max(0, sample.length - cut))));
  return isWhole && !control.test(sample.toString('utf8'));
}
