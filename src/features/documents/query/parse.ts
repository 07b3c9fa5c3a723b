import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';
import { parseJson } from '#src/platform/json.js';
import { type Attribute, type Collection, Misfit, single } from '../../databases/index.js';

/** What a condition or an order refers to: an attribute, or one of the members every document has. */
export type Field =
  | { readonly kind: 'attribute'; readonly attribute: Attribute }
  | { readonly kind: 'system'; readonly name: SystemField };
/** Members every document has. */
export type SystemField = '$id' | '$sequence' | '$createdAt' | '$updatedAt';

/** Comparisons of one value. */
export type Comparison = 'equal' | 'notEqual' | 'lessThan' | 'lessThanEqual' | 'greaterThan' | 'greaterThanEqual';
/** Searches in text. */
export type TextMatch = 'startsWith' | 'endsWith' | 'contains';

/** A condition on documents; values are in their stored form. */
export type Condition =
  | {
      readonly kind: 'compare';
      readonly method: Comparison;
      readonly field: Field;
      readonly values: readonly unknown[];
    }
  | { readonly kind: 'between'; readonly field: Field; readonly low: unknown; readonly high: unknown }
  | { readonly kind: 'null'; readonly field: Field; readonly isNull: boolean }
  | { readonly kind: 'match'; readonly method: TextMatch; readonly field: Field; readonly values: readonly string[] }
  | { readonly kind: 'element'; readonly attribute: Attribute; readonly values: readonly unknown[] }
  | { readonly kind: 'all' | 'any'; readonly conditions: readonly Condition[] };

/** One column of an order. */
export interface Order {
  readonly field: Field;
  readonly descending: boolean;
}

/** What a list was asked for. */
export interface DocumentQuery {
  readonly conditions: readonly Condition[];
  readonly orders: readonly Order[];
  readonly limit: number;
  readonly offset: number;
  readonly cursor: { readonly id: string; readonly before: boolean } | null;
  /** Keys of the attributes to print; null for all. */
  readonly select: readonly string[] | null;
}

/** Bounds of the query language. */
const most = { queries: 100, characters: 4096, values: 500, limit: 5000, depth: 10 } as const;
const defaultLimit = 25;

const queryShape = z.object({
  method: z.string(),
  attribute: z.string().optional(),
  values: z.array(z.unknown()).max(most.values).default([]),
});

const invalid = (message: string) => new Failure('general_query_invalid', { message: `Invalid query: ${message}` });

const systemFields: readonly SystemField[] = ['$id', '$sequence', '$createdAt', '$updatedAt'];
const comparisons = ['equal', 'notEqual', 'lessThan', 'lessThanEqual', 'greaterThan', 'greaterThanEqual'] as const;
const matches = ['startsWith', 'endsWith', 'contains'] as const;
const isOneOf = <T extends string>(list: readonly T[], value: string): value is T =>
  (list as readonly string[]).includes(value);

/** Parses the queries of a list for a collection. Throws Failure `general_query_invalid`. */
export function parseQueries(texts: readonly string[], collection: Collection): DocumentQuery {
  if (texts.length > most.queries) throw invalid(`at most ${most.queries} queries.`);
  const conditions: Condition[] = [];
  const orders: Order[] = [];
  const ordered = new Set<string>();
  let limit: number | undefined;
  let offset: number | undefined;
  let cursor: DocumentQuery['cursor'] = null;
  let select: readonly string[] | null = null;
  for (const text of texts) {
    const query = parseText(text);
    const { method, attribute = '', values } = query;
    if (method === 'orderAsc' || method === 'orderDesc') {
      const field = fieldOf(collection, attribute);
      // A second order by the same attribute decides nothing.
      if (!ordered.has(attribute)) orders.push({ field, descending: method === 'orderDesc' });
      ordered.add(attribute);
    } else if (method === 'limit') limit ??= wholeNumber(values, 'limit', 1, most.limit);
    else if (method === 'offset') offset ??= wholeNumber(values, 'offset', 0, Number.MAX_SAFE_INTEGER);
    else if (method === 'cursorAfter' || method === 'cursorBefore') {
      cursor ??= { id: oneText(values, method), before: method === 'cursorBefore' };
    } else if (method === 'select') select = selection(collection, values, select);
    else conditions.push(condition(collection, query, 1));
  }
  if (orders.some(({ field }) => field.kind === 'attribute' && field.attribute.array))
    throw invalid('an array cannot be an order.');
  return { conditions, orders, limit: limit ?? defaultLimit, offset: offset ?? 0, cursor, select };
}

type Query = z.output<typeof queryShape>;

function parseText(text: string): Query {
  if (text.length > most.characters) throw invalid(`at most ${most.characters} characters each.`);
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw invalid('each query must be a JSON object.');
  }
  return parseShape(value);
}

function parseShape(value: unknown): Query {
  const parsed = queryShape.safeParse(value);
  if (!parsed.success) throw invalid('each query must be a JSON object with a method and at most 500 values.');
  return parsed.data;
}

function condition(collection: Collection, { method, attribute = '', values }: Query, depth: number): Condition {
  if (method === 'and' || method === 'or') {
    if (values.length < 2) throw invalid(`${method} takes at least two queries.`);
    if (depth >= most.depth) throw invalid(`conditions nest at most ${most.depth} deep.`);
    const conditions = values.map((inner) => condition(collection, parseShape(inner), depth + 1));
    return { kind: method === 'and' ? 'all' : 'any', conditions };
  }
  if (method === 'isNull' || method === 'isNotNull') {
    return { kind: 'null', field: fieldOf(collection, attribute), isNull: method === 'isNull' };
  }
  if (method === 'between') {
    if (values.length !== 2) throw invalid('between takes two values.');
    const field = scalarField(collection, attribute, method);
    return { kind: 'between', field, low: comparable(field, values[0]), high: comparable(field, values[1]) };
  }
  if (isOneOf(comparisons, method)) {
    const field = scalarField(collection, attribute, method);
    if (values.length === 0 || (method !== 'equal' && values.length > 1))
      throw invalid(`${method} takes ${method === 'equal' ? 'at least one value' : 'one value'}.`);
    return { kind: 'compare', method, field, values: values.map((value) => comparable(field, value)) };
  }
  if (isOneOf(matches, method)) return match(collection, method, attribute, values);
  throw invalid(`unknown method ${method.slice(0, 40)}.`);
}

function match(collection: Collection, method: TextMatch, key: string, values: readonly unknown[]): Condition {
  const field = fieldOf(collection, key);
  if (values.length === 0 || (method !== 'contains' && values.length > 1))
    throw invalid(`${method} takes ${method === 'contains' ? 'at least one value' : 'one value'}.`);
  if (field.kind === 'attribute' && field.attribute.array) {
    if (method !== 'contains') throw invalid(`${method} does not work on arrays.`);
    const { attribute } = field;
    return { kind: 'element', attribute, values: values.map((value) => comparable(field, value)) };
  }
  const isText =
    field.kind === 'system'
      ? field.name === '$id'
      : !['integer', 'double', 'boolean', 'datetime'].includes(field.attribute.type);
  if (!isText) throw invalid(`${method} works on text only.`);
  return { kind: 'match', method, field, values: values.map((value) => oneText([value], method)) };
}

function fieldOf(collection: Collection, key: string): Field {
  if (isOneOf(systemFields, key)) return { kind: 'system', name: key };
  const attribute = collection.attributes.find((one) => one.key === key);
  if (attribute === undefined) throw invalid(`the collection has no attribute ${key.slice(0, 40)}.`);
  return { kind: 'attribute', attribute };
}

function scalarField(collection: Collection, key: string, method: string): Field {
  const field = fieldOf(collection, key);
  if (field.kind === 'attribute' && field.attribute.array) throw invalid(`${method} does not work on arrays.`);
  return field;
}

/** What the system members compare as. */
const systemTypes = { $id: 'string', $sequence: 'integer', $createdAt: 'datetime', $updatedAt: 'datetime' } as const;

/** The stored form of a value to compare with. Bounds and choices of the attribute do not matter: such a value is just not found. */
function comparable(field: Field, value: unknown): unknown {
  const type = field.kind === 'system' ? systemTypes[field.name] : field.attribute.type;
  const storedType = ['integer', 'double', 'boolean', 'datetime'].includes(type) ? type : 'string';
  // Ids of rows are printed as text, so they may come back as text.
  const given =
    field.kind === 'system' && field.name === '$sequence' && typeof value === 'string' && /^\d{1,18}$/.test(value)
      ? Number(value)
      : value;
  const stored = single({ ...unbounded, type: storedType }, given);
  if (stored instanceof Misfit) throw invalid(`a value ${stored.reason}.`);
  return stored;
}

const unbounded: Attribute = {
  number: 0,
  key: '',
  type: 'string',
  required: false,
  array: false,
  default: null,
  size: most.characters,
  createdAt: '',
  updatedAt: '',
};

/** Postgres has neither NUL nor lone surrogates in text. */
function storable(text: string): string {
  if (text.includes('\0') || !text.isWellFormed())
    throw invalid('text must not hold NUL characters or lone surrogates.');
  return text;
}

function oneText(values: readonly unknown[], method: string): string {
  const [value] = values;
  if (typeof value !== 'string') throw invalid(`${method} takes text.`);
  return storable(value);
}

function wholeNumber(values: readonly unknown[], method: string, low: number, high: number): number {
  const [value] = values;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < low || value > high) {
    throw invalid(`${method} takes a whole number from ${low} to ${high}.`);
  }
  return value;
}

function selection(
  collection: Collection,
  values: readonly unknown[],
  before: readonly string[] | null,
): readonly string[] | null {
  const selected = [...(before ?? [])];
  let everything = false;
  for (const value of values) {
    const key = oneText([value], 'select');
    if (key === '*') everything = true;
    else if (!key.startsWith('$')) {
      fieldOf(collection, key);
      if (selected.includes(key)) throw invalid(`${key} is selected twice.`);
      selected.push(key);
    } else if (!isOneOf([...systemFields, '$permissions', '$collectionId', '$databaseId'], key))
      throw invalid(`there is no ${key.slice(0, 40)}.`);
  }
  return everything ? null : selected;
}
