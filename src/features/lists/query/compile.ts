import type { DialectName } from '#src/platform/db/query.js';
import { bind, type Fragment, join } from './fragment.js';
import type { Comparison, Condition, TextMatch } from './parse.js';
import { wordsIn } from './words.js';

/** Where the fields of a list stand in the database. */
export interface Columns<F> {
  /** The column as it is compared for equality. */
  equal(field: F): string;
  /** The column as it is compared for order, by code point. */
  ordered(field: F): string;
  /** Of what type a field is, or the elements of one that is a list. */
  typeOf(field: F): 'integer' | 'double precision' | 'boolean' | 'text';
}

const operators: Record<Comparison, string> = {
  equal: '=',
  notEqual: '<>',
  lessThan: '<',
  lessThanEqual: '<=',
  greaterThan: '>',
  greaterThanEqual: '>=',
};

/** Creates what turns conditions into SQL for a database. */
export function createCompiler<F>(dialect: DialectName, columns: Columns<F>): (condition: Condition<F>) => Fragment {
  // LIKE of SQLite and ILIKE of a column in collation C both ignore the case of ASCII letters and of nothing else.
  const like = dialect === 'sqlite' ? 'like' : 'ilike';
  /** Where a value that is compared with a field stands. Postgres is told its type, as the value may come out of a table of values. */
  const place = (field: F): string => {
    const type = columns.typeOf(field);
    if (dialect === 'sqlite' || type === 'text') return '?';
    return `cast(? as ${type === 'integer' ? 'bigint' : type})`;
  };
  const condition = (given: Condition<F>): Fragment => {
    switch (given.kind) {
      case 'all':
      case 'any': {
        const { sql, values } = join(given.conditions.map(condition), given.kind === 'all' ? ' and ' : ' or ');
        return { sql: `(${sql})`, values };
      }
      case 'null':
        return { sql: `${columns.equal(given.field)} is ${given.isNull ? '' : 'not '}null`, values: [] };
      case 'between': {
        const one = place(given.field);
        const sql = `${columns.ordered(given.field)} between ${one} and ${one}`;
        return { sql, values: [bind(given.low), bind(given.high)] };
      }
      case 'compare': {
        const values = given.values.map(bind);
        const one = place(given.field);
        const right =
          values.length === 1 ? `${operators[given.method]} ${one}` : `in (${values.map(() => one).join(', ')})`;
        const isEquality = given.method === 'equal' || given.method === 'notEqual';
        return { sql: `${isEquality ? columns.equal(given.field) : columns.ordered(given.field)} ${right}`, values };
      }
      case 'match': {
        const column = columns.ordered(given.field);
        const sql = given.values.map(() => `${column} ${like} ? escape '!'`).join(' or ');
        return { sql: `(${sql})`, values: given.values.map((value) => pattern(given.method, value)) };
      }
      case 'words':
        return wordsIn([columns.equal(given.field)], given.text, dialect);
      default:
        return element(given.field, given.values.map(bind));
    }
  };
  const element = (field: F, values: Fragment['values']): Fragment => {
    const column = columns.equal(field);
    const type = columns.typeOf(field);
    // Without `limit 1` SQLite 3.51 and later turn EXISTS into a join, and an OFFSET then counts a row once for each element it matches.
    if (dialect === 'sqlite') {
      const place = type === 'integer' ? 'cast(? as integer)' : '?';
      const list = values.map(() => place).join(', ');
      return {
        sql: `exists (select 1 from json_each(${column}) as element where element.value in (${list}) limit 1)`,
        values,
      };
    }
    const from = `json_array_elements_text(${column}::json) as element (value)`;
    const list = values.map(() => place(field)).join(', ');
    const value = `cast(element.value as ${type === 'integer' ? 'bigint' : type})`;
    return { sql: `exists (select 1 from ${from} where ${value} in (${list}))`, values };
  };
  return condition;
}

function pattern(method: TextMatch, value: string): string {
  const escaped = value.replace(/[!%_]/g, '!$&');
  return `${method === 'startsWith' ? '' : '%'}${escaped}${method === 'endsWith' ? '' : '%'}`;
}
