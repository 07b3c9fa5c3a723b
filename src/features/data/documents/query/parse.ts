import { Failure } from '#src/contract/errors.js';
import { relationLimits } from '#src/contract/limits.js';
import { Lru } from '#src/platform/cache/lru.js';
import { documentTable, wordsTable } from '#src/platform/db/collection-tables.js';
import {
  type Condition,
  type ListQuery,
  oneText,
  parseListQuery,
  readQuery,
  type Vocabulary,
  type Within,
} from '#src/platform/list-query/index.js';
import { splitWords } from '#src/platform/text/word-splitter.js';
import {
  type Attribute,
  type AttributeType,
  attributeTypes,
  type Collection,
  fulltextIndexes,
  InvalidValue,
  isSystemField,
  isToOne,
  type Relation,
  relationOf,
  type SystemField,
  shownRelations,
  systemFields,
} from '../../databases/index.js';

/** The subject of a condition or an order: an attribute, or a member that every document has. */
export type Field =
  | { readonly kind: 'attribute'; readonly attribute: Attribute }
  | { readonly kind: 'system'; readonly name: SystemField };
/** A parsed list request. */
export interface DocumentQuery extends ListQuery<Field> {
  /** Keys of the attributes to print; null for all. */
  readonly select: readonly string[] | null;
  /** Selected attributes of related documents, such as `author.name`. */
  readonly paths: readonly string[];
  /** The related collections on which conditions depend. */
  readonly related: readonly Collection[];
}

/** Turns conditions on related documents into conditions on the documents of the list. */
export interface RelatedFilter {
  readonly within: Within;
  /** Undefined if the caller can see none of its documents. */
  readonly collection: Collection | undefined;
}

/** Finds the filter of a relationship. */
export type RelatedFilters = (relation: Relation) => RelatedFilter;

/** A condition that an attribute has one value. Databases assume that every value matches about the same number of documents. */
export function isEquality(condition: Condition<Field>): condition is Extract<Condition<Field>, { kind: 'compare' }> {
  return condition.kind === 'compare' && condition.method === 'equal' && condition.values.length === 1;
}

/** True if a condition, or one nested in it, meets a test. */
export function isSome(condition: Condition<Field>, test: (condition: Condition<Field>) => boolean): boolean {
  if (condition.kind === 'all' || condition.kind === 'any')
    return condition.conditions.some((one) => isSome(one, test));
  return condition.kind === 'not' ? isSome(condition.condition, test) : test(condition);
}

/** Whether a condition and all nested ones compare with one value each. */
export function isOfSingleValues(condition: Condition<Field>): boolean {
  const isOfSeveral = (one: Condition<Field>) => 'values' in one && one.values.length !== 1;
  return !isSome(condition, (one) => ['element', 'fulltext', 'related'].includes(one.kind) || isOfSeveral(one));
}

const invalid = (message: string) => new Failure('general_query_invalid', { message: `Invalid query: ${message}` });

/** Parses the queries of a list for a collection; without filters they cannot name attributes of related documents. Throws Failure `general_query_invalid`. */
export function parseQueries(
  texts: readonly string[],
  collection: Collection,
  filters?: RelatedFilters,
): DocumentQuery {
  const related = new Set<Collection>();
  const noted: RelatedFilters | undefined =
    filters &&
    ((relation) => {
      const filter = filters(relation);
      if (filter.collection !== undefined) related.add(filter.collection);
      return filter;
    });
  const query = parseListQuery(vocabularyOf(collection, noted), texts);
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
  return { ...query, select, paths, related: [...related] };
}

/** A cached list. */
const cacheBounds = { bytes: 16_777_216, entries: 1000, largest: 262_144 } as const;
/** Approximate bytes of a cached list beside its text: its statement names every attribute of the collection three times. */
const bytesOf = (collection: Collection) => 4096 + 600 * collection.attributes.length;
/** Longer lists have many values and are rarely repeated. */
const maxKeyLength = 4096;

/** A list and the id of its cursor's document, which is not part of the query: pages of one list share a query. */
export interface ParsedList {
  readonly query: DocumentQuery;
  readonly cursorId: string | null;
}

/** Parses the queries of a list. */
export type ParseList = (texts: readonly string[], collection: Collection, filters?: RelatedFilters) => ParsedList;

/**
 * The same with a cache, because lists are repeated. An entry is valid until the schema of the collection changes. Lists with conditions on
 * related documents depend on other schemas and on the caller and are not cached.
 */
export function createListParser(): ParseList {
  const cache = new Lru<{ readonly collection: Collection; readonly query: DocumentQuery }>(cacheBounds);
  const parse = (texts: readonly string[], collection: Collection, filters?: RelatedFilters): DocumentQuery => {
    // Valid queries have no NUL, so joined texts are unambiguous as a key.
    const key = `${collection.number} ${texts.length} ${texts.join('\0')}`;
    const before = cache.get(key);
    if (before?.collection === collection) return before.query;
    const query = parseQueries(texts, collection, filters);
    if (
      key.length <= maxKeyLength &&
      !query.conditions.some((condition) => isSome(condition, ({ kind }) => kind === 'related'))
    )
      cache.set(key, { collection, query }, 4 * key.length + bytesOf(collection));
    return query;
  };
  return (texts, collection, filters) => {
    const at = texts.findIndex((text) => text.includes('"cursor') || text.startsWith('cursor'));
    const cursor = at === -1 ? undefined : cursorOf(texts[at] ?? '');
    if (cursor !== undefined)
      return { query: parse(texts.with(at, cursor.general), collection, filters), cursorId: cursor.id };
    const query = parse(texts, collection, filters);
    return { query, cursorId: query.cursor?.id ?? null };
  };
}

/** The id in a query that may be a cursor, and a text for its method that is the same for all ids. */
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

function vocabularyOf(collection: Collection, filters?: RelatedFilters, level = 1): Vocabulary<Field> {
  return {
    invalid,
    takesRandom: true,
    related: (name) => {
      if (filters === undefined || !name.includes('.') || collection.attributes.some(({ key }) => key === name))
        return undefined;
      const relation = shownRelations(collection).find(({ key }) => name.startsWith(`${key}.`));
      if (relation === undefined) return undefined;
      if (level > relationLimits.levels)
        throw invalid(`relationships can be followed ${relationLimits.levels} levels deep.`);
      const { within, collection: related } = filters(relation);
      const { key } = relation;
      const vocabulary = related && vocabularyOf(related, filters, level + 1);
      return { key, attribute: name.slice(key.length + 1), within, vocabulary };
    },
    field: (name) => comparedField(collection, name),
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

/** The field of a condition or an order. Throws Failure if it is encrypted. */
function comparedField(collection: Collection, key: string): Field {
  const field = fieldOf(collection, key);
  if (field.kind === 'attribute' && field.attribute.encrypt)
    throw invalid(`${key} is encrypted, so queries cannot compare or order by it.`);
  return field;
}

function fieldOf(collection: Collection, key: string): Field {
  if (isSystemField(key)) return { kind: 'system', name: key };
  const attribute = collection.attributes.find((one) => one.key === key);
  if (attribute === undefined && relationOf(collection, key) !== undefined)
    throw invalid(`${key} is a relationship to many documents, which cannot be compared.`);
  if (attribute === undefined) throw invalid(`the collection has no attribute ${key.slice(0, 40)}.`);
  return { kind: 'attribute', attribute };
}

/** The type of a field, or of the elements of an array. */
export function typeOf(field: Field): AttributeType {
  return attributeTypes[field.kind === 'system' ? systemFields[field.name].type : field.attribute.type];
}

/** The stored form of a value in a query. It may exceed the bounds of the attribute; then nothing matches. */
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
