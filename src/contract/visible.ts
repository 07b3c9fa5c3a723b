/** Control characters (C0, DEL, C1) for a class of a pattern. Patterns are published, and Python's `re` has no `\p`. */
export const controls = '\\u0000-\\u001f\\u007f-\\u009f';

/**
 * Characters that control the display of a text and are not visible in it: control characters (C0, DEL, C1), line and paragraph separators,
 * and bidirectional embeddings, overrides and isolates (UAX #9). In a terminal they can set its title, move the cursor and forge rows;
 * elsewhere they can reverse a name. The marks LRM, RLM and ALM are allowed: they only affect adjacent characters, and names in Hebrew or
 * Arabic need them.
 */
const steering = `${controls}\\u2028-\\u202e\\u2066-\\u2069`;

/** Matches a whole text without such characters. */
export const onlyVisible = new RegExp(`^[^${steering}]*$`, 'u');

const each = new RegExp(`[${steering}]`, 'gu');
const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
const asUnicode = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** The text with such characters escaped as in JSON. */
export function visible(text: string): string {
  return text.replace(each, (one) => short[one] ?? asUnicode(one));
}

/** Escapes such characters in JSON text without changing its meaning; line breaks outside of strings are kept. */
export function visibleJson(json: string): string {
  return json.replace(each, (one) => (one === '\n' ? one : asUnicode(one)));
}
