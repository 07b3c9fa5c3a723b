import { createHash } from 'node:crypto';
import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import type { DialectName, Value } from '#src/platform/db/query.js';
import { bind, type Fragment } from '../../../platform/list-query/index.js';
import { type Attribute, type Collection, columnKind } from '../databases/index.js';
import type { StoredDocument } from './document.js';

/** Postgres gives a function at most 100 arguments. Keys have no `%`, so they can stand in a format. */
const maxArguments = 90;

/** What a change sets, in printed form: attributes by number, and what every document has. */
interface PrintedChange {
  readonly values: ReadonlyMap<number, string>;
  readonly updatedAt: string;
  readonly permissions: string | undefined;
}

/**
 * Prints the documents of a collection as the wire shows them. Each row holds its document printed, so that a read
 * takes nothing apart and puts nothing together; whole numbers of 64 bits stay exact. A row that was printed for other attributes has another
 * `schemaHash`, and the database prints it when it is read. Keys are bound values there, never part of the SQL.
 */
interface DocumentSerializer {
  /** Stands for the attributes: their columns, names and kinds, in order. */
  readonly schemaHash: string;
  /** The whole document, from its row. */
  readonly document: Fragment;
  /** The document with only some attributes. */
  selected(keys: readonly string[]): Fragment;
  /**
   * How many bytes such a document has, or at least has: known without reading long values, as their lengths stand beside them. A row that was
   * printed for other attributes is printed anew, and what that adds is not known before.
   */
  bytes(keys: readonly string[] | null): Fragment;
  /** What a row keeps printed after a change. */
  changed(change: PrintedChange): Fragment;
  /** The same for a new row, of its `id`, its `seq` and of what stands in `printed`: the document from its third member on. */
  readonly inserted: string;
  /** The attributes of a new document as `StoredDocument.data`. */
  data(values: ReadonlyMap<number, unknown>): string;
}

/** A document as the wire shows it, in pieces. The database prints the same text. */
export function printDocument(document: StoredDocument): readonly string[] {
  const system = printSystem(document, JSON.stringify(document.permissions));
  return document.data === '' ? [system, '}'] : [`${system},`, document.data, '}'];
}

/** The begin of a printed document: the members that every document has. Ids and instants hold nothing that JSON escapes. */
export function printSystem(document: Omit<StoredDocument, 'permissions' | 'data'>, permissions: string): string {
  return `{"$id":"${document.id}","$sequence":"${document.sequence}"${printRest(document, permissions)}`;
}

/** The same from the third member on, of which the first two are known only when the row is written. */
export function printRest(
  { databaseId, collectionId, createdAt, updatedAt }: Omit<StoredDocument, 'id' | 'sequence' | 'permissions' | 'data'>,
  permissions: string,
): string {
  return `${printIds(collectionId, databaseId)},"$createdAt":"${createdAt}","$updatedAt":"${updatedAt}","$permissions":${permissions}`;
}

const printIds = (collectionId: string, databaseId: string) =>
  `,"$collectionId":"${collectionId}","$databaseId":"${databaseId}"`;

/** The version of the form in which rows hold their documents; rows of another version are printed when they are read. */
const formatVersion = 2;

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
  const { attributes } = collection;
  const ids = printIds(collection.id, collection.databaseId);
  const placeholder = dialect === 'sqlite' ? '?' : 'cast(? as text)';
  const schemaHash = schemaHashOf(collection);
  const restOf = (printed: readonly Attribute[], change?: PrintedChange): Fragment => {
    const head = systemPart(ids, placeholder, change);
    const values: Value[] = [...head.values];
    const sql = [head.sql];
    for (let from = 0; from < printed.length; from += maxArguments) {
      const some = printed.slice(from, from + maxArguments);
      values.push(some.map(({ key }) => `,${JSON.stringify(key)}:%s`).join(''));
      const columns = some.map((attribute) => {
        const text = change?.values.get(attribute.number);
        if (text === undefined) return printedColumn(attribute, dialect);
        values.push(text);
        return placeholder;
      });
      sql.push(`format(${placeholder}, ${columns.join(', ')})`);
    }
    return { sql: `${sql.join(' || ')} || '}'`, values };
  };
  // Each `||` of SQLite is a copy, and concat() of Postgres looks up types.
  const whole = (rest: string) =>
    dialect === 'sqlite'
      ? `concat('{"$id":"', id, '","$sequence":"', seq, '"', ${rest})`
      : `'{"$id":"' || id || '","$sequence":"' || seq || '"' || ${rest}`;
  const fallback = restOf(attributes);
  const labels = attributes.map(({ key }, at) => `${at === 0 ? '' : ','}${JSON.stringify(key)}:`);
  return {
    schemaHash,
    document: {
      sql: `case when shape = ${placeholder} then printed else ${whole(fallback.sql)} end`,
      values: [schemaHash, ...fallback.values],
    },
    selected: (keys) => {
      const { sql, values } = restOf(attributes.filter(({ key }) => keys.includes(key)));
      return { sql: whole(sql), values };
    },
    bytes: (keys) => {
      if (keys !== null) return columnBytes(attributes.filter(({ key }) => keys.includes(key)));
      const columns = columnBytes(attributes);
      return {
        sql: `case when shape = ${placeholder} then octet_length(printed) else ${columns.sql} end`,
        values: [schemaHash, ...columns.values],
      };
    },
    changed: (change) => {
      const { sql, values } = restOf(attributes, change);
      return { sql: whole(sql), values };
    },
    inserted: whole('printed'),
    data: (values) => {
      let text = '';
      for (const [at, attribute] of attributes.entries())
        text += labels[at] + printValue(attribute, values.get(attribute.number));
      return text;
    },
  };
}

/** Values that can be long; the others are a few bytes each. */
function columnBytes(attributes: readonly Attribute[]): Fragment {
  const long = attributes.filter((attribute) => ['text', 'list'].includes(columnKind(attribute)));
  const lengths = long.map(({ number }) => `coalesce(octet_length(${attributeColumn(number)}), 0)`);
  return { sql: ['octet_length(permissions)', ...lengths].join(' + '), values: [] };
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

function systemPart(ids: string, placeholder: string, change: PrintedChange | undefined): Fragment {
  const updatedAt = change === undefined ? 'updated_at' : placeholder;
  const permissions = change?.permissions === undefined ? 'permissions' : placeholder;
  return {
    sql: `format(${placeholder}, created_at, ${updatedAt}, ${permissions})`,
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
