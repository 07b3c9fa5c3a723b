/** How much of a name goes into an id, so that a number fits behind it. */
const maxLength = 30;

/** A name in the characters of an id, in lower case; empty where it has none of them. */
export function slugOf(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, maxLength)
    .replace(/-$/, '');
}
