/** The parameters of a query string; `name[]=` and `name[0]=` make lists, in the order they stand. */
export function parseQuery(search: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(search)) {
    const [, list] = /^([^[\]]+)\[\d*\]$/.exec(name) ?? [];
    if (list === undefined) {
      query[name] ??= value;
      continue;
    }
    const known = query[list];
    if (Array.isArray(known)) known.push(value);
    else query[list] = [value];
  }
  return query;
}
