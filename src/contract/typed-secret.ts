import { z } from 'zod';

/** Secrets of at least this length come from links: base64url, with significant dashes. Shorter ones are typed, and contain no dashes. */
export const linkSecretLength = 32;

const spaces = /[\s\p{Cf}]/gu;
const dashes = /[\p{Pd}\u2212]/gu;
const digits = /\p{Nd}/gu;

/** Converts a digit of any script to 0 to 9. Unicode has them in runs of ten that begin with zero. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value += 1;
  return String(value);
}

/**
 * Removes spaces from a secret, and from a typed code also the dashes between its groups. Full-width letters and digits of
 * other scripts, as typed on Japanese or Arabic keyboards, count as ASCII.
 */
function withoutSeparators(typed: string): string {
  const dense = typed.replace(spaces, '');
  const code = dense.normalize('NFKC').replace(dashes, '').replace(digits, asciiDigit);
  return code.length < linkSecretLength ? code : dense;
}

const typedSecret = z.string().max(256);

/** The secret of a message or link, as people type or paste it. */
export const secretText = typedSecret.min(1).transform(withoutSeparators);

/** Proof of the second factor in a login: a code of six digits, or a recovery code. */
export const otpText = typedSecret
  .transform(withoutSeparators)
  .meta({ description: 'The code of an authenticator app, or a recovery code; needed once the second factor is on' });
