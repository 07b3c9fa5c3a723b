import { unescape as decodePercent } from 'node:querystring';
import { z } from 'zod';
import { invalidParam } from '#src/contract/errors.js';

/**
 * Parses the query string of a request as its operation declares it. Throws Failure if a parameter contains NUL, which Postgres cannot
 * store.
 */
export type QueryReader = (search: string) => Record<string, string | string[]>;

/**
 * Creates the reader of an operation. A single value of a parameter declared as a list becomes a list of one, as in OpenAPI's `form` style
 * with `explode`.
 */
export function createQueryReader(declared: z.ZodObject | undefined): QueryReader {
  const lists = Object.entries(declared?.shape ?? {}).flatMap(([name, schema]) => (isList(schema) ? [name] : []));
  return (search) => {
    const query = parseQuery(search);
    if (search.includes('%00')) refuseNul(query);
    for (const name of lists) {
      const value = query[name];
      if (typeof value === 'string') query[name] = [value];
    }
    return query;
  };
}

/**
 * Returns the first value of a parameter, for use before the operation is known. Koa's `ctx.query` takes quadratic time for repeated names, which
 * would let one URL block the process.
 */
export function firstParameter(search: string, name: string): string | undefined {
  return new URLSearchParams(search).get(name) ?? undefined;
}

/** Skips `queries`, because their parser reports the query that is wrong, and `project`, because no project has such an id. */
function refuseNul({ queries, project, ...query }: Readonly<Record<string, string | string[]>>): void {
  for (const [name, value] of Object.entries(query))
    if ([value].flat().some((text) => text.includes('\0')))
      throw invalidParam(name.replaceAll('\0', ''), 'must not have NUL characters.');
}

/** True if the schema is a list, possibly optional, nullable or with a default. */
export function isList(schema: unknown): boolean {
  if (schema instanceof z.ZodArray) return true;
  const isWrapped =
    schema instanceof z.ZodDefault || schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return isWrapped && isList(schema.unwrap());
}

/** Parses a query string; `name[]=`, `name[0]=` and repeated names become lists, in order of appearance. */
function parseQuery(search: string): Record<string, string | string[]> {
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

/** Decodes form encoding: `+` is a space, and invalid UTF-8 becomes U+FFFD. */
function decode(text: string): string {
  return decodePercent(text.includes('+') ? text.replaceAll('+', ' ') : text);
}
