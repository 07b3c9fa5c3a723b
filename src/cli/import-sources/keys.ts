import { customId, refusedMembers } from '#src/contract/shapes.js';

/** Ids in the syntax of JavaScript and Postgres. */
export const idPattern = '^[A-Za-z0-9][A-Za-z0-9._-]{0,35}$';

/** A quoted name in SQL. */
export const quotedName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** True for a text that can be the id of a collection or the key of an attribute. */
export function isKey(text: string): boolean {
  return customId.safeParse(text).success && !refusedMembers.has(text);
}

/** Keys for names of the source: the name itself if it is valid, otherwise the nearest one that is not taken. */
export function attributeKeys(names: readonly string[]): ReadonlyMap<string, string> {
  const keys = new Map(names.filter(isKey).map((name) => [name, name]));
  const taken = new Set(keys.values());
  for (const name of names) {
    if (keys.has(name)) continue;
    const key = nearestKey(name, 'field', (one) => taken.has(one) || !isKey(one));
    taken.add(key);
    keys.set(name, key);
  }
  return keys;
}

/** The nearest key for a name of the source that is not taken. Other characters become `_`, and a number is appended. */
export function nearestKey(name: string, fallback: string, isTaken: (key: string) => boolean): string {
  const plain = name.replace(/[^A-Za-z0-9._-]/g, '_').replace(/^[._-]+/, '');
  const near = plain.slice(0, 32) || fallback;
  let key = near;
  for (let number = 2; isTaken(key); number += 1) key = `${near}-${number}`;
  return key;
}
