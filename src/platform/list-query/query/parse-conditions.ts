import { Failure } from '#src/contract/errors.js';
import { queryBounds } from '#src/contract/limits.js';
import { splitWords } from '#src/platform/text/word-splitter.js';
import type { Condition, RelatedName, Vocabulary } from './condition.js';
import { searchTermsOf } from './search-terms.js';
import { oneText, readShape, type WireQuery } from './wire.js';

const comparisons = ['equal', 'notEqual', 'lessThan', 'lessThanEqual', 'greaterThan', 'greaterThanEqual'] as const;
const matches = ['startsWith', 'endsWith', 'contains', 'containsAny', 'containsAll'] as const;
const searches = ['search', 'notSearch'] as const;
/** Negated methods, each with the method that it negates for rows with a value. */
const opposites: ReadonlyMap<string, string> = new Map([
  ['notBetween', 'between'],
  ['notContains', 'contains'],
  ['notStartsWith', 'startsWith'],
  ['notEndsWith', 'endsWith'],
]);
/** SDK methods that are not supported, with the reason. */
const refusals: ReadonlyMap<string, string> = new Map([
  [
    'regex',
    'regex is not supported, as one of the two databases has no regular expressions that are sure to end soon. Use startsWith, endsWith, contains or search.',
  ],
  [
    'elemMatch',
    'elemMatch is not supported, as arrays hold no objects here. Use contains, containsAny or containsAll, or query an attribute of related documents.',
  ],
]);
const isOneOf = <T extends string>(list: readonly T[], value: string): value is T =>
  (list as readonly string[]).includes(value);

/** Queries with nested queries as values, and queries about the page: their values are not compared with rows. */
const withoutValues = ['and', 'or', 'limit', 'offset', 'cursorAfter', 'cursorBefore'];

/** The counts of a list. Each function throws Failure `general_query_limit_exceeded`. */
interface QueryCount {
  queries(more: number): void;
  related(): void;
  values(query: WireQuery): void;
}

/**
 * Counts the queries and values of a list in total, including those within `and` and `or`. Throws Failure `general_query_limit_exceeded`.
 */
export function createCount(requested: number): QueryCount {
  let queries = 0;
  let values = 0;
  let wordSearches = 0;
  let related = 0;
  const requireAtMost = (total: number, max: number, what: string) => {
    if (total > max)
      throw new Failure('general_query_limit_exceeded', {
        message: `A list takes at most ${max} ${what} in all, those within \`and\` and \`or\` included.`,
      });
  };
  const count: QueryCount = {
    queries: (more) => {
      queries += more;
      requireAtMost(queries, queryBounds.queries, 'queries');
    },
    related: () => {
      related += 1;
      requireAtMost(related, queryBounds.related, 'conditions on related documents');
    },
    values: ({ method, values: given }) => {
      if (withoutValues.includes(method)) return;
      const [text] = given;
      if (isOneOf(searches, method)) wordSearches += 1;
      requireAtMost(wordSearches, queryBounds.searches, 'searches for words');
      values += isOneOf(searches, method) && typeof text === 'string' ? partsOf(text) : given.length;
      requireAtMost(values, queryBounds.values, 'values');
    },
  };
  count.queries(requested);
  return count;
}

/** Number of search terms: the words of documents, or the terms of other lists, whichever are more. */
const partsOf = (text: string) => Math.max(searchTermsOf(text).length, splitWords(text).length);

/** The fields of a list, or of related rows, and the counts of the whole list. */
interface Context<F> {
  readonly vocabulary: Vocabulary<F>;
  readonly count: QueryCount;
}

/** Conditions combined with AND. Those on one relationship must match the same related row. */
export function parseConditions<F>(context: Context<F>, queries: readonly WireQuery[], depth: number): Condition<F>[] {
  const { vocabulary } = context;
  const conditions: Condition<F>[] = [];
  const groups = new Map<string, { readonly name: RelatedName<F>; readonly queries: WireQuery[] }>();
  for (const query of queries) {
    const { method, attribute = '', values } = query;
    const name = vocabulary.related?.(attribute);
    if (name === undefined) conditions.push(parseOne(context, query, depth));
    else if (method === 'containsAll' && kindAt(vocabulary, attribute) !== 'list')
      // Each value may belong to another related row.
      for (const value of values)
        conditions.push(
          parseRelated(context, name, [{ method: 'equal', attribute: name.attribute, values: [value] }], depth),
        );
    else {
      const group = groups.get(name.key) ?? { name, queries: [] };
      groups.set(name.key, group);
      group.queries.push({ ...query, attribute: name.attribute });
    }
  }
  for (const group of groups.values()) conditions.push(parseRelated(context, group.name, group.queries, depth));
  return conditions;
}

/** The kind of a named field, possibly of related rows; undefined if the caller can see none of those. */
function kindAt<F>(vocabulary: Vocabulary<F>, name: string): ReturnType<Vocabulary<F>['kindOf']> | undefined {
  const related = vocabulary.related?.(name);
  if (related === undefined) return vocabulary.kindOf(vocabulary.field(name));
  return related.vocabulary && kindAt(related.vocabulary, related.attribute);
}

function parseRelated<F>(
  { vocabulary, count }: Context<F>,
  name: RelatedName<F>,
  queries: readonly WireQuery[],
  depth: number,
): Condition<F> {
  count.related();
  const equal = queries.filter(({ method }) => method === 'equal').map(({ attribute }) => attribute);
  if (new Set(equal).size < equal.length)
    throw vocabulary.invalid(
      `no related document has two values of ${name.key}.${equal[0]}. Use containsAll for several documents.`,
    );
  const inner = name.vocabulary && parseConditions({ vocabulary: name.vocabulary, count }, queries, depth);
  return { kind: 'related', within: name.within, related: inner ?? [] };
}

function parseOne<F>(context: Context<F>, query: WireQuery, depth: number): Condition<F> {
  const { vocabulary } = context;
  const { invalid, comparable } = vocabulary;
  const { method, attribute = '', values } = query;
  if (method === 'and' || method === 'or') return parseNested(context, method, values, depth);
  if (method === 'isNull' || method === 'isNotNull')
    return { kind: 'null', field: vocabulary.field(attribute), isNull: method === 'isNull' };
  if (method === 'exists' || method === 'notExists') return parseExistence(vocabulary, method, values);
  const opposite = opposites.get(method);
  if (opposite !== undefined) {
    const inner = parseOne(context, { method: opposite, attribute, values }, depth);
    return { kind: 'not', method, field: vocabulary.field(attribute), condition: inner };
  }
  if (method === 'between') {
    if (values.length !== 2) throw invalid('between takes two values.');
    const field = scalar(vocabulary, attribute, method);
    return { kind: 'between', field, low: comparable(field, values[0]), high: comparable(field, values[1]) };
  }
  if (isOneOf(comparisons, method)) {
    const field = scalar(vocabulary, attribute, method);
    if (values.length === 0 || (method !== 'equal' && values.length > 1))
      throw invalid(`${method} takes ${method === 'equal' ? 'at least one value' : 'one value'}.`);
    return { kind: 'compare', method, field, values: values.map((value) => comparable(field, value)) };
  }
  if (isOneOf(matches, method)) return parseMatch(vocabulary, method, attribute, values);
  if (isOneOf(searches, method)) {
    const field = scalar(vocabulary, attribute, method);
    if (vocabulary.kindOf(field) !== 'text') throw invalid(`${method} works on text only.`);
    if (values.length !== 1) throw invalid(`${method} takes one value.`);
    return vocabulary.search(field, method, oneText(values, method, invalid));
  }
  throw invalid(refusals.get(method) ?? `this service does not support the method \`${method.slice(0, 40)}\`.`);
}

function parseNested<F>(
  context: Context<F>,
  method: 'and' | 'or',
  values: readonly unknown[],
  depth: number,
): Condition<F> {
  const { invalid } = context.vocabulary;
  if (values.length < 2) throw invalid(`${method} takes at least two queries.`);
  if (depth >= queryBounds.depth) throw invalid(`conditions nest at most ${queryBounds.depth} deep.`);
  context.count.queries(values.length);
  const queries = values.map((inner) => {
    const query = readShape(inner, invalid);
    context.count.values(query);
    return query;
  });
  if (method === 'and') return { kind: 'all', conditions: parseConditions(context, queries, depth + 1) };
  return { kind: 'any', conditions: queries.map((query) => whole(parseConditions(context, [query], depth + 1))) };
}

/** A condition on the presence of values. The SDKs pass the fields as values. */
function parseExistence<F>(vocabulary: Vocabulary<F>, method: string, names: readonly unknown[]): Condition<F> {
  const { invalid } = vocabulary;
  if (names.length === 0) throw invalid(`${method} takes at least one attribute.`);
  const fields = names.map((name) => vocabulary.field(oneText([name], method, invalid)));
  return whole(fields.map((field) => ({ kind: 'null', field, isNull: method === 'notExists' })));
}

function scalar<F>(vocabulary: Vocabulary<F>, name: string, method: string): F {
  const field = vocabulary.field(name);
  if (vocabulary.kindOf(field) === 'list') throw vocabulary.invalid(`${method} does not work on arrays.`);
  return field;
}

function parseMatch<F>(
  vocabulary: Vocabulary<F>,
  method: (typeof matches)[number],
  name: string,
  values: readonly unknown[],
): Condition<F> {
  const { invalid, comparable } = vocabulary;
  const field = vocabulary.field(name);
  const kind = vocabulary.kindOf(field);
  const isContained = method !== 'startsWith' && method !== 'endsWith';
  if (values.length === 0 || (!isContained && values.length > 1))
    throw invalid(`${method} takes ${isContained ? 'at least one value' : 'one value'}.`);
  const isEvery = method === 'containsAll';
  if (kind === 'list') {
    if (!isContained) throw invalid(`${method} does not work on arrays.`);
    return { kind: 'element', field, values: values.map((value) => comparable(field, value)), isEvery };
  }
  if (kind !== 'text') throw invalid(`${method} works on ${isContained ? 'text and arrays' : 'text'} only.`);
  const texts = values.map((value) => oneText([value], method, invalid));
  return { kind: 'match', method: isContained ? 'contains' : method, field, values: texts, isEvery };
}

/** Combines conditions with AND into one. */
function whole<F>(conditions: readonly Condition<F>[]): Condition<F> {
  const [first, ...others] = conditions;
  return first !== undefined && others.length === 0 ? first : { kind: 'all', conditions };
}
