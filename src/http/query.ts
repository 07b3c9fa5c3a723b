import { unescape as decodePercent } from 'node:querystring';
import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';

/** Reads the query of a request as its operation declares it. Throws Failure where a parameter has a NUL character, which Postgres does not store. */
export type QueryReader = (search: string) => Record<string, string | string[]>;

/** A parameter that is declared as a list and stands once is a list of one, as OpenAPI's `form` style with `explode` has it. */
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

/** Queries are left to their parser, whose error names the query; no project has such an id. */
function refuseNul({ queries, project, ...query }: Readonly<Record<string, string | string[]>>): void {
  for (const [name, value] of Object.entries(query))
    if ([value].flat().some((text) => text.includes('\0')))
      throw new Failure('general_argument_invalid', {
        message: `Invalid \`${name.replaceAll('\0', '')}\` param: must not have NUL characters.`,
      });
}

/** Whether a schema is one of a list, with a default or without. */
export function isList(schema: unknown): boolean {
  if (schema instanceof z.ZodArray) return true;
  const isWrapped =
    schema instanceof z.ZodDefault || schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return isWrapped && isList(schema.unwrap());
}

/** The parameters of a query string; `name[]=`, `name[0]=` and repeated names make lists, in the order they stand. */
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

/** As forms encode it, where `+` is a space; bytes that are not UTF-8 become U+FFFD. */
function decode(text: string): string {
  return decodePercent(text.includes('+') ? text.replaceAll('+', ' ') : text);
}
