import type { Random } from '#src/platform/random.js';

/** Base32 of RFC 4648 in lower case: no digit in it can be taken for a letter. */
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
const letterCount = 16;
const printed = new RegExp(`^[${alphabet}]{${letterCount}}$`);

/** A recovery code of 80 bits, in four groups. */
export function newRecoveryCode(random: Pick<Random, 'bytes'>): string {
  const letters = [...random.bytes(letterCount)].map((byte) => alphabet[byte % alphabet.length]).join('');
  return letters.replace(/.{4}(?=.)/g, '$&-');
}

/** The letters of a recovery code, however it was typed; undefined where it is none. */
export function readRecoveryCode(typed: string): string | undefined {
  const letters = typed.replace(/[\s-]/g, '').toLowerCase();
  return printed.test(letters) ? letters : undefined;
}
