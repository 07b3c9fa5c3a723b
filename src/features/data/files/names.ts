import { Failure } from '#src/contract/errors.js';
import { fileLimits } from '#src/contract/limits.js';
import type { Bucket } from '../buckets/index.js';

/** The name of a file as it is kept: without what could steer a path, a terminal or the direction of text, and not too long. */
export function safeName(name: string): string {
  const plain = name
    .toWellFormed()
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u200b-\u200f\u202a-\u202e\u2066-\u2069/\\]/gu, '_')
    .trim();
  const named = ['', '.', '..'].includes(plain) ? 'file' : plain;
  let bytes = 0;
  let kept = '';
  for (const character of named) {
    bytes += Buffer.byteLength(character);
    if (bytes > fileLimits.name) break;
    kept += character;
  }
  return kept;
}

/** Throws Failure `storage_file_type_unsupported` where the bucket takes no files of such a name. */
export function demandExtension({ allowedFileExtensions }: Pick<Bucket, 'allowedFileExtensions'>, name: string): void {
  if (allowedFileExtensions.length === 0) return;
  const extension = /\.([^.]*)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  if (!allowedFileExtensions.some((allowed) => allowed.toLowerCase() === extension))
    throw new Failure('storage_file_type_unsupported');
}
