/**
 * Characters that steer what shows a text instead of being seen in it: control characters (C0, DEL, C1), line and paragraph separators, and
 * bidirectional embeddings, overrides and isolates (UAX #9). In a terminal they can set its title, move the cursor and forge rows; anywhere
 * else, turn a name around. The marks LRM, RLM and ALM only side with a letter that is next to them, and names in Hebrew or Arabic need them.
 */
const steering = '\\p{Cc}\\p{Zl}\\p{Zp}\\u202a-\\u202e\\u2066-\\u2069';

/** What a text without such characters looks like, as a whole. */
export const onlyVisible = new RegExp(`^[^${steering}]*$`, 'u');

const each = new RegExp(`[${steering}]`, 'gu');
const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
const asUnicode = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** The text with such characters written out, as JSON writes them. */
export function visible(text: string): string {
  return text.replace(each, (one) => short[one] ?? asUnicode(one));
}

/** A text in JSON, which means the same afterwards: what stands outside of its strings is left alone. */
export function visibleJson(json: string): string {
  return json.replace(each, (one) => (one === '\n' ? one : asUnicode(one)));
}
