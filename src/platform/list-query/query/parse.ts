import { Failure } from '#src/contract/errors.js';
import { queryBounds } from '#src/contract/limits.js';
import { splitWords } from '#src/platform/word-splitter.js';
import { searchTermsOf } from './search-terms.js';
import { type Invalid, oneText, readQuery, readShape, type WireQuery, wholeNumber } from './wire.js';

/** Comparisons of one value. */
export type Comparison = 'equal' | 'notEqual' | 'lessThan' | 'lessThanEqual' | 'greaterThan' | 'greaterThanEqual';
/** Searches for a piece of text. */
export type TextMatch = 'startsWith' | 'endsWith' | 'contains';
/** Searches for words. */
export type WordSearch = 'search' | 'notSearch';

/** A condition on the rows of a list; values are in their stored form. */
export type Condition<F> =
  | { readonly kind: 'compare'; readonly method: Comparison; readonly field: F; readonly values: readonly unknown[] }
  | { readonly kind: 'between'; readonly field: F; readonly low: unknown; readonly high: unknown }
  | { readonly kind: 'null'; readonly field: F; readonly isNull: boolean }
  | { readonly kind: 'match'; readonly method: TextMatch; readonly field: F; readonly values: readonly string[] }
  | { readonly kind: 'words'; readonly field: F; readonly text: string }
  | {
      readonly kind: 'fulltext';
      readonly method: WordSearch;
      readonly field: F;
      readonly words: readonly string[];
      readonly index: FulltextIndex;
    }
  | { readonly kind: 'element'; readonly field: F; readonly values: readonly unknown[] }
  | { readonly kind: 'all' | 'any'; readonly conditions: readonly Condition<F>[] };

/** The tables of documents and of the words of one of their attributes. */
export interface FulltextIndex {
  readonly documents: string;
  readonly words: string;
}

/** One column of an order. */
export interface Order<F> {
  readonly field: F;
  readonly descending: boolean;
}

/** What a list was asked for. */
export interface ListQuery<F> {
  readonly conditions: readonly Condition<F>[];
  readonly orders: readonly Order<F>[];
  readonly limit: number;
  /** Whether a limit was asked for. */
  readonly isLimited: boolean;
  readonly offset: number;
  readonly cursor: { readonly id: string; readonly before: boolean } | null;
  /** The values of each `select`. */
  readonly selects: readonly (readonly unknown[])[];
}

/** What queries of a list may speak of. */
export interface Vocabulary<F> {
  readonly invalid: Invalid;
  /** The field of a name. Throws the refusal. */
  field(name: string): F;
  kindOf(field: F): 'text' | 'list' | 'plain';
  /** The stored form of a value to compare with. Throws the refusal. */
  comparable(field: F, value: unknown): unknown;
  /** The condition of a search in a text. Throws the refusal. */
  search(field: F, method: WordSearch, text: string): Condition<F>;
}

const comparisons = ['equal', 'notEqual', 'lessThan', 'lessThanEqual', 'greaterThan', 'greaterThanEqual'] as const;
const matches = ['startsWith', 'endsWith', 'contains'] as const;
const searches = ['search', 'notSearch'] as const;
const isOneOf = <T extends string>(list: readonly T[], value: string): value is T =>
  (list as readonly string[]).includes(value);

/** Creates the parser of the queries of a list. It throws the refusal of the vocabulary, and Failure `general_query_limit_exceeded`. */
export function createQueryParser<F>(vocabulary: Vocabulary<F>): (texts: readonly string[]) => ListQuery<F> {
  const { invalid } = vocabulary;
  return (texts) => {
    const count = createCount(texts.length);
    const condition = createConditionParser(vocabulary, count);
    const conditions: Condition<F>[] = [];
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
        // A second order by the same attribute decides nothing.
        if (!ordered.has(attribute)) orders.push({ field, descending: method === 'orderDesc' });
        ordered.add(attribute);
      } else if (method === 'limit') limit ??= wholeNumber(values, method, [1, queryBounds.limit], invalid);
      else if (method === 'offset') offset ??= wholeNumber(values, method, [0, Number.MAX_SAFE_INTEGER], invalid);
      else if (method === 'cursorAfter' || method === 'cursorBefore') {
        cursor ??= { id: oneText(values, method, invalid), before: method === 'cursorBefore' };
      } else if (method === 'select') selects.push(values);
      else conditions.push(condition(query, 1));
    }
    return {
      conditions,
      orders,
      limit: limit ?? queryBounds.defaultLimit,
      isLimited: limit !== undefined,
      offset: offset ?? 0,
      cursor,
      selects,
    };
  };
}

/** Queries whose values are queries themselves, and those that speak of the page: neither are values that rows are compared with. */
const withoutValues = ['and', 'or', 'limit', 'offset', 'cursorAfter', 'cursorBefore'];

/** Counts what a list is asked in all, also within `and` and `or`. Throws Failure `general_query_limit_exceeded`. */
function createCount(requested: number) {
  let queries = 0;
  let values = 0;
  let wordSearches = 0;
  const demand = (total: number, max: number, what: string) => {
    if (total > max)
      throw new Failure('general_query_limit_exceeded', {
        message: `A list takes at most ${max} ${what} in all, those within \`and\` and \`or\` included.`,
      });
  };
  const count = {
    queries: (more: number) => {
      queries += more;
      demand(queries, queryBounds.queries, 'queries');
    },
    values: ({ method, values: given }: WireQuery) => {
      if (withoutValues.includes(method)) return;
      const [text] = given;
      if (isOneOf(searches, method)) wordSearches += 1;
      demand(wordSearches, queryBounds.searches, 'searches for words');
      values += isOneOf(searches, method) && typeof text === 'string' ? partsOf(text) : given.length;
      demand(values, queryBounds.values, 'values');
    },
  };
  count.queries(requested);
  return count;
}

/** What a search looks for: the words of documents, or the terms of other lists, of which either may be more. */
const partsOf = (text: string) => Math.max(searchTermsOf(text).length, splitWords(text).length);

function createConditionParser<F>(vocabulary: Vocabulary<F>, count: ReturnType<typeof createCount>) {
  const { invalid, comparable } = vocabulary;
  const scalar = (name: string, method: string): F => {
    const field = vocabulary.field(name);
    if (vocabulary.kindOf(field) === 'list') throw invalid(`${method} does not work on arrays.`);
    return field;
  };
  const match = (method: TextMatch, name: string, values: readonly unknown[]): Condition<F> => {
    const field = vocabulary.field(name);
    const kind = vocabulary.kindOf(field);
    if (values.length === 0 || (method !== 'contains' && values.length > 1))
      throw invalid(`${method} takes ${method === 'contains' ? 'at least one value' : 'one value'}.`);
    if (kind === 'list') {
      if (method !== 'contains') throw invalid(`${method} does not work on arrays.`);
      return { kind: 'element', field, values: values.map((value) => comparable(field, value)) };
    }
    if (kind !== 'text') throw invalid(`${method} works on text only.`);
    return { kind: 'match', method, field, values: values.map((value) => oneText([value], method, invalid)) };
  };
  const words = (method: WordSearch, name: string, values: readonly unknown[]): Condition<F> => {
    const field = scalar(name, method);
    if (vocabulary.kindOf(field) !== 'text') throw invalid(`${method} works on text only.`);
    if (values.length !== 1) throw invalid(`${method} takes one value.`);
    return vocabulary.search(field, method, oneText(values, method, invalid));
  };
  const condition = ({ method, attribute = '', values }: WireQuery, depth: number): Condition<F> => {
    if (method === 'and' || method === 'or') {
      if (values.length < 2) throw invalid(`${method} takes at least two queries.`);
      if (depth >= queryBounds.depth) throw invalid(`conditions nest at most ${queryBounds.depth} deep.`);
      count.queries(values.length);
      const conditions = values.map((inner) => {
        const query = readShape(inner, invalid);
        count.values(query);
        return condition(query, depth + 1);
      });
      return { kind: method === 'and' ? 'all' : 'any', conditions };
    }
    if (method === 'isNull' || method === 'isNotNull')
      return { kind: 'null', field: vocabulary.field(attribute), isNull: method === 'isNull' };
    if (method === 'between') {
      if (values.length !== 2) throw invalid('between takes two values.');
      const field = scalar(attribute, method);
      return { kind: 'between', field, low: comparable(field, values[0]), high: comparable(field, values[1]) };
    }
    if (isOneOf(comparisons, method)) {
      const field = scalar(attribute, method);
      if (values.length === 0 || (method !== 'equal' && values.length > 1))
        throw invalid(`${method} takes ${method === 'equal' ? 'at least one value' : 'one value'}.`);
      return { kind: 'compare', method, field, values: values.map((value) => comparable(field, value)) };
    }
    if (isOneOf(matches, method)) return match(method, attribute, values);
    if (isOneOf(searches, method)) return words(method, attribute, values);
    throw invalid(`this service does not support the method \`${method.slice(0, 40)}\`.`);
  };
  return condition;
}
