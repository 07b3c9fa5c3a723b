import type { Instant } from '#src/contract/shapes.js';
import { toArrays, unnested } from '#src/platform/db/arrays.js';
import type { SharedQuery } from '#src/platform/db/batch.js';
import {
  attributeColumn,
  type ColumnKind,
  castType,
  documentTable,
  readersTable,
} from '#src/platform/db/collection-ddl.js';
import type { DialectName, Query, Sql, Value } from '#src/platform/db/query.js';
import { type Collection, columnKind } from '../databases/index.js';
import { bind, type Fragment, join, type Order } from '../lists/index.js';
import { createPrinter, type DocumentPrinter, printValue } from './printer.js';
import { columnOf, createCompiler, orderColumns } from './query/compile.js';
import { type CountUpTo, createPageStatements } from './query/page.js';
import { type DocumentQuery, type Field, isEquality } from './query/parse.js';

/** Values of a document in their stored form, by attribute number. */
export type StoredValues = ReadonlyMap<number, unknown>;

/** A document that is to be written. */
export interface NewDocument {
  readonly id: string;
  readonly permissions: readonly string[];
  readonly values: StoredValues;
}

/** A new document, printed but for its id and its sequence. */
interface FreshDocument extends NewDocument {
  readonly rest: string;
}

/** Who may see which documents of a list: everything, or those that grant one of the roles to read. */
export type Visibility = 'everything' | readonly string[];

/** What decides on a page of a list, besides what was asked. */
interface ListPage {
  readonly visibility: Visibility;
  /** Where the cursor's document stands in the order. */
  readonly cursor: readonly Value[] | null;
  readonly count: CountUpTo;
}

/**
 * SQL over the documents of collections. Every statement carries the version of the schema it was made for and does nothing, or says so,
 * when the collection has changed since.
 */
export function createDocumentStore(sql: Sql) {
  const { dialect } = sql;
  const condition = createCompiler(dialect);
  const place = (kind: ColumnKind) =>
    dialect === 'postgres' && kind !== 'text' && kind !== 'list' ? `cast(? as ${castType(kind)})` : '?';
  const unlike = dialect === 'sqlite' ? 'is not' : 'is distinct from';
  const textPlace = dialect === 'postgres' ? 'cast(? as text)' : '?';
  const query = (fragment: Pick<Query, 'sql' | 'values'>): Query => sql.text(fragment.sql, fragment.values);
  const texts = (fragment: Fragment): Query => ({ ...query(fragment), texts: true });
  const printers = new WeakMap<Collection, DocumentPrinter>();
  const printerOf = (collection: Collection): DocumentPrinter => {
    const printer = printers.get(collection) ?? createPrinter(collection, dialect);
    printers.set(collection, printer);
    return printer;
  };
  const version = `(select version from collections where number = ?)`;
  const pages = createPageStatements(sql);
  const sharedLists = new WeakMap<DocumentQuery, { readonly count: CountUpTo; readonly query: SharedQuery }>();
  const isCurrent = (collection: Collection): Fragment => ({
    sql: `${version} = ?`,
    values: [collection.number, collection.version],
  });
  const kindOf = (collection: Collection, number: number): ColumnKind => {
    const attribute = collection.attributes.find((one) => one.number === number);
    return attribute === undefined ? 'text' : columnKind(attribute);
  };
  const visible = (collection: Collection, visibility: Visibility): Fragment[] => {
    if (visibility === 'everything') return [];
    const readers = readersTable(collection.number);
    const roles = dialect === 'sqlite' ? 'in (select value from json_each(?))' : '= any(cast(? as text[]))';
    const documents = documentTable(collection.number);
    return [
      {
        // Without `limit 1` SQLite makes a join of it, and an OFFSET then counts a document once for each role it names.
        sql: `exists (select 1 from ${readers} where ${readers}.seq = ${documents}.seq and ${readers}.role ${roles} limit 1)`,
        values: [sql.list(visibility)],
      },
    ];
  };
  const pageOf = (collection: Collection, asked: DocumentQuery, { visibility, cursor, count }: ListPage) => ({
    ...{ collection, asked, cursor, count },
    filters: [...visible(collection, visibility), ...asked.conditions.map(condition)],
    document: asked.select === null ? printerOf(collection).document : printerOf(collection).selected(asked.select),
    version: { sql: version, values: [collection.number] },
  });
  const where = (fragments: readonly Fragment[]): Fragment => {
    const all = join(fragments, ' and ');
    return { sql: fragments.length === 0 ? '' : ` where ${all.sql}`, values: all.values };
  };

  return {
    /** Documents by id, printed, with their permissions and the version of the schema. */
    byIds: (collection: Collection, ids: readonly string[]): Query => {
      const doc = printerOf(collection).document;
      const oneOf = dialect === 'sqlite' ? 'id in (select value from json_each(?))' : 'id = any(cast(? as text[]))';
      return texts({
        sql: `select id, permissions, ${doc.sql} as document, cast(${version} as text) as version from ${documentTable(collection.number)} where ${oneOf}`,
        values: [...doc.values, collection.number, sql.list(ids)],
      });
    },
    /** One document with only some attributes. */
    selected: (collection: Collection, id: string, select: readonly string[]): Query => {
      const doc = printerOf(collection).selected(select);
      return texts({
        sql: `select id, permissions, ${doc.sql} as document, cast(${version} as text) as version from ${documentTable(collection.number)} where id = ?`,
        values: [...doc.values, collection.number, id],
      });
    },
    /** What a cursor's document has in the columns of an order; 64-bit numbers as text, since drivers round them. */
    cursor: (collection: Collection, id: string, orders: readonly Order<Field>[], visibility: Visibility): Query => {
      const columns = orderColumns(orders).map(({ column }, at) => {
        const field = orders[at]?.field;
        const whole =
          column === 'seq' ||
          (field !== undefined &&
            columnOf(field) === column &&
            field.kind === 'attribute' &&
            field.attribute.type === 'integer');
        return `${whole ? `cast(${column} as text)` : column} as c${at}`;
      });
      const filter = where([{ sql: 'id = ?', values: [id] }, ...visible(collection, visibility)]);
      return query({
        sql: `select ${columns.join(', ')} from ${documentTable(collection.number)}${filter.sql}`,
        values: filter.values,
      });
    },
    /** A page of a list and its total. */
    list: (collection: Collection, asked: DocumentQuery, page: ListPage): Query =>
      pages.alone(pageOf(collection, asked, page)),
    /** The same for lists that share statements; undefined where the values decide how Postgres should go about it. */
    sharedList: (
      collection: Collection,
      asked: DocumentQuery,
      page: Omit<ListPage, 'cursor'>,
    ): SharedQuery | undefined => {
      if (dialect === 'postgres' && !asked.conditions.every(isEquality)) return undefined;
      const known = sharedLists.get(asked);
      const isUsual = page.visibility === 'everything';
      if (isUsual && known?.count === page.count) return known.query;
      const shared = pages.shared(pageOf(collection, asked, { ...page, cursor: null }));
      if (isUsual) sharedLists.set(asked, { count: page.count, query: shared });
      return shared;
    },
    /** A new document, printed as far as it can be before it has a sequence. */
    fresh: (collection: Collection, document: NewDocument, now: Instant): FreshDocument => ({
      ...document,
      rest: printerOf(collection).rest({ ...document, now }),
    }),
    /** Returns id and sequence of those that were written: none where the schema has changed, and not those of which a unique value is taken. */
    insert: (collection: Collection, documents: readonly FreshDocument[], now: Instant): Query => {
      const { attributes } = collection;
      const { shape, fresh } = printerOf(collection);
      const columns = [
        ...['id', 'permissions', 'printed'].map((name) => ({ name, kind: 'text' as const })),
        ...attributes.map((attribute) => ({ name: attributeColumn(attribute.number), kind: columnKind(attribute) })),
      ];
      const rows = documents.map(({ id, permissions, rest, values }) => [
        ...[id, JSON.stringify(permissions), rest],
        ...attributes.map(({ number }) => bind(values.get(number))),
      ]);
      const table = documentTable(collection.number);
      const given = givenRows(dialect, table, columns, rows);
      const current = isCurrent(collection);
      const names = ['seq', ...columns.map(({ name }) => name)];
      const same = [textPlace, textPlace, textPlace].join(', ');
      const own = names.map((name) => (name === 'printed' ? fresh : name)).join(', ');
      const overriding = dialect === 'postgres' ? ' overriding system value' : '';
      return query({
        sql: `insert into ${table} (created_at, updated_at, shape, ${names.join(', ')})${overriding} select ${same}, ${own} from ${given.sql} where ${current.sql} on conflict do nothing returning id, seq`,
        values: [now, now, shape, ...given.values, ...current.values],
      });
    },
    /** The permissions of a document that is about to change, held until the end of the unit. */
    permissions: (collection: Collection, id: string): Query =>
      query({
        sql: `select permissions, ${version} as version from ${documentTable(collection.number)} where id = ?${dialect === 'postgres' ? ' for update' : ''}`,
        values: [collection.number, id],
      }),
    /** Returns a row when the document was changed: none where the schema has changed or everything is as it was. */
    update: (
      collection: Collection,
      id: string,
      change: {
        readonly permissions: readonly string[] | undefined;
        readonly values: StoredValues;
        readonly now: Instant;
      },
    ): Query => {
      const numbers = [...change.values.keys()];
      const changed = [
        ...(change.permissions === undefined ? [] : [['permissions', textPlace] as const]),
        ...numbers.map((number) => [attributeColumn(number), place(kindOf(collection, number))] as const),
      ];
      const permissions = change.permissions === undefined ? undefined : JSON.stringify(change.permissions);
      const printer = printerOf(collection);
      const printed = printer.changed({
        updatedAt: change.now,
        permissions,
        values: printedValues(collection, change.values),
      });
      const sets = [
        ...[`updated_at = ${textPlace}`, `shape = ${textPlace}`, `printed = ${printed.sql}`],
        ...changed.map(([column, value]) => `${column} = ${value}`),
      ];
      const values = [...(permissions === undefined ? [] : [permissions]), ...[...change.values.values()].map(bind)];
      const differs = changed.map(([column, value]) => `${column} ${unlike} ${value}`).join(' or ') || '1 = 0';
      const current = isCurrent(collection);
      const doc = printer.document;
      return query({
        sql: `update ${documentTable(collection.number)} set ${sets.join(', ')} where id = ? and ${current.sql} and (${differs}) returning ${doc.sql} as document`,
        values: [
          ...[change.now, printer.shape, ...printed.values, ...values, id],
          ...[...current.values, ...values, ...doc.values],
        ],
      });
    },
    remove: (collection: Collection, id: string): Query => {
      const current = isCurrent(collection);
      const doc = printerOf(collection).document;
      return query({
        sql: `delete from ${documentTable(collection.number)} where id = ? and ${current.sql} returning ${doc.sql} as document`,
        values: [id, ...current.values, ...doc.values],
      });
    },
    /** Whether an id is taken, for the words of a conflict. */
    exists: (collection: Collection, id: string): Query =>
      query({ sql: `select 1 as one from ${documentTable(collection.number)} where id = ?`, values: [id] }),
    version: (collection: Collection): Query =>
      query({ sql: `select ${version} as version`, values: [collection.number] }),
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
    const typed = columns.map(({ name, kind }) => ({ name, type: castType(kind) }));
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

function printedValues({ attributes }: Collection, values: StoredValues): ReadonlyMap<number, string> {
  const changed = attributes.filter(({ number }) => values.has(number));
  return new Map(changed.map((attribute) => [attribute.number, printValue(attribute, values.get(attribute.number))]));
}

/** SQL over the documents of collections. */
export type DocumentStore = ReturnType<typeof createDocumentStore>;
