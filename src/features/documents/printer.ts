import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import type { DialectName, Value } from '#src/platform/db/query.js';
import { type Attribute, type Collection, columnKind } from '../databases/index.js';
import type { Fragment } from './query/compile.js';

/** Postgres gives a function at most 100 arguments. Keys have no `%`, so they can stand in a format. */
const mostArguments = 90;

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
  const place = dialect === 'sqlite' ? '?' : 'cast(? as text)';
  const ids = `"$collectionId":${JSON.stringify(collection.id)},"$databaseId":${JSON.stringify(collection.databaseId)}`;
  const head = `{"$id":%s,"$sequence":"%s",${ids},"$createdAt":"%s","$updatedAt":"%s","$permissions":%s`;
  const sql = [`format(${place}, ${quoted('id', dialect)}, seq, created_at, updated_at, permissions)`];
  const values: Value[] = [head];
  for (let from = 0; from < attributes.length; from += mostArguments) {
    const some = attributes.slice(from, from + mostArguments);
    sql.push(`format(${place}, ${some.map((attribute) => printed(attribute, dialect)).join(', ')})`);
    values.push(some.map(({ key }) => `,${JSON.stringify(key)}:%s`).join(''));
  }
  return { sql: `${sql.join(' || ')} || '}'`, values };
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
