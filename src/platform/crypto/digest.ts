import { createHmac, hash, timingSafeEqual } from 'node:crypto';

/** SHA-256 as base64url: the stored form of secrets with 256 random bits. */
export function digest(value: string): string {
  return hash('sha256', value, 'base64url');
}

/** HMAC-SHA-256 as base64url. */
export function keyedDigest(key: Buffer | string, value: string): string {
  return createHmac('sha256', key).update(value).digest('base64url');
}

/** Compares two digests of the same length in constant time. Secrets are never compared directly, only their digests. */
export function equalDigests(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a, 'latin1'), Buffer.from(b, 'latin1'));
}
