import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** SHA-256 as base64url: how secrets of 256 random bits are stored. */
export function digest(value: string): string {
  return createHash('sha256').update(value).digest('base64url');
}

/** HMAC-SHA-256 as base64url. */
export function keyedDigest(key: Buffer | string, value: string): string {
  return createHmac('sha256', key).update(value).digest('base64url');
}

/** Compares in constant time whatever the lengths: both sides are hashed first, as `timingSafeEqual` throws on unequal lengths. */
export function equalSecrets(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}
