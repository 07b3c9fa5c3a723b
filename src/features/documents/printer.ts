import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import type { DialectName, Value } from '#src/platform/db/query.js';
import { type Attribute, type Collection, columnKind } from '../databases/index.js';
import type { Fragment } from './query/compile.js';

/**
 * An SQL expression that prints a document as the wire shows it, so that rows are never taken apart and put together again in JavaScript
 * and whole numbers of 64 bits stay exact. Names given by callers are bound values, never part of the SQL.
 */
export function documentPrinter(
  collection: Collection,
  select: readonly string[] | null,
  dialect: DialectName,
): Fragment {
  const attributes = collection.attributes.filter(({ key }) => select === null || select.includes(key));
  const sql: string[] = [`'{"$id":' || ${quoted('id', dialect)}`, `',"$sequence":"' || seq`];
  const values: Value[] = [];
  const bound = (text: string) => {
    sql.push('?');
    values.push(text);
  };
  bound(
    `","$collectionId":${JSON.stringify(collection.id)},"$databaseId":${JSON.stringify(collection.databaseId)},"$createdAt":"`,
  );
  sql.push('created_at', `'","$updatedAt":"' || updated_at`, `'","$permissions":' || permissions`);
  for (const attribute of attributes) {
    bound(`,${JSON.stringify(attribute.key)}:`);
    sql.push(printed(attribute, dialect));
  }
  sql.push(`'}'`);
  return { sql: balanced(sql), values };
}

function quoted(column: string, dialect: DialectName): string {
  return dialect === 'sqlite' ? `json_quote(${column})` : `to_json(${column})::text`;
}

function printed(attribute: Attribute, dialect: DialectName): string {
  const column = attributeColumn(attribute.number);
  const text = (expression: string) => `coalesce(${expression}, 'null')`;
  switch (columnKind(attribute)) {
    case 'text':
      // json_quote prints null as null, to_json does not.
      return dialect === 'sqlite' ? quoted(column, dialect) : text(quoted(column, dialect));
    case 'boolean':
      return dialect === 'sqlite'
        ? `case ${column} when 1 then 'true' when 0 then 'false' else 'null' end`
        : text(`${column}::text`);
    case 'double':
      return text(dialect === 'sqlite' ? shortest(column) : `${column}::text`);
    default:
      return text(dialect === 'sqlite' ? `cast(${column} as text)` : `${column}::text`);
  }
}

/** SQLite prints a double with 15 digits, which may be another double; the shortest of 15, 16 and 17 digits that is the same one is taken. */
function shortest(column: string): string {
  const digits = (count: number) => `format('%!.${count}g', ${column})`;
  const exact = (count: number) => `when cast(${digits(count)} as real) = ${column} then ${digits(count)}`;
  return `case when ${column} is null then null ${exact(15)} ${exact(16)} else ${digits(17)} end`;
}

/** Concatenates as a balanced tree: both databases bound how deep an expression may nest. */
function balanced(parts: readonly string[]): string {
  if (parts.length <= 2) return parts.join(' || ');
  const middle = parts.length >> 1;
  return `(${balanced(parts.slice(0, middle))}) || (${balanced(parts.slice(middle))})`;
}
