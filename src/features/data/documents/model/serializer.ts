import { createHash } from 'node:crypto';
import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import type { DialectWords } from '#src/platform/db/dialect-words.js';
import type { Value } from '#src/platform/db/query.js';
import { boundValue, type Fragment } from '#src/platform/list-query/index.js';
import { type Attribute, type Collection, columnKind } from '../../databases/index.js';
import type { StoredDocument } from './document.js';

/** Most arguments per call; Postgres allows 100. Keys contain no `%`, so they can be part of a format. */
const maxArguments = 90;

/**
 * Prints the documents of a collection in wire format. Each row stores its attributes in printed form, so reads need not print them again
 * and 64-bit integers stay exact. A row printed for other attributes has another `schemaHash`; the database reprints it when it is read.
 * Keys are bound values, never part of the SQL.
 */
interface DocumentSerializer {
  /** Identifies the attributes: their columns, names and kinds, in order. */
  readonly schemaHash: string;
  /** The attributes as `StoredDocument.data`, from the row: all of them, or only some. */
  data(keys: readonly string[] | null): Fragment;
  /** The document in wire format, with all of its attributes or only some. */
  document(keys: readonly string[] | null): Fragment;
  /**
   * Lower bound of the bytes of such a document. It does not read long values, because the database stores their lengths separately. The
   * growth of a reprinted row is not known in advance.
   */
  bytes(keys: readonly string[] | null): Fragment;
  /**
   * Printed form that a row stores after a change. `values` contains the changed attributes by number, as printed text or as an expression
   * over the row. Others are printed from the row.
   */
  changed(values: ReadonlyMap<number, string | Fragment>): Fragment;
  /** The attributes of a new document as `StoredDocument.data`. */
  print(values: ReadonlyMap<number, unknown>): string;
}

/** Prints a document in wire format, in pieces. The database prints the same text. */
export function printDocument(document: StoredDocument): readonly string[] {
  const system = printSystem(document, JSON.stringify(document.permissions));
  return document.data === '' ? [system, '}'] : [`${system},`, document.data, '}'];
}

/** Prints the start of a document: the members of every document. Ids and instants need no JSON escapes. */
function printSystem(document: Omit<StoredDocument, 'permissions' | 'data'>, permissions: string): string {
  const { id, sequence, createdAt, updatedAt } = document;
  return `{"$id":"${id}","$sequence":"${sequence}"${printIds(document)}"${createdAt}","$updatedAt":"${updatedAt}","$permissions":${permissions}`;
}

const printIds = ({ collectionId, databaseId }: Pick<StoredDocument, 'collectionId' | 'databaseId'>) =>
  `,"$collectionId":"${collectionId}","$databaseId":"${databaseId}","$createdAt":`;

/** Version of the printed format. Rows of another version are reprinted when they are read. */
const formatVersion = 3;

/** Creates the serializers of collections and caches them. */
export function createSerializers(words: DialectWords): Serializers {
  const serializers = new WeakMap<Collection, DocumentSerializer>();
  return (collection) => {
    const serializer = serializers.get(collection) ?? createSerializer(collection, words);
    serializers.set(collection, serializer);
    return serializer;
  };
}

/** The serializers of collections. */
export type Serializers = (collection: Collection) => DocumentSerializer;

function createSerializer(collection: Collection, words: DialectWords): DocumentSerializer {
  const { attributes, id: collectionId, databaseId } = collection;
  const ids = printIds({ collectionId, databaseId });
  const placeholder = words.typed('text');
  const schemaHash = schemaHashOf(collection);
  const all = printAnew(words, attributes);
  const attributesOf = (keys: readonly string[]) => attributes.filter(({ key }) => keys.includes(key));
  const data = (keys: readonly string[] | null): Fragment =>
    keys === null
      ? {
          sql: `case when shape = ${placeholder} then printed else ${all.sql} end`,
          values: [schemaHash, ...all.values],
        }
      : printAnew(words, attributesOf(keys));
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
      return { sql: words.concat([...system, ...times, ...rest]), values: [ids, ...(hasAttributes ? values : [])] };
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
    changed: (values) => printAnew(words, attributes, values),
    print: (values) => {
      let text = '';
      for (const [at, attribute] of attributes.entries())
        text += labels[at] + printValue(attribute, values.get(attribute.number));
      return text;
    },
  };
}

/** Prints the attributes from the columns of a row, and changed ones from their values. */
function printAnew(
  words: DialectWords,
  printed: readonly Attribute[],
  changed?: ReadonlyMap<number, string | Fragment>,
): Fragment {
  const placeholder = words.typed('text');
  const values: Value[] = [];
  const sql: string[] = [];
  for (let from = 0; from < printed.length; from += maxArguments) {
    const some = printed.slice(from, from + maxArguments);
    values.push(some.map(({ key }, at) => `${from + at === 0 ? '' : ','}${JSON.stringify(key)}:%s`).join(''));
    const columns = some.map((attribute) => {
      const value = changed?.get(attribute.number);
      if (value === undefined) return words.printed(columnKind(attribute), attributeColumn(attribute.number));
      if (typeof value === 'string') {
        values.push(value);
        return placeholder;
      }
      const { sql: computed, timesUsed } = printedExpression(attribute, words, value.sql);
      for (let use = 0; use < timesUsed; use++) values.push(...value.values);
      return computed;
    });
    sql.push(`format(${placeholder}, ${columns.join(', ')})`);
  }
  return { sql: sql.length === 0 ? "''" : sql.join(' || '), values };
}

const none = { id: '', sequence: '', createdAt: '', updatedAt: '' };
/** Length of every printed time. */
const instantLength = '2026-01-01T00:00:00.000+00:00'.length;

/** SQL for the total bytes of values that can be long. Others take a few bytes each and are not counted. */
function columnBytes(attributes: readonly Attribute[]): string {
  const long = attributes.filter((attribute) => ['text', 'list'].includes(columnKind(attribute)));
  return ['0', ...long.map(({ number }) => `coalesce(octet_length(${attributeColumn(number)}), 0)`)].join(' + ');
}

/** Prints a stored value as JSON. */
export function printValue(attribute: Attribute, value: unknown): string {
  if (value === null || value === undefined) return 'null';
  const kind = columnKind(attribute);
  if (kind === 'text') return JSON.stringify(value);
  return kind === 'boolean' ? String(value) : String(boundValue(value));
}

function schemaHashOf({ attributes }: Collection): string {
  const columns = attributes.map((attribute) => [attribute.number, attribute.key, columnKind(attribute)]);
  return createHash('sha256')
    .update(JSON.stringify([formatVersion, ...columns]))
    .digest('base64url')
    .slice(0, 16);
}

/** Prints a computed value. Its bound values are needed once per use in the text. */
function printedExpression(attribute: Attribute, words: DialectWords, expression: string) {
  const sql = words.printed(columnKind(attribute), mark);
  return { sql: sql.replaceAll(mark, () => `(${expression})`), timesUsed: sql.split(mark).length - 1 };
}

/** Placeholder for an expression in a text. */
const mark = '<value>';
