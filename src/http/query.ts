import { unescape as decodePercent } from 'node:querystring';

/** The parameters of a query string; `name[]=`, `name[0]=` and repeated names make lists, in the order they stand. */
export function parseQuery(search: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  for (const part of search.split('&')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    const name = decode(at === -1 ? part : part.slice(0, at));
    const value = at === -1 ? '' : decode(part.slice(at + 1));
    const [, list] = /^([^[\]]+)\[\d*\]$/.exec(name) ?? [];
    const key = list ?? name;
    const before = query[key];
    if (before === undefined) query[key] = list === undefined ? value : [value];
    else if (Array.isArray(before)) before.push(value);
    else query[key] = [before, value];
  }
  return query;
}

/** As forms encode it, where `+` is a space; bytes that are not UTF-8 become U+FFFD. */
function decode(text: string): string {
  return decodePercent(text.includes('+') ? text.replaceAll('+', ' ') : text);
}
