import { hash } from 'node:crypto';

/** The strong entity tag of a text (RFC 9110 §8.8.3): different texts have different tags. */
export function etagOf(parts: readonly string[]): string {
  return `"${hash('sha256', parts.join(''), 'base64url').slice(0, 27)}"`;
}

/**
 * True if the value of `If-Match` lists the tag, or is `*` (RFC 9110 §13.1.1). Weak tags match nothing. The tag of a compressed response
 * counts as the same content.
 */
export function matchesEtag(ifMatch: string, etag: string | undefined): boolean {
  const tags = ifMatch.split(',').map((tag) => tag.trim().replace(/-(?:br|gzip)"$/, '"'));
  return tags.includes('*') || (etag !== undefined && tags.includes(etag));
}
