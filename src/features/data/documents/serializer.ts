import { createHash } from 'node:crypto';
import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import type { DialectName, Value } from '#src/platform/db/query.js';
import { bind, type Fragment } from '#src/platform/list-query/index.js';
import { type Attribute, type Collection, columnKind } from '../databases/index.js';
import type { StoredDocument } from './document.js';

/** Postgres gives a function at most 100 arguments. Keys have no `%`, so they can stand in a format. */
const maxArguments = 90;

/**
 * Prints the documents of a collection as the wire shows them. Each row holds its attributes printed, so that a read
 * takes nothing apart; whole numbers of 64 bits stay exact. A row that was printed for other attributes has another
 * `schemaHash`, and the database prints it when it is read. Keys are bound values there, never part of the SQL.
 */
interface DocumentSerializer {
  /** Stands for the attributes: their columns, names and kinds, in order. */
  readonly schemaHash: string;
  /** The attributes as `StoredDocument.data`, from the row: all of them, or only some. */
  data(keys: readonly string[] | null): Fragment;
  /** The document as the wire shows it, with all of its attributes or only some. */
  document(keys: readonly string[] | null): Fragment;
  /**
   * How many bytes such a document has, or at least has: known without reading long values, as their lengths stand beside them. A row that was
   * printed for other attributes is printed anew, and what that adds is not known before.
   */
  bytes(keys: readonly string[] | null): Fragment;
  /** What a row keeps printed after a change: attributes by number in printed form or computed from the row, the others as they are. */
  changed(values: ReadonlyMap<number, string | Fragment>): Fragment;
  /** The attributes of a new document as `StoredDocument.data`. */
  print(values: ReadonlyMap<number, unknown>): string;
}

/** A document as the wire shows it, in pieces. The database prints the same text. */
export function printDocument(document: StoredDocument): readonly string[] {
  const system = printSystem(document, JSON.stringify(document.permissions));
  return document.data === '' ? [system, '}'] : [`${system},`, document.data, '}'];
}

/** The begin of a printed document: the members that every document has. Ids and instants hold nothing that JSON escapes. */
function printSystem(document: Omit<StoredDocument, 'permissions' | 'data'>, permissions: string): string {
  const { id, sequence, createdAt, updatedAt } = document;
  return `{"$id":"${id}","$sequence":"${sequence}"${printIds(document)}"${createdAt}","$updatedAt":"${updatedAt}","$permissions":${permissions}`;
}

const printIds = ({ collectionId, databaseId }: Pick<StoredDocument, 'collectionId' | 'databaseId'>) =>
  `,"$collectionId":"${collectionId}","$databaseId":"${databaseId}","$createdAt":`;

/** The version of the form in which rows hold their documents; rows of another version are printed when they are read. */
const formatVersion = 3;

/** The serializers of collections, each made once. */
export function createSerializers(dialect: DialectName): (collection: Collection) => DocumentSerializer {
  const serializers = new WeakMap<Collection, DocumentSerializer>();
  return (collection) => {
    const serializer = serializers.get(collection) ?? createSerializer(collection, dialect);
    serializers.set(collection, serializer);
    return serializer;
  };
}

/** The serializers of collections. */
export type Serializers = ReturnType<typeof createSerializers>;

function createSerializer(collection: Collection, dialect: DialectName): DocumentSerializer {
  const { attributes, id: collectionId, databaseId } = collection;
  const ids = printIds({ collectionId, databaseId });
  const placeholder = dialect === 'sqlite' ? '?' : 'cast(? as text)';
  const schemaHash = schemaHashOf(collection);
  const printAnew = (printed: readonly Attribute[], changed?: ReadonlyMap<number, string | Fragment>): Fragment => {
    const values: Value[] = [];
    const sql: string[] = [];
    for (let from = 0; from < printed.length; from += maxArguments) {
      const some = printed.slice(from, from + maxArguments);
      values.push(some.map(({ key }, at) => `${from + at === 0 ? '' : ','}${JSON.stringify(key)}:%s`).join(''));
      const columns = some.map((attribute) => {
        const value = changed?.get(attribute.number);
        if (value === undefined) return printedColumn(attribute, dialect, attributeColumn(attribute.number));
        if (typeof value === 'string') {
          values.push(value);
          return placeholder;
        }
        const { sql: computed, timesUsed } = printedExpression(attribute, dialect, value.sql);
        for (let use = 0; use < timesUsed; use++) values.push(...value.values);
        return computed;
      });
      sql.push(`format(${placeholder}, ${columns.join(', ')})`);
    }
    return { sql: sql.length === 0 ? "''" : sql.join(' || '), values };
  };
  const all = printAnew(attributes);
  const attributesOf = (keys: readonly string[]) => attributes.filter(({ key }) => keys.includes(key));
  const data = (keys: readonly string[] | null): Fragment =>
    keys === null
      ? {
          sql: `case when shape = ${placeholder} then printed else ${all.sql} end`,
          values: [schemaHash, ...all.values],
        }
      : printAnew(attributesOf(keys));
  // Each `||` of SQLite is a copy, and concat() of Postgres looks up types.
  const together = (parts: readonly string[]) =>
    dialect === 'sqlite' ? `concat(${parts.join(', ')})` : `(${parts.join(' || ')})`;
  const labels = attributes.map(({ key }, at) => `${at === 0 ? '' : ','}${JSON.stringify(key)}:`);
  return {
    schemaHash,
    data,
    document: (keys) => {
      const { sql, values } = data(keys);
      const hasAttributes = (keys ?? attributes).length > 0;
      const system = [`'{"$id":"'`, 'id', `'","$sequence":"'`, 'seq', `'"'`, placeholder];
      const times = [`'"'`, 'created_at', `'","$updatedAt":"'`, 'updated_at', `'","$permissions":'`, 'permissions'];
      const rest = hasAttributes ? ["','", `(${sql})`, "'}'"] : ["'}'"];
      return { sql: together([...system, ...times, ...rest]), values: [ids, ...(hasAttributes ? values : [])] };
    },
    bytes: (keys) => {
      const columns = columnBytes(keys === null ? attributes : attributesOf(keys));
      const own = ['octet_length(permissions)', 'octet_length(id)', 'length(cast(seq as text))'].join(' + ');
      const names = printSystem({ ...none, collectionId, databaseId }, '').length + 2 * instantLength + ',}'.length;
      if (keys !== null) return { sql: `${names} + ${own} + ${columns}`, values: [] };
      return {
        sql: `${names} + ${own} + case when shape = ${placeholder} then octet_length(printed) else ${columns} end`,
        values: [schemaHash],
      };
    },
    changed: (values) => printAnew(attributes, values),
    print: (values) => {
      let text = '';
      for (const [at, attribute] of attributes.entries())
        text += labels[at] + printValue(attribute, values.get(attribute.number));
      return text;
    },
  };
}

const none = { id: '', sequence: '', createdAt: '', updatedAt: '' };
/** Every time of a document is printed in this many characters. */
const instantLength = '2026-01-01T00:00:00.000+00:00'.length;

/** The bytes of values that can be long, as SQL; the others are a few bytes each. */
function columnBytes(attributes: readonly Attribute[]): string {
  const long = attributes.filter((attribute) => ['text', 'list'].includes(columnKind(attribute)));
  return ['0', ...long.map(({ number }) => `coalesce(octet_length(${attributeColumn(number)}), 0)`)].join(' + ');
}

/** A stored value as JSON. */
export function printValue(attribute: Attribute, value: unknown): string {
  if (value === null || value === undefined) return 'null';
  const kind = columnKind(attribute);
  if (kind === 'text') return JSON.stringify(value);
  return kind === 'boolean' ? String(value) : String(bind(value));
}

function schemaHashOf({ attributes }: Collection): string {
  const columns = attributes.map((attribute) => [attribute.number, attribute.key, columnKind(attribute)]);
  return createHash('sha256')
    .update(JSON.stringify([formatVersion, ...columns]))
    .digest('base64url')
    .slice(0, 16);
}

/** A value that is computed, printed; its own values are bound as often as it stands in the text. */
function printedExpression(attribute: Attribute, dialect: DialectName, expression: string) {
  const sql = printedColumn(attribute, dialect, mark);
  return { sql: sql.replaceAll(mark, () => `(${expression})`), timesUsed: sql.split(mark).length - 1 };
}

/** Stands for an expression in a text. */
const mark = '<value>';

function printedColumn(attribute: Attribute, dialect: DialectName, column: string): string {
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
