/** The parameters of a query string; `name[]=`, `name[0]=` and repeated names make lists, in the order they stand. */
export function parseQuery(search: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(search)) {
    const [, list] = /^([^[\]]+)\[\d*\]$/.exec(name) ?? [];
    const key = list ?? name;
    const before = query[key];
    if (before === undefined) query[key] = list === undefined ? value : [value];
    else query[key] = [...(Array.isArray(before) ? before : [before]), value];
  }
  return query;
}
