import { answerLimits } from '#src/contract/limits.js';
import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import { documentTable } from '#src/platform/db/collection-tables.js';
import type { ColumnKind } from '#src/platform/db/dialect-words.js';
import { newRows } from '#src/platform/db/new-rows.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import type { Unit } from '#src/platform/db/unit.js';
import { boundValue, type Fragment } from '#src/platform/list-query/index.js';
import { type Attribute, type Collection, columnKind } from '../../databases/index.js';
import type { StoredDocument, StoredValues, Times } from '../model/document.js';
import { sealedValues } from '../model/encryption.js';
import { documentColumns, listedIds } from '../model/row.js';
import { createSerializers, type Serializers } from '../model/serializer.js';
import { createListStore, type ListStore } from './list-store.js';
import { createUpdateStatement, type DocumentChange } from './update-statement.js';

/** A new document. */
export interface NewDocument {
  readonly id: string;
  readonly permissions: readonly string[];
  readonly values: StoredValues;
  readonly times: Times;
  /** Locks the documents that it will be related to, before it is inserted. */
  readonly lock?: (unit: Unit) => Promise<unknown>;
  /** Relates it to other documents after it is inserted. */
  readonly relate?: (unit: Unit) => Promise<unknown>;
}

/** The row of a new document; its sequence comes from the database. */
export interface InsertRow {
  readonly document: Omit<StoredDocument, 'sequence'>;
  /** The values of its columns. */
  readonly values: StoredValues;
  /** The attributes as the row prints them. */
  readonly printed: string;
}

/**
 * SQL over the documents of collections. Every statement carries the version of the schema it was made for. If the collection has changed
 * since, it changes nothing, or returns the new version. Reads return `documentColumns` and the printed attributes as `data`.
 */
export interface DocumentStore extends ListStore {
  /** Makes reads of documents by id, with their sizes and the version of the schema. Long ones come without their attributes. */
  byIds(collection: Collection): (ids: readonly string[]) => Query;
  /** One document up to a number of bytes, by default the longest, with all attributes or some. */
  one(collection: Collection, id: string, select: readonly string[] | null, maxBytes?: number): Query;
  /** The row of a new document. */
  insertRow(collection: Collection, document: NewDocument, now: string): InsertRow;
  /** For `RowWrites` only, which also writes the words of fulltext indexes. Returns id and sequence of each inserted row: none if the schema has changed, and none for a row with a unique value that another document has. */
  insertRows(collection: Collection, rows: readonly InsertRow[]): Query;
  /** The permissions of a document before a change, locked until the end of the unit unless the caller only reads them. */
  permissions(collection: Collection, id: string, isLocked?: boolean): Query;
  /** Some printed attributes of documents as `data`, with the version of the schema. Locks the documents until the end of the unit. */
  values(collection: Collection, ids: readonly string[], keys: readonly string[]): Query;
  /** The permissions of documents by id. */
  permissionsOf(collection: Collection, ids: readonly string[]): Query;
  /** For `RowWrites` only. Returns each changed document: none if the schema has changed, no value differs, or a computed value does not fit. */
  updateRows(collection: Collection, ids: readonly string[], change: DocumentChange): Query;
  /** Returns the documents; those above a number of bytes without their attributes. */
  remove(collection: Collection, ids: readonly string[], maxBytes: number): Query;
  /** Prints the attributes of documents again if their printed form is of an older schema, for the sequences after `after` up to `to`. */
  reprint(collection: Collection, after: number, to: number): Query;
  /** The sequence of the last document of the next batch after a sequence, as `last`; null at the end. */
  batchEnd(collection: Collection, after: number): Query;
  /** The documents after a sequence up to another, in their order. */
  between(collection: Collection, after: number, to: number): Query;
  /** Whether an id is taken, to choose the error of a conflict. */
  exists(collection: Collection, id: string): Query;
  /** Whether a document has these values, in attributes that are no arrays. */
  holds(collection: Collection, attributes: readonly Attribute[], values: readonly unknown[]): Query;
  /** The version of the schema. */
  version(collection: Collection): Query;
}

/** Documents per batch when all are read, and their approximate bytes. */
const batch = { documents: 500, bytes: 1_000_000 } as const;

/** Parts of statements. */
interface Deps {
  readonly sql: Sql;
  readonly placeholder: (kind: ColumnKind) => string;
  readonly query: (fragment: Pick<Query, 'sql' | 'values'>) => Query;
  readonly serializerOf: Serializers;
}

/** Creates the SQL over the documents of collections. `longest` is the number of bytes of the longest document. */
export function createDocumentStore(sql: Sql, longest: number): DocumentStore {
  const placeholder = (kind: ColumnKind) => (kind === 'text' || kind === 'list' ? '?' : sql.words.typed(kind));
  const query = (fragment: Pick<Query, 'sql' | 'values'>): Query => sql.text(fragment.sql, fragment.values);
  const serializerOf = createSerializers(sql.words);
  const deps: Deps = { sql, placeholder, query, serializerOf };
  const update = createUpdateStatement({ dialect: sql.dialect, placeholder, isCurrent, serializerOf });

  return {
    ...createListStore(sql, serializerOf),
    byIds: (collection) => byIds(deps, collection),
    permissionsOf: (collection, ids) => {
      const { sql: listed, values } = listedIds(sql, ids);
      return query({ sql: `select id, permissions from ${documentTable(collection.number)} where ${listed}`, values });
    },
    one: (collection, id, select, maxBytes = longest) => one(deps, collection, id, select, maxBytes),
    values: (collection, ids, keys) => {
      const named = namedIds(sql, ids);
      const data = serializerOf(collection).data(keys);
      return query({
        sql: `select id, ${data.sql} as data, ${version} as version from ${documentTable(collection.number)} where ${named.sql}${sql.words.forUpdate}`,
        values: [...data.values, collection.number, ...named.values],
      });
    },
    insertRow: (collection, { id, permissions, values, times }, now) => {
      const { databaseId, id: collectionId } = collection;
      const { print } = serializerOf(collection);
      const data = print(values);
      const { createdAt = now, updatedAt = now } = times;
      const document = { id, databaseId, collectionId, createdAt, updatedAt, permissions, data };
      if (collection.seal === undefined) return { document, values, printed: data };
      const sealed = sealedValues(collection.seal, id, values);
      return { document, values: sealed, printed: print(sealed) };
    },
    insertRows: (collection, inserts) => insertRows(deps, collection, inserts),
    permissions: (collection, id, isLocked = true) =>
      query({
        sql: `select permissions, ${version} as version from ${documentTable(collection.number)} where id = ?${isLocked ? sql.words.forUpdate : ''}`,
        values: [collection.number, id],
      }),
    updateRows: (collection, ids, change) => query(update(collection, namedIds(sql, ids), change)),
    remove: (collection, ids, maxBytes) => remove(deps, collection, ids, maxBytes),
    ...createBatches(deps),
    exists: (collection, id) =>
      query({ sql: `select 1 as one from ${documentTable(collection.number)} where id = ?`, values: [id] }),
    holds: (collection, attributes, values) => {
      const equal = attributes.map((one) => `${attributeColumn(one.number)} = ${placeholder(columnKind(one))}`);
      return query({
        sql: `select 1 as one from ${documentTable(collection.number)} where ${equal.join(' and ')} limit 1`,
        values: values.map(boundValue),
      });
    },
    version: (collection) => query({ sql: `select ${version} as version`, values: [collection.number] }),
  };
}

const version = '(select version from collections where number = ?)';

function isCurrent({ number, version: current }: Collection): Fragment {
  return { sql: `${version} = ?`, values: [number, current] };
}

function byIds(deps: Deps, collection: Collection): (ids: readonly string[]) => Query {
  const { sql, query } = deps;
  const doc = within(deps, collection, answerLimits.together);
  const { sql: text, values } = query({
    sql: `select ${documentColumns}, ${doc.sql}, cast(${version} as text) as version from ${documentTable(collection.number)} where ${listedIds(sql, []).sql}`,
    values: [...doc.values, collection.number],
  });
  return (ids) => ({ sql: text, values: [...values, sql.list(ids)], allText: true });
}

/** The attributes of a document if it has at most that number of bytes, and its size. */
function within({ serializerOf, placeholder }: Deps, collection: Collection, maxBytes: number): Fragment {
  const serializer = serializerOf(collection);
  const [bytes, data] = [serializer.bytes(null), serializer.data(null)];
  return {
    sql: `case when ${bytes.sql} <= ${placeholder('integer')} then ${data.sql} end as data, cast(${bytes.sql} as text) as bytes`,
    values: [...bytes.values, maxBytes, ...data.values, ...bytes.values],
  };
}

function one(
  { query, placeholder, serializerOf }: Deps,
  collection: Collection,
  id: string,
  select: readonly string[] | null,
  maxBytes: number,
): Query {
  const serializer = serializerOf(collection);
  const [data, bytes] = [serializer.data(select), serializer.bytes(select)];
  const read = `case when bytes <= most then ${data.sql} end as data`;
  const row = `select *, ${bytes.sql} as bytes, ${placeholder('integer')} as most from ${documentTable(collection.number)} where id = ?`;
  // A row that has to be printed again has its size only after that.
  const fits = 'case when octet_length(data) <= most then data end as data';
  const size = 'cast(case when octet_length(data) > bytes then octet_length(data) else bytes end as text) as bytes';
  const text = query({
    sql: `select ${documentColumns}, ${fits}, ${size}, cast(${version} as text) as version from (select id, seq, created_at, updated_at, permissions, bytes, most, ${read} from (${row}) as measured) as whole`,
    values: [collection.number, ...data.values, ...bytes.values, maxBytes, id],
  });
  return { ...text, allText: true };
}

function insertRows({ sql, query, serializerOf }: Deps, collection: Collection, inserts: readonly InsertRow[]): Query {
  const { attributes } = collection;
  const { schemaHash } = serializerOf(collection);
  const columns = [
    ...['id', 'created_at', 'updated_at', 'permissions', 'printed'].map((name) => ({
      name,
      kind: 'text' as const,
    })),
    ...attributes.map((attribute) => ({ name: attributeColumn(attribute.number), kind: columnKind(attribute) })),
  ];
  const rows = inserts.map(({ document, values, printed }) => [
    document.id,
    document.createdAt,
    document.updatedAt,
    JSON.stringify(document.permissions),
    printed,
    ...attributes.map(({ number }) => boundValue(values.get(number))),
  ]);
  const table = documentTable(collection.number);
  const given = newRows(sql.dialect, table, columns, rows);
  const current = isCurrent(collection);
  const names = ['seq', ...columns.map(({ name }) => name)];
  // Two units that insert the same ids wait for each other at the first id. Sequences follow the given order, and the first of two
  // documents with the same unique value is inserted.
  const isUnique = collection.indexes.some(({ type }) => type === 'unique');
  const inOrder = sql.facts.hasOneWriter || isUnique ? '' : ' order by id';
  return query({
    sql: `insert into ${table} (shape, ${names.join(', ')})${sql.words.givenSequence} select ${sql.words.typed('text')}, ${names.join(', ')} from ${given.sql} where ${current.sql}${inOrder} on conflict do nothing returning id, seq`,
    values: [schemaHash, ...given.values, ...current.values],
  });
}

function remove(deps: Deps, collection: Collection, ids: readonly string[], maxBytes: number): Query {
  const { sql, query, placeholder, serializerOf } = deps;
  const named = namedIds(sql, ids);
  const current = isCurrent(collection);
  const serializer = serializerOf(collection);
  const [bytes, data] = [serializer.bytes(null), serializer.data(null)];
  const fits = `case when ${bytes.sql} <= ${placeholder('integer')} then ${data.sql} else '' end as data`;
  return query({
    sql: `delete from ${documentTable(collection.number)} where ${named.sql} and ${current.sql} returning ${documentColumns}, ${fits}`,
    values: [...named.values, ...current.values, ...bytes.values, maxBytes, ...data.values],
  });
}

/** Statements over all documents, some at a time. */
function createBatches({ sql, query, serializerOf }: Deps): Pick<DocumentStore, 'reprint' | 'batchEnd' | 'between'> {
  return {
    reprint: (collection, after, to) => {
      const { schemaHash, changed } = serializerOf(collection);
      const printed = changed(new Map());
      return query({
        sql: `update ${documentTable(collection.number)} set printed = ${printed.sql}, shape = ${sql.words.typed('text')} where seq > ? and seq <= ? and shape <> ?`,
        values: [...printed.values, schemaHash, after, to, schemaHash],
      });
    },
    batchEnd: (collection, after) => {
      const { sql: bytes, values } = serializerOf(collection).bytes(null);
      const next = `select seq, ${bytes} as bytes from ${documentTable(collection.number)} where seq > ? order by seq limit ${batch.documents}`;
      const sized = `select seq, sum(bytes) over (order by seq) - bytes as ahead from (${next}) as next`;
      return query({
        sql: `select max(seq) as last from (${sized}) as sized where ahead < ${batch.bytes}`,
        values: [...values, after],
      });
    },
    between: (collection, after, to) => {
      const { sql: data, values } = serializerOf(collection).data(null);
      return query({
        sql: `select ${documentColumns}, ${data} as data from ${documentTable(collection.number)} as page where page.seq > ? and page.seq <= ? order by page.seq`,
        values: [...values, after, to],
      });
    },
  };
}

/** The simpler form for one id. */
function namedIds(sql: Sql, ids: readonly string[]): Fragment {
  const [id] = ids;
  return id !== undefined && ids.length === 1 ? { sql: 'id = ?', values: [id] } : listedIds(sql, ids);
}
