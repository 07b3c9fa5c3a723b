import type { Random } from '#src/platform/crypto/random.js';

/** Base32 of RFC 4648 in lower case. Its digits cannot be confused with letters. */
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
const letterCount = 16;
const printed = new RegExp(`^[${alphabet}]{${letterCount}}$`);

/** Generates a recovery code of 80 bits in four groups. */
export function newRecoveryCode(random: Pick<Random, 'bytes'>): string {
  const letters = [...random.bytes(letterCount)].map((byte) => alphabet[byte % alphabet.length]).join('');
  return letters.replace(/.{4}(?=.)/g, '$&-');
}

/** The letters of a recovery code, in lower case; undefined if it is malformed. Upper case is accepted. */
export function readRecoveryCode(typed: string): string | undefined {
  const letters = typed.replaceAll('-', '').toLowerCase();
  return printed.test(letters) ? letters : undefined;
}
