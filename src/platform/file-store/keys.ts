const segment = '[A-Za-z0-9][A-Za-z0-9._-]{0,127}';
const keyForm = new RegExp(`^${segment}(?:/${segment}){0,7}$`);

/** Throws RangeError unless this is a key: a path that stays below the root of the store. */
export function requireKey(key: string): void {
  if (!keyForm.test(key)) throw new RangeError('not a key of the file store');
}
