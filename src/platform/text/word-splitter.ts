import { createHash } from 'node:crypto';
import { wordLimits } from '#src/contract/limits.js';

const runs = /[\p{L}\p{M}\p{N}]+/gu;
/** The form of a sigma depends on its position in a word. */
const finalSigma = /ς/g;

/**
 * The distinct words of a text, in one case: runs of letters, marks and digits. Texts that differ only in case, of any alphabet, or in how
 * their characters are composed have the same words. A long word, such as a sentence in a script without spaces, is replaced by its digest.
 */
export function splitWords(text: string): string[] {
  const folded = text.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC').replace(finalSigma, 'σ');
  return [...new Set(Array.from(folded.matchAll(runs), ([word]) => shortened(word)))];
}

function shortened(word: string): string {
  // A character of UTF-16 has at most three bytes.
  if (word.length * 3 <= wordLimits.bytes || Buffer.byteLength(word) <= wordLimits.bytes) return word;
  // Words contain no underscore, and a digest contains no character that ends a word.
  return `_${createHash('sha256').update(word).digest('hex').slice(0, 40)}`;
}
