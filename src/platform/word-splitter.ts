import { createHash } from 'node:crypto';
import { wordLimits } from '#src/contract/limits.js';

const runs = /[\p{L}\p{M}\p{N}]+/gu;
/** Where a sigma stands in a word decides its form. */
const finalSigma = /ς/g;

/**
 * The different words of a text, in one case: runs of letters, marks and digits. Texts that differ in case only, of any alphabet, or in how
 * their characters are composed have the same words. A long word, such as a sentence in a script without spaces, stands as its digest.
 */
export function splitWords(text: string): string[] {
  const folded = text.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC').replace(finalSigma, 'σ');
  return [...new Set(Array.from(folded.matchAll(runs), ([word]) => shortened(word)))];
}

function shortened(word: string): string {
  // A character of UTF-16 has at most three bytes.
  if (word.length * 3 <= wordLimits.bytes || Buffer.byteLength(word) <= wordLimits.bytes) return word;
  // No word has an underscore, nor a digest any character that ends a word.
  return `_${createHash('sha256').update(word).digest('hex').slice(0, 40)}`;
}
