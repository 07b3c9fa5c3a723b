import { createHash } from 'node:crypto';
import type { Instant } from '#src/contract/shapes.js';
import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import type { DialectName, Value } from '#src/platform/db/query.js';
import { type Attribute, type Collection, columnKind } from '../databases/index.js';
import { bind, type Fragment } from '../lists/index.js';

/** Postgres gives a function at most 100 arguments. Keys have no `%`, so they can stand in a format. */
const mostArguments = 90;

/** What a change sets, in printed form: attributes by number, and what every document has. */
export interface PrintedChange {
  readonly values: ReadonlyMap<number, string>;
  readonly updatedAt: Instant;
  readonly permissions: string | undefined;
}

/**
 * Prints the documents of a collection as the wire shows them. Each row holds its document printed, so that reading
 * takes nothing apart and puts nothing together; whole numbers of 64 bits stay exact. A row that was printed for other attributes, as
 * its `shape` tells, is printed by the database when it is read. Keys are bound values there, never part of the SQL.
 */
export interface DocumentPrinter {
  /** Stands for the attributes: their columns, names and kinds, in order. */
  readonly shape: string;
  /** The whole document, from its row. */
  readonly document: Fragment;
  /** The document with only some attributes. */
  selected(keys: readonly string[]): Fragment;
  /** What a row keeps printed after a change. */
  changed(change: PrintedChange): Fragment;
  /** The same for a new row, of its `id`, its `seq` and of what `rest` printed. */
  readonly fresh: string;
  /** A new document without its id and its sequence. */
  rest(created: {
    readonly now: Instant;
    readonly permissions: readonly string[];
    readonly values: ReadonlyMap<number, unknown>;
  }): string;
}

/** A new document as its row keeps it, of its id, its sequence and the rest. */
export function wholeDocument(id: string, seq: string, rest: string): string {
  // Ids are of letters, digits, dots, dashes and underscores.
  return `{"$id":"${id}","$sequence":"${seq}"${rest}`;
}

/** Names the way in which rows hold their documents; rows of another way are printed when they are read. */
const way = 2;

/** Makes the printer of a collection for a database. */
export function createPrinter(collection: Collection, dialect: DialectName): DocumentPrinter {
  const { attributes } = collection;
  const ids = `,"$collectionId":${JSON.stringify(collection.id)},"$databaseId":${JSON.stringify(collection.databaseId)}`;
  const place = dialect === 'sqlite' ? '?' : 'cast(? as text)';
  const shape = shapeOf(collection);
  const restOf = (printed: readonly Attribute[], change?: PrintedChange): Fragment => {
    const head = systemPart(ids, place, change);
    const values: Value[] = [...head.values];
    const sql = [head.sql];
    for (let from = 0; from < printed.length; from += mostArguments) {
      const some = printed.slice(from, from + mostArguments);
      values.push(some.map(({ key }) => `,${JSON.stringify(key)}:%s`).join(''));
      const columns = some.map((attribute) => {
        const text = change?.values.get(attribute.number);
        if (text === undefined) return printedColumn(attribute, dialect);
        values.push(text);
        return place;
      });
      sql.push(`format(${place}, ${columns.join(', ')})`);
    }
    return { sql: `${sql.join(' || ')} || '}'`, values };
  };
  // Each `||` of SQLite is a copy, and concat() of Postgres looks up types.
  const whole = (rest: string) =>
    dialect === 'sqlite'
      ? `concat('{"$id":"', id, '","$sequence":"', seq, '"', ${rest})`
      : `'{"$id":"' || id || '","$sequence":"' || seq || '"' || ${rest}`;
  const fallback = restOf(attributes);
  const members = attributes.map((attribute) => ({ attribute, begin: `,${JSON.stringify(attribute.key)}:` }));
  return {
    shape,
    document: {
      sql: `case when shape = ${place} then printed else ${whole(fallback.sql)} end`,
      values: [shape, ...fallback.values],
    },
    selected: (keys) => {
      const { sql, values } = restOf(attributes.filter(({ key }) => keys.includes(key)));
      return { sql: whole(sql), values };
    },
    changed: (change) => {
      const { sql, values } = restOf(attributes, change);
      return { sql: whole(sql), values };
    },
    fresh: whole('printed'),
    rest: ({ now, permissions, values }) => {
      const system = `${ids},"$createdAt":"${now}","$updatedAt":"${now}","$permissions":${JSON.stringify(permissions)}`;
      let printed = system;
      for (const { begin, attribute } of members)
        printed += begin + printValue(attribute, values.get(attribute.number));
      return `${printed}}`;
    },
  };
}

/** A stored value as JSON. */
export function printValue(attribute: Attribute, value: unknown): string {
  if (value === null || value === undefined) return 'null';
  const kind = columnKind(attribute);
  if (kind === 'text') return JSON.stringify(value);
  return kind === 'boolean' ? String(value) : String(bind(value));
}

function shapeOf({ attributes }: Collection): string {
  const columns = attributes.map((attribute) => [attribute.number, attribute.key, columnKind(attribute)]);
  return createHash('sha256')
    .update(JSON.stringify([way, ...columns]))
    .digest('base64url')
    .slice(0, 16);
}

function systemPart(ids: string, place: string, change: PrintedChange | undefined): Fragment {
  const updatedAt = change === undefined ? 'updated_at' : place;
  const permissions = change?.permissions === undefined ? 'permissions' : place;
  return {
    sql: `format(${place}, created_at, ${updatedAt}, ${permissions})`,
    values: [
      `${ids},"$createdAt":"%s","$updatedAt":"%s","$permissions":%s`,
      ...(change === undefined ? [] : [change.updatedAt]),
      ...(change?.permissions === undefined ? [] : [change.permissions]),
    ],
  };
}

function printedColumn(attribute: Attribute, dialect: DialectName): string {
  const column = attributeColumn(attribute.number);
  const text = (expression: string) => `coalesce(${expression}, 'null')`;
  switch (columnKind(attribute)) {
    case 'text':
      // json_quote prints null as null, to_json does not.
      return dialect === 'sqlite' ? `json_quote(${column})` : text(`to_json(${column})::text`);
    case 'boolean':
      return dialect === 'sqlite'
        ? `case ${column} when 1 then 'true' when 0 then 'false' else 'null' end`
        : text(`${column}::text`);
    case 'double':
      return dialect === 'sqlite' ? `iif(${column} is null, 'null', ${shortest(column)})` : text(`${column}::text`);
    default:
      return text(dialect === 'sqlite' ? column : `${column}::text`);
  }
}

/** SQLite prints a double with 15 digits, which may be another double; only then all 17 are taken. */
function shortest(column: string): string {
  const text = `cast(${column} as text)`;
  return `iif(cast(${text} as real) = ${column}, ${text}, format('%!.17g', ${column} + 0.0))`;
}
