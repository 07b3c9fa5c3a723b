import { hash } from 'node:crypto';

/** The entity tag of a text, a strong one (RFC 9110 §8.8.3): another text has another tag. */
export function etagOf(parts: readonly string[]): string {
  return `"${hash('sha256', parts.join(''), 'base64url').slice(0, 27)}"`;
}

/** Whether the value of `If-Match` names the tag, or anything there is (RFC 9110 §13.1.1). Weak tags match nothing. */
export function matchesEtag(ifMatch: string, etag: string | undefined): boolean {
  const tags = ifMatch.split(',').map((tag) => tag.trim());
  return tags.includes('*') || (etag !== undefined && tags.includes(etag));
}
