import { answerLimits } from '#src/contract/limits.js';
import { toArrays, unnested } from '#src/platform/db/arrays.js';
import { attributeColumn, type ColumnKind, castTypes } from '#src/platform/db/collection-ddl.js';
import { documentTable } from '#src/platform/db/collection-tables.js';
import type { DialectName, Query, Sql, Value } from '#src/platform/db/query.js';
import type { Unit } from '#src/platform/db/unit.js';
import { bind, type Fragment } from '#src/platform/list-query/index.js';
import { type Attribute, type Collection, columnKind } from '../databases/index.js';
import { createUpdateStatement, type DocumentChange } from './changes/update-statement.js';
import type { StoredDocument, StoredValues, Times } from './document.js';
import { createListStore, type ListStore } from './list-store.js';
import { documentColumns, listedIds } from './row.js';
import { createSerializers } from './serializer.js';

/** A document that is to be written. */
export interface NewDocument {
  readonly id: string;
  readonly permissions: readonly string[];
  readonly values: StoredValues;
  readonly times: Times;
  /** Locks those that it is to be related to, before it is there. */
  readonly hold?: (unit: Unit) => Promise<unknown>;
  /** Relates it to others once it is there, where it is to be. */
  readonly relate?: (unit: Unit) => Promise<unknown>;
}

/** The row of a new document; its sequence comes from the database. */
export interface InsertRow {
  readonly document: Omit<StoredDocument, 'sequence'>;
  readonly values: StoredValues;
}

/**
 * SQL over the documents of collections. Every statement carries the version of the schema it was made for and does nothing, or says so,
 * when the collection has changed since. What reads documents returns `documentColumns` and, as `data`, its attributes as they are printed.
 */
export interface DocumentStore extends ListStore {
  /** Makes reads of documents by id, printed as far as they are small, with their sizes and the version of the schema. */
  byIds(collection: Collection): (ids: readonly string[]) => Query;
  /** One document of at most so many bytes, perhaps with only some attributes. */
  one(collection: Collection, id: string, select: readonly string[] | null, maxBytes: number): Query;
  /** The row of a new document. */
  insertRow(collection: Collection, document: NewDocument, now: string): InsertRow;
  /** For `RowWrites` only, which knows the words of the row, too. Returns id and sequence of those that were written: none where the schema has changed, and not those of which a unique value is taken. */
  insertRows(collection: Collection, rows: readonly InsertRow[]): Query;
  /** The permissions of a document that is about to change, locked until the end of the unit unless they are only looked at. */
  permissions(collection: Collection, id: string, isLocked?: boolean): Query;
  /** Some attributes of documents as they are printed, as `data`, locked until the end of the unit, with the version of the schema. */
  values(collection: Collection, ids: readonly string[], keys: readonly string[]): Query;
  /** The permissions of documents by id. */
  permissionsOf(collection: Collection, ids: readonly string[]): Query;
  /** For `RowWrites` only. Returns each document that was changed: none where the schema has changed, everything is as it was, or a computed value does not fit. */
  updateRows(collection: Collection, ids: readonly string[], change: DocumentChange): Query;
  /** Returns the documents; longer ones than so many bytes without their attributes. */
  remove(collection: Collection, ids: readonly string[], maxBytes: number): Query;
  /** Prints the attributes of documents of some sequences anew, beyond the first and up to the last, where they were printed for others. */
  reprint(collection: Collection, after: number, to: number): Query;
  /** The last document of the next batch beyond a sequence, as `last`; null where none is left. */
  batchEnd(collection: Collection, after: number): Query;
  /** The documents beyond a sequence and up to another, in their order. */
  between(collection: Collection, after: number, to: number): Query;
  /** Whether an id is taken, which decides the error of a conflict. */
  exists(collection: Collection, id: string): Query;
  /** Whether a document has these values in attributes that have no arrays. */
  holds(collection: Collection, attributes: readonly Attribute[], values: readonly unknown[]): Query;
  /** The version of the schema. */
  version(collection: Collection): Query;
}

/** Documents that are read at once where all of them are, and about how many bytes. */
const batch = { documents: 500, bytes: 1_000_000 } as const;

/** Creates the SQL over the documents of collections. */
export function createDocumentStore(sql: Sql): DocumentStore {
  const { dialect } = sql;
  const placeholder = (kind: ColumnKind) =>
    dialect === 'postgres' && kind !== 'text' && kind !== 'list' ? `cast(? as ${castTypes[kind]})` : '?';
  const textPlaceholder = dialect === 'postgres' ? 'cast(? as text)' : '?';
  const query = (fragment: Pick<Query, 'sql' | 'values'>): Query => sql.text(fragment.sql, fragment.values);
  const texts = (fragment: Fragment): Query => ({ ...query(fragment), allText: true });
  const serializerOf = createSerializers(dialect);
  const version = `(select version from collections where number = ?)`;
  const isCurrent = (collection: Collection): Fragment => ({
    sql: `${version} = ?`,
    values: [collection.number, collection.version],
  });
  /** The attributes of a document, where it has at most so many bytes, and how many it has. */
  const within = (collection: Collection, maxBytes: number): Fragment => {
    const serializer = serializerOf(collection);
    const [bytes, data] = [serializer.bytes(null), serializer.data(null)];
    return {
      sql: `case when ${bytes.sql} <= ${placeholder('integer')} then ${data.sql} end as data, cast(${bytes.sql} as text) as bytes`,
      values: [...bytes.values, maxBytes, ...data.values, ...bytes.values],
    };
  };

  const update = createUpdateStatement({ dialect, placeholder, isCurrent, serializerOf });

  return {
    ...createListStore(sql, serializerOf),
    byIds: (collection) => {
      const doc = within(collection, answerLimits.together);
      const { sql: text, values } = texts({
        sql: `select ${documentColumns}, ${doc.sql}, cast(${version} as text) as version from ${documentTable(collection.number)} where ${listedIds(sql, []).sql}`,
        values: [...doc.values, collection.number],
      });
      return (ids) => ({ sql: text, values: [...values, sql.list(ids)], allText: true });
    },
    permissionsOf: (collection, ids) => {
      const { sql: listed, values } = listedIds(sql, ids);
      return query({ sql: `select id, permissions from ${documentTable(collection.number)} where ${listed}`, values });
    },
    one: (collection, id, select, maxBytes) => {
      const serializer = serializerOf(collection);
      const [data, bytes] = [serializer.data(select), serializer.bytes(select)];
      const read = `case when bytes <= most then ${data.sql} end as data`;
      const row = `select *, ${bytes.sql} as bytes, ${placeholder('integer')} as most from ${documentTable(collection.number)} where id = ?`;
      // What a row has that is printed anew is known only then.
      const fits = 'case when octet_length(data) <= most then data end as data';
      const size = 'cast(case when octet_length(data) > bytes then octet_length(data) else bytes end as text) as bytes';
      return texts({
        sql: `select ${documentColumns}, ${fits}, ${size}, cast(${version} as text) as version from (select id, seq, created_at, updated_at, permissions, bytes, most, ${read} from (${row}) as measured) as whole`,
        values: [collection.number, ...data.values, ...bytes.values, maxBytes, id],
      });
    },
    values: (collection, ids, keys) => {
      const named = namedIds(sql, ids);
      const data = serializerOf(collection).data(keys);
      return query({
        sql: `select id, ${data.sql} as data, ${version} as version from ${documentTable(collection.number)} where ${named.sql}${dialect === 'postgres' ? ' for update' : ''}`,
        values: [...data.values, collection.number, ...named.values],
      });
    },
    insertRow: (collection, { id, permissions, values, times }, now) => {
      const { databaseId, id: collectionId } = collection;
      const data = serializerOf(collection).print(values);
      const { createdAt = now, updatedAt = now } = times;
      return { document: { id, databaseId, collectionId, createdAt, updatedAt, permissions, data }, values };
    },
    insertRows: (collection, inserts) => {
      const { attributes } = collection;
      const { schemaHash } = serializerOf(collection);
      const columns = [
        ...['id', 'created_at', 'updated_at', 'permissions', 'printed'].map((name) => ({
          name,
          kind: 'text' as const,
        })),
        ...attributes.map((attribute) => ({ name: attributeColumn(attribute.number), kind: columnKind(attribute) })),
      ];
      const rows = inserts.map(({ document, values }) => [
        document.id,
        document.createdAt,
        document.updatedAt,
        JSON.stringify(document.permissions),
        document.data,
        ...attributes.map(({ number }) => bind(values.get(number))),
      ]);
      const table = documentTable(collection.number);
      const given = givenRows(dialect, table, columns, rows);
      const current = isCurrent(collection);
      const names = ['seq', ...columns.map(({ name }) => name)];
      const overriding = dialect === 'postgres' ? ' overriding system value' : '';
      // Of two units that insert the same ids one waits for the other at the first of them. The sequences are those of the order given, and of
      // two documents with the same unique value the first given is written.
      const isUnique = collection.indexes.some(({ type }) => type === 'unique');
      const inOrder = dialect === 'postgres' && !isUnique ? ' order by id' : '';
      return query({
        sql: `insert into ${table} (shape, ${names.join(', ')})${overriding} select ${textPlaceholder}, ${names.join(', ')} from ${given.sql} where ${current.sql}${inOrder} on conflict do nothing returning id, seq`,
        values: [schemaHash, ...given.values, ...current.values],
      });
    },
    permissions: (collection, id, isLocked = true) =>
      query({
        sql: `select permissions, ${version} as version from ${documentTable(collection.number)} where id = ?${dialect === 'postgres' && isLocked ? ' for update' : ''}`,
        values: [collection.number, id],
      }),
    updateRows: (collection, ids, change) => query(update(collection, namedIds(sql, ids), change)),
    remove: (collection, ids, maxBytes) => {
      const named = namedIds(sql, ids);
      const current = isCurrent(collection);
      const serializer = serializerOf(collection);
      const [bytes, data] = [serializer.bytes(null), serializer.data(null)];
      const fits = `case when ${bytes.sql} <= ${placeholder('integer')} then ${data.sql} else '' end as data`;
      return query({
        sql: `delete from ${documentTable(collection.number)} where ${named.sql} and ${current.sql} returning ${documentColumns}, ${fits}`,
        values: [...named.values, ...current.values, ...bytes.values, maxBytes, ...data.values],
      });
    },
    reprint: (collection, after, to) => {
      const { schemaHash, changed } = serializerOf(collection);
      const printed = changed(new Map());
      return query({
        sql: `update ${documentTable(collection.number)} set printed = ${printed.sql}, shape = ${textPlaceholder} where seq > ? and seq <= ? and shape <> ?`,
        values: [...printed.values, schemaHash, after, to, schemaHash],
      });
    },
    ...createBatchReads(query, serializerOf),
    exists: (collection, id) =>
      query({ sql: `select 1 as one from ${documentTable(collection.number)} where id = ?`, values: [id] }),
    holds: (collection, attributes, values) => {
      const equal = attributes.map((one) => `${attributeColumn(one.number)} = ${placeholder(columnKind(one))}`);
      return query({
        sql: `select 1 as one from ${documentTable(collection.number)} where ${equal.join(' and ')} limit 1`,
        values: values.map(bind),
      });
    },
    version: (collection) => query({ sql: `select ${version} as version`, values: [collection.number] }),
  };
}

/** Reads of all documents, some at a time. */
function createBatchReads(
  query: (fragment: Pick<Query, 'sql' | 'values'>) => Query,
  serializerOf: ReturnType<typeof createSerializers>,
): Pick<DocumentStore, 'batchEnd' | 'between'> {
  return {
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

/** New rows as a table, with the sequences that are next. SQLite has no exact way to read doubles from text, so there each value is bound. */
function givenRows(
  dialect: DialectName,
  table: string,
  columns: readonly { readonly name: string; readonly kind: ColumnKind }[],
  rows: readonly (readonly Value[])[],
): Pick<Query, 'sql' | 'values'> {
  if (dialect === 'postgres') {
    const typed = columns.map(({ name, kind }) => ({ name, type: castTypes[kind] }));
    return {
      sql: `(select nextval('${table}_seq_seq') as seq, * from ${unnested(typed, () => '?')}) as given`,
      values: toArrays(typed, rows),
    };
  }
  const row = (_: unknown, at: number) => `(${[at + 1, ...columns.map(() => '?')].join(', ')})`;
  const names = columns.map(({ name }, at) => `column${at + 2} as ${name}`);
  const last = `coalesce((select seq from sqlite_sequence where name = '${table}'), 0)`;
  return {
    sql: `(select ${last} + column1 as seq, ${names.join(', ')} from (values ${rows.map(row).join(', ')}))`,
    values: rows.flat(),
  };
}

/** The same in its simpler form where there is one id. */
function namedIds(sql: Sql, ids: readonly string[]): Fragment {
  const [id] = ids;
  return id !== undefined && ids.length === 1 ? { sql: 'id = ?', values: [id] } : listedIds(sql, ids);
}
