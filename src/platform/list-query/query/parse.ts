import { queryBounds } from '#src/contract/limits.js';
import type { Condition, Vocabulary } from './condition.js';
import { createCount, parseConditions } from './parse-conditions.js';
import { integerWithin, oneText, readQuery, type WireQuery } from './wire.js';

/** One column of an order. */
export interface Order<F> {
  readonly field: F;
  readonly descending: boolean;
}

/** A parsed list request. */
export interface ListQuery<F> {
  readonly conditions: readonly Condition<F>[];
  readonly orders: readonly Order<F>[];
  readonly limit: number;
  /** True if the caller set a limit. */
  readonly isLimited: boolean;
  readonly offset: number;
  readonly cursor: { readonly id: string; readonly before: boolean } | null;
  /** True if rows are in random order, as far as the orders leave them equal. */
  readonly isRandom: boolean;
  /** The values of each `select`. */
  readonly selects: readonly (readonly unknown[])[];
}

/** Parses the queries of a list. Throws the failure of the vocabulary, and Failure `general_query_limit_exceeded`. */
export function parseListQuery<F>(vocabulary: Vocabulary<F>, texts: readonly string[]): ListQuery<F> {
  const { invalid } = vocabulary;
  const count = createCount(texts.length);
  const filters: WireQuery[] = [];
  let isRandom = false;
  const orders: Order<F>[] = [];
  const selects: (readonly unknown[])[] = [];
  const ordered = new Set<string>();
  let limit: number | undefined;
  let offset: number | undefined;
  let cursor: ListQuery<F>['cursor'] = null;
  for (const text of texts) {
    const query = readQuery(text, invalid);
    const { method, attribute = '', values } = query;
    count.values(query);
    if (method === 'orderAsc' || method === 'orderDesc') {
      const field = vocabulary.field(attribute);
      if (vocabulary.kindOf(field) === 'list') throw invalid('an array cannot be an order.');
      // A second order by the same attribute has no effect.
      if (!ordered.has(attribute)) orders.push({ field, descending: method === 'orderDesc' });
      ordered.add(attribute);
    } else if (method === 'orderRandom') {
      if (vocabulary.takesRandom !== true) throw invalid('this list cannot be in random order.');
      isRandom = true;
    } else if (method === 'limit') limit ??= integerWithin(values, method, [1, queryBounds.limit], invalid);
    else if (method === 'offset') offset ??= integerWithin(values, method, [0, Number.MAX_SAFE_INTEGER], invalid);
    else if (method === 'cursorAfter' || method === 'cursorBefore') {
      cursor ??= { id: oneText(values, method, invalid), before: method === 'cursorBefore' };
    } else if (method === 'select') selects.push(values);
    else filters.push(query);
  }
  const conditions = parseConditions({ vocabulary, count }, filters, 1);
  if (isRandom && cursor !== null) throw invalid('a list in random order has no cursor.');
  return {
    conditions,
    orders,
    isRandom,
    limit: limit ?? queryBounds.defaultLimit,
    isLimited: limit !== undefined,
    offset: offset ?? 0,
    cursor,
    selects,
  };
}
