import { type DialectName, dialectWords } from '#src/platform/db/dialect-words.js';
import { type Fragment, join } from './fragment.js';

/** A column of an order. Postgres needs the position of nulls for a nullable one. */
export interface OrderColumn {
  readonly column: string;
  readonly descending: boolean;
  readonly nullable: boolean;
  /** Placeholder of a value compared with the column, optionally with a cast; `?` if absent. */
  readonly place?: string;
}

/** ORDER BY, with nulls first ascending and last descending on both databases. */
export function orderBy(columns: readonly OrderColumn[], dialect: DialectName, reversed: boolean): string {
  const { nullsFirst, nullsLast } = dialectWords[dialect];
  const words = ({ descending, nullable }: OrderColumn) => {
    const falls = descending !== reversed;
    const direction = falls ? 'desc' : 'asc';
    // With an explicit position of nulls, the index of a column without nulls would not be used.
    if (!nullable) return direction;
    return `${direction}${falls ? nullsLast : nullsFirst}`;
  };
  return columns.map((one) => `${one.column} ${words(one)}`).join(', ');
}

/**
 * Rows after a cursor in an order: greater in the first column, or equal there and greater in the next, and so on. A null is smaller than
 * every value.
 */
export function afterCursor<V>(
  columns: readonly OrderColumn[],
  at: readonly (V | null)[],
  reversed: boolean,
): Fragment<V> {
  const branches: Fragment<V>[] = [];
  for (let depth = 0; depth < columns.length; depth++) {
    const equal = columns.slice(0, depth).map((column, index) => same(column, at[index] ?? null));
    const last = columns[depth];
    if (last === undefined) continue;
    const beyond = last.descending !== reversed ? below(last, at[depth] ?? null) : above(last, at[depth] ?? null);
    if (beyond !== undefined) branches.push(join([...equal, beyond], ' and '));
  }
  if (branches.length === 0) return { sql: '1 = 0', values: [] };
  const { sql, values } = join(
    branches.map((branch) => ({ sql: `(${branch.sql})`, values: branch.values })),
    ' or ',
  );
  return join([...boundOf(columns[0], at[0] ?? null, reversed), { sql: `(${sql})`, values }], ' and ');
}

/** A bound on the first column for an index scan; no database derives it from conditions joined by OR. */
function boundOf<V>(first: OrderColumn | undefined, value: V | null, reversed: boolean): Fragment<V>[] {
  if (first === undefined || value === null) return [];
  const falls = first.descending !== reversed;
  if (falls && first.nullable) return [];
  return [{ sql: `${first.column} ${falls ? '<=' : '>='} ${placeholderOf(first)}`, values: [value] }];
}

const placeholderOf = ({ place = '?' }: OrderColumn): string => place;

function same<V>(one: OrderColumn, value: V | null): Fragment<V> {
  if (value === null) return { sql: `${one.column} is null`, values: [] };
  return { sql: `${one.column} = ${placeholderOf(one)}`, values: [value] };
}

function above<V>(one: OrderColumn, value: V | null): Fragment<V> {
  if (value === null) return { sql: `${one.column} is not null`, values: [] };
  return { sql: `${one.column} > ${placeholderOf(one)}`, values: [value] };
}

function below<V>(one: OrderColumn, value: V | null): Fragment<V> | undefined {
  if (value === null) return undefined;
  return { sql: `(${one.column} < ${placeholderOf(one)} or ${one.column} is null)`, values: [value] };
}
