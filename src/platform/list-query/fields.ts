import { invalidParam } from '#src/contract/errors.js';
import { parseInstant } from '#src/contract/instant.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import type { Vocabulary } from './query/condition.js';
import { parseListQuery } from './query/parse.js';
import { oneText } from './query/wire.js';

/** A field that queries can use. `texts` is a JSON array of text. */
export interface ListField {
  readonly column: string;
  readonly type: 'text' | 'instant' | 'boolean' | 'integer' | 'texts';
  readonly nullable?: true;
  /** `unique`: an index finds the few rows with a value. `order`: an index has the rows in the order of this field. */
  readonly index?: 'unique' | 'order';
  /** Converts a text to the stored form of this field, for comparisons. */
  readonly stored?: (typed: string) => string;
}

/** The fields of most tables. */
export const commonFields = {
  $id: { column: 'id', type: 'text', index: 'unique' },
  $createdAt: { column: 'created_at', type: 'instant', index: 'order' },
  $updatedAt: { column: 'updated_at', type: 'instant' },
} as const satisfies Readonly<Record<string, ListField>>;

const invalid = (problem: string) => invalidParam('queries', problem);

/** The vocabulary of a list with these fields. */
export function vocabularyOf(fields: Readonly<Record<string, ListField>>): Vocabulary<ListField> {
  return {
    invalid,
    search: (field, method, text) => {
      if (method === 'notSearch') throw invalid('this list does not support the method `notSearch`.');
      return { kind: 'words', field, text };
    },
    field: (name) => {
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (field === undefined) throw invalid(`this list has no attribute ${name.slice(0, 40)}.`);
      return field;
    },
    kindOf: ({ type }) => (type === 'text' ? 'text' : type === 'texts' ? 'list' : 'plain'),
    comparable,
  };
}

/** A page of a list. */
export interface PageWindow {
  readonly limit: number;
  readonly offset: number;
}

/** Parses the queries of a list that supports only `limit` and `offset`. Throws Failure `general_argument_invalid`. */
export function parsePage(
  texts: readonly string[],
  { max, defaultLimit }: { readonly max: number; readonly defaultLimit: number },
): PageWindow {
  const limit = JSON.stringify({ method: 'limit', values: [defaultLimit] });
  const query = parseListQuery(vocabularyOf({}), [...texts, limit]);
  if (query.cursor !== null || query.conditions.length > 0) throw invalid('this list takes limit and offset only.');
  if (query.limit > max) throw invalid(`limit takes a whole number from 1 to ${max}.`);
  return { limit: query.limit, offset: query.offset };
}

function comparable({ type, stored }: ListField, value: unknown): unknown {
  if (type === 'boolean') {
    if (typeof value !== 'boolean') throw invalid('a value must be true or false.');
    return value;
  }
  if (type === 'integer') {
    if (!Number.isSafeInteger(value)) throw invalid('a value must be a whole number.');
    return value;
  }
  const text = oneText([value], 'a comparison', invalid);
  if (type !== 'instant') return stored?.(text) ?? text;
  const time = parseInstant(text);
  if (time === undefined) throw invalid('a value must be a time in ISO 8601.');
  return instantOf(time);
}
