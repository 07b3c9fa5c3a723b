import { Failure } from '#src/contract/errors.js';
import { fileLimits } from '#src/contract/limits.js';
import type { Bucket } from '../../buckets/index.js';

/**
 * Sanitises a file name: no path separators, control characters or text direction marks, and a limited length in bytes that keeps the extension.
 * Zero-width joiners and non-joiners stay, because Persian, Indic scripts and emoji need them.
 */
export function safeName(name: string): string {
  const plain = name
    .toWellFormed()
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069/\\]/gu, '_')
    .trim();
  const named = ['', '.', '..'].includes(plain) ? 'file' : plain;
  const [extension = ''] = /\.[^.]{1,16}$/u.exec(named) ?? [];
  const stem = named.slice(0, named.length - extension.length);
  return `${firstBytes(stem, fileLimits.name - Buffer.byteLength(extension))}${extension}`;
}

/** The beginning of a text, in whole characters. */
function firstBytes(text: string, max: number): string {
  let bytes = 0;
  let kept = '';
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > max) break;
    kept += character;
  }
  return kept;
}

/** Throws Failure `storage_file_type_unsupported` if the bucket does not allow the extension. */
export function requireExtension({ allowedFileExtensions }: Pick<Bucket, 'allowedFileExtensions'>, name: string): void {
  if (allowedFileExtensions.length === 0) return;
  const extension = /\.([^.]*)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  if (!allowedFileExtensions.some((allowed) => allowed.toLowerCase() === extension))
    throw new Failure('storage_file_type_unsupported');
}
