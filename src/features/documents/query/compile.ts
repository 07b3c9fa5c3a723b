import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import type { DialectName, Value } from '#src/platform/db/query.js';
import { printJson } from '#src/platform/json.js';
import type { Attribute } from '../../databases/index.js';
import type { Comparison, Condition, Field, Order, SystemField, TextMatch } from './parse.js';

/** A piece of SQL with `?` for its values. */
export interface Fragment {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** Joins pieces with a word between them. */
export function join(fragments: readonly Fragment[], word: string): Fragment {
  return { sql: fragments.map(({ sql }) => sql).join(word), values: fragments.flatMap(({ values }) => values) };
}

const systemColumns: Record<SystemField, string> = {
  $id: 'id',
  $sequence: 'seq',
  $createdAt: 'created_at',
  $updatedAt: 'updated_at',
};

/** The column of a field. */
export function columnOf(field: Field): string {
  return field.kind === 'system' ? systemColumns[field.name] : attributeColumn(field.attribute.number);
}

/** The form in which a stored value is bound: truth values as 1 and 0, lists as JSON, numbers of 64 bits as text. */
export function bind(value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'object') return printJson(value);
  return value as string | number;
}

const operators: Record<Comparison, string> = {
  equal: '=',
  notEqual: '<>',
  lessThan: '<',
  lessThanEqual: '<=',
  greaterThan: '>',
  greaterThanEqual: '>=',
};

/** Turns conditions into SQL for a database. */
export function createCompiler(dialect: DialectName) {
  // LIKE of SQLite and ILIKE of a column in collation C both ignore the case of ASCII letters and of nothing else.
  const like = dialect === 'sqlite' ? 'like' : 'ilike';
  const condition = (given: Condition): Fragment => {
    switch (given.kind) {
      case 'all':
      case 'any': {
        const { sql, values } = join(given.conditions.map(condition), given.kind === 'all' ? ' and ' : ' or ');
        return { sql: `(${sql})`, values };
      }
      case 'null':
        return { sql: `${columnOf(given.field)} is ${given.isNull ? '' : 'not '}null`, values: [] };
      case 'between':
        return { sql: `${columnOf(given.field)} between ? and ?`, values: [bind(given.low), bind(given.high)] };
      case 'compare': {
        const values = given.values.map(bind);
        const right = values.length === 1 ? `${operators[given.method]} ?` : `in (${values.map(() => '?').join(', ')})`;
        return { sql: `${columnOf(given.field)} ${right}`, values };
      }
      case 'match': {
        const column = columnOf(given.field);
        const sql = given.values.map(() => `${column} ${like} ? escape '!'`).join(' or ');
        return { sql: `(${sql})`, values: given.values.map((value) => pattern(given.method, value)) };
      }
      default:
        return element(given.attribute, given.values.map(bind));
    }
  };
  const element = (attribute: Attribute, values: readonly Value[]): Fragment => {
    const column = attributeColumn(attribute.number);
    // Without `limit 1` SQLite 3.51 and later turn EXISTS into a join, and an OFFSET then counts a row once for each element it matches.
    if (dialect === 'sqlite') {
      const place = attribute.type === 'integer' ? 'cast(? as integer)' : '?';
      const list = values.map(() => place).join(', ');
      return {
        sql: `exists (select 1 from json_each(${column}) as element where element.value in (${list}) limit 1)`,
        values,
      };
    }
    const type =
      attribute.type === 'integer'
        ? 'bigint'
        : attribute.type === 'double'
          ? 'double precision'
          : attribute.type === 'boolean'
            ? 'boolean'
            : 'text';
    const list = values.map(() => `cast(? as ${type})`).join(', ');
    return {
      sql: `exists (select 1 from json_array_elements_text(${column}::json) as element (value) where cast(element.value as ${type}) in (${list}))`,
      values,
    };
  };
  return { condition };
}

function pattern(method: TextMatch, value: string): string {
  const escaped = value.replace(/[!%_]/g, '!$&');
  return `${method === 'startsWith' ? '' : '%'}${escaped}${method === 'endsWith' ? '' : '%'}`;
}

/** The columns of an order with the tie-break, which follows the direction of a leading time. */
export function orderColumns(orders: readonly Order[]): { readonly column: string; readonly descending: boolean }[] {
  const [first] = orders;
  const leadsWithTime = first?.field.kind === 'system' && ['$createdAt', '$updatedAt'].includes(first.field.name);
  const columns = orders.map(({ field, descending }) => ({ column: columnOf(field), descending }));
  if (columns.some(({ column }) => column === 'seq')) return columns;
  return [...columns, { column: 'seq', descending: leadsWithTime ? first.descending : false }];
}

const withoutNulls: readonly string[] = Object.values(systemColumns);

/** ORDER BY, nulls first ascending and last descending on both databases; Postgres has to be told, where there can be any. */
export function orderBy(
  columns: readonly { readonly column: string; readonly descending: boolean }[],
  dialect: DialectName,
  reversed: boolean,
): string {
  const words = (column: string, descending: boolean) => {
    const direction = descending ? 'desc' : 'asc';
    // In the other order an index of a column without nulls would not be used.
    if (dialect === 'sqlite' || withoutNulls.includes(column)) return direction;
    return `${direction} nulls ${descending ? 'last' : 'first'}`;
  };
  return columns.map(({ column, descending }) => `${column} ${words(column, descending !== reversed)}`).join(', ');
}

/**
 * Documents after a cursor in an order: those greater in the first column, or equal there and greater in the next, and so on.
 * A null is smaller than every value.
 */
export function afterCursor(
  columns: readonly { readonly column: string; readonly descending: boolean }[],
  at: readonly Value[],
  reversed: boolean,
): Fragment {
  const branches: Fragment[] = [];
  for (let depth = 0; depth < columns.length; depth++) {
    const equal = columns.slice(0, depth).map(({ column }, index) => same(column, at[index] ?? null));
    const last = columns[depth];
    if (last === undefined) continue;
    const beyond =
      last.descending !== reversed ? below(last.column, at[depth] ?? null) : above(last.column, at[depth] ?? null);
    if (beyond !== undefined) branches.push(join([...equal, beyond], ' and '));
  }
  if (branches.length === 0) return { sql: '1 = 0', values: [] };
  const { sql, values } = join(
    branches.map((branch) => ({ sql: `(${branch.sql})`, values: branch.values })),
    ' or ',
  );
  return { sql: `(${sql})`, values };
}

function same(column: string, value: Value): Fragment {
  return value === null ? { sql: `${column} is null`, values: [] } : { sql: `${column} = ?`, values: [value] };
}

function above(column: string, value: Value): Fragment {
  return value === null ? { sql: `${column} is not null`, values: [] } : { sql: `${column} > ?`, values: [value] };
}

function below(column: string, value: Value): Fragment | undefined {
  return value === null ? undefined : { sql: `(${column} < ? or ${column} is null)`, values: [value] };
}
