import { Failure } from '#src/contract/errors.js';
import { documentTable, wordsTable } from '#src/platform/db/collection-tables.js';
import {
  type Condition,
  createQueryParser,
  type ListQuery,
  oneText,
  readQuery,
  type Vocabulary,
} from '#src/platform/list-query/index.js';
import { Lru } from '#src/platform/lru.js';
import { splitWords } from '#src/platform/word-splitter.js';
import {
  type Attribute,
  type AttributeType,
  attributeTypes,
  type Collection,
  fulltextIndexes,
  InvalidValue,
  isToOne,
  relationOf,
} from '../../databases/index.js';

/** What a condition or an order refers to: an attribute, or one of the members every document has. */
export type Field =
  | { readonly kind: 'attribute'; readonly attribute: Attribute }
  | { readonly kind: 'system'; readonly name: SystemField };
/** Members every document has, and as what they compare. */
export const systemFields = {
  $id: { column: 'id', type: 'string' },
  $sequence: { column: 'seq', type: 'integer' },
  $createdAt: { column: 'created_at', type: 'datetime' },
  $updatedAt: { column: 'updated_at', type: 'datetime' },
} as const;
type SystemField = keyof typeof systemFields;

/** What a list was asked for. */
export interface DocumentQuery extends ListQuery<Field> {
  /** Keys of the attributes to print; null for all. */
  readonly select: readonly string[] | null;
  /** What is selected of related documents, such as `author.name`. */
  readonly paths: readonly string[];
}

/** A condition that an attribute has one value; as far as a database knows, every value matches about as many documents as any other. */
export function isEquality(condition: Condition<Field>): condition is Extract<Condition<Field>, { kind: 'compare' }> {
  return condition.kind === 'compare' && condition.method === 'equal' && condition.values.length === 1;
}

/** Whether a condition, with all within it, compares with one value at a time. */
export function isOfSingleValues(condition: Condition<Field>): boolean {
  if (condition.kind === 'all' || condition.kind === 'any') return condition.conditions.every(isOfSingleValues);
  return (
    !['element', 'fulltext'].includes(condition.kind) && (!('values' in condition) || condition.values.length === 1)
  );
}

const invalid = (message: string) => new Failure('general_query_invalid', { message: `Invalid query: ${message}` });

const isSystemField = (key: string): key is SystemField => Object.hasOwn(systemFields, key);

/** Parses the queries of a list for a collection. Throws Failure `general_query_invalid`. */
export function parseQueries(texts: readonly string[], collection: Collection): DocumentQuery {
  const query = createQueryParser(vocabularyOf(collection))(texts);
  let select: readonly string[] | null = null;
  const paths: string[] = [];
  for (const values of query.selects) {
    const isPath = (value: unknown) => typeof value === 'string' && isRelated(collection, value);
    paths.push(...values.filter(isPath).map(String));
    select = selection(
      collection,
      values.filter((value) => !isPath(value)),
      select,
    );
  }
  return { ...query, select, paths };
}

/** What is kept of lists that were asked for before. */
const cacheBounds = { bytes: 16_777_216, entries: 1000, largest: 262_144 } as const;
/** What a list takes, beside its text, with the statement that is made of it: that names every attribute of the collection, in three texts. */
const bytesOf = (collection: Collection) => 4096 + 600 * collection.attributes.length;
/** Longer lists hold many values and hardly come again. */
const maxKeyLength = 4096;

/** A list with the id of its cursor's document, which is no part of the query: lists that go on from other documents are the same query. */
export interface ParsedList {
  readonly query: DocumentQuery;
  readonly cursorId: string | null;
}

/** The same for lists, which repeat: what was parsed is kept for as long as the schema of the collection stays as it is. */
export function createListParser(): (texts: readonly string[], collection: Collection) => ParsedList {
  const cache = new Lru<{ readonly collection: Collection; readonly query: DocumentQuery }>(cacheBounds);
  const parse = (texts: readonly string[], collection: Collection): DocumentQuery => {
    // No query that can be parsed has a NUL, so texts of another number or with other bounds have another key.
    const key = `${collection.number} ${texts.length} ${texts.join('\0')}`;
    const before = cache.get(key);
    if (before?.collection === collection) return before.query;
    const query = parseQueries(texts, collection);
    if (key.length <= maxKeyLength) cache.set(key, { collection, query }, 4 * key.length + bytesOf(collection));
    return query;
  };
  return (texts, collection) => {
    const at = texts.findIndex((text) => text.includes('"cursor'));
    const cursor = at === -1 ? undefined : cursorOf(texts[at] ?? '');
    if (cursor !== undefined) return { query: parse(texts.with(at, cursor.general), collection), cursorId: cursor.id };
    const query = parse(texts, collection);
    return { query, cursorId: query.cursor?.id ?? null };
  };
}

/** The id in a query that may be a cursor, and the text of a query with the same method that is the same for all ids. */
function cursorOf(text: string): { readonly id: string; readonly general: string } | undefined {
  const { method, values } = readQuery(text, invalid);
  if (method !== 'cursorAfter' && method !== 'cursorBefore') return undefined;
  return { id: oneText(values, method, invalid), general: JSON.stringify({ method, values: [''] }) };
}

/** Whether a selection names related documents: those of one relationship, or attributes of them. */
function isRelated(collection: Collection, value: string): boolean {
  const [key = '', ...rest] = value.split('.');
  const relation = relationOf(collection, key);
  return relation !== undefined && (rest.length > 0 || !isToOne(relation));
}

function vocabularyOf(collection: Collection): Vocabulary<Field> {
  return {
    invalid,
    field: (name) => fieldOf(collection, name),
    kindOf,
    comparable,
    search: (field, method, text) => {
      const found = fulltextIndexes(collection, true).find(
        ({ attribute }) => field.kind === 'attribute' && field.attribute === attribute,
      );
      if (found === undefined)
        throw invalid(
          `${method} needs a fulltext index of the attribute${field.kind === 'attribute' ? ` ${field.attribute.key}, with the status available` : ''}.`,
        );
      const { number } = collection;
      const index = { documents: documentTable(number), words: wordsTable(number, found.index.number) };
      return { kind: 'fulltext', method, field, words: splitWords(text), index };
    },
  };
}

function kindOf(field: Field): 'text' | 'list' | 'plain' {
  if (field.kind === 'attribute' && field.attribute.array) return 'list';
  return typeOf(field).isSearchable ? 'text' : 'plain';
}

function fieldOf(collection: Collection, key: string): Field {
  if (isSystemField(key)) return { kind: 'system', name: key };
  const attribute = collection.attributes.find((one) => one.key === key);
  if (attribute === undefined && relationOf(collection, key) !== undefined)
    throw invalid(`${key} is a relationship to many documents, which cannot be compared.`);
  if (attribute === undefined) throw invalid(`the collection has no attribute ${key.slice(0, 40)}.`);
  return { kind: 'attribute', attribute };
}

/** The type of a field, or of the elements of one that is an array. */
export function typeOf(field: Field): AttributeType {
  return attributeTypes[field.kind === 'system' ? systemFields[field.name].type : field.attribute.type];
}

/** The stored form of a value to compare with. Options of the attribute do not matter: such a value is just not found. */
function comparable(field: Field, value: unknown): unknown {
  if (value === null) throw invalid('null is found by isNull and isNotNull only.');
  const { parse, comparable: parseAny = parse } = typeOf(field);
  // Ids of rows are printed as text, so they may come back as text.
  const given =
    field.kind === 'system' && field.name === '$sequence' && typeof value === 'string' && /^\d{1,18}$/.test(value)
      ? Number(value)
      : value;
  const stored = parseAny(given, {});
  if (stored instanceof InvalidValue) throw invalid(`a value ${stored.reason}.`);
  return stored;
}

function selection(
  collection: Collection,
  values: readonly unknown[],
  before: readonly string[] | null,
): readonly string[] | null {
  const selected = [...(before ?? [])];
  let everything = false;
  for (const value of values) {
    const key = oneText([value], 'select', invalid);
    if (key === '*') everything = true;
    else if (!key.startsWith('$')) {
      fieldOf(collection, key);
      if (selected.includes(key)) throw invalid(`${key} is selected twice.`);
      selected.push(key);
    } else if (!isSystemField(key) && !['$permissions', '$collectionId', '$databaseId'].includes(key))
      throw invalid(`there is no ${key.slice(0, 40)}.`);
  }
  return everything ? null : selected;
}
