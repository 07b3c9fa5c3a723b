import { castTypes, type ElementKind } from '#src/platform/db/collection-ddl.js';
import type { Sql } from '#src/platform/db/query.js';
import { printJson } from '#src/platform/json.js';
import { bind, type Fragment, join } from './fragment.js';
import { fulltextSearch } from './fulltext.js';
import type { Comparison, Condition, TextMatch } from './parse.js';
import { searchTermsIn } from './search-terms.js';
import { anyOf, valueList } from './value-list.js';

/** Where the fields of a list stand in the database. */
export interface Columns<F> {
  /** The column as it is compared for equality. */
  equal(field: F): string;
  /** The column as it is compared for order, by code point. */
  ordered(field: F): string;
  /** How a field is stored, or the elements of one that is a list. */
  kindOf(field: F): ElementKind;
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
export function createCompiler<F>(
  { dialect, list }: Pick<Sql, 'dialect' | 'list'>,
  columns: Columns<F>,
): (condition: Condition<F>) => Fragment {
  // LIKE of SQLite and ILIKE of a column in collation C both ignore the case of ASCII letters and of nothing else.
  const like = dialect === 'sqlite' ? 'like' : 'ilike';
  /** Where a value that is compared with a field stands. Postgres is told its type, as the value may come out of a table of values. */
  const placeholder = (field: F): string => {
    const kind = columns.kindOf(field);
    return dialect === 'sqlite' || kind === 'text' ? '?' : `cast(? as ${castTypes[kind]})`;
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
        const one = placeholder(given.field);
        const sql = `${columns.ordered(given.field)} between ${one} and ${one}`;
        return { sql, values: [bind(given.low), bind(given.high)] };
      }
      case 'compare': {
        const isEquality = given.method === 'equal' || given.method === 'notEqual';
        const column = isEquality ? columns.equal(given.field) : columns.ordered(given.field);
        if (given.values.length > 1) return oneOf(column, given.field, given.values);
        return {
          sql: `${column} ${operators[given.method]} ${placeholder(given.field)}`,
          values: given.values.map(bind),
        };
      }
      case 'match':
        return match(
          columns.ordered(given.field),
          given.values.map((value) => pattern(given.method, value)),
        );
      case 'words':
        return searchTermsIn([columns.equal(given.field)], given.text, { dialect, list });
      case 'fulltext':
        return fulltextSearch(dialect, given);
      default:
        return element(given.field, given.values);
    }
  };
  const oneOf = (column: string, field: F, values: readonly unknown[]): Fragment => {
    const given = valueList({ dialect, list }, columns.kindOf(field), values);
    return { sql: `${column} ${dialect === 'sqlite' ? 'in' : '= any'} (${given.sql})`, values: given.values };
  };
  /** SQLite does not read every double from text as the number that it is, so those in lists are compared as they are printed. */
  const printedIn = (values: readonly unknown[]): Fragment => {
    const given = valueList(
      { dialect, list },
      'text',
      values.map((value) => printJson(value)),
    );
    return { sql: `element.value in (${given.sql})`, values: given.values };
  };
  const match = (column: string, patterns: readonly string[]): Fragment => {
    if (patterns.length === 1) return { sql: `${column} ${like} ? escape '!'`, values: patterns };
    const given = valueList({ dialect, list }, 'text', patterns);
    return { sql: anyOf(dialect, given, `${column} ${like} given.value escape '!'`), values: given.values };
  };
  const element = (field: F, values: readonly unknown[]): Fragment => {
    const column = columns.equal(field);
    // Without `limit 1` SQLite 3.51 and later turn EXISTS into a join, and an OFFSET then counts a row once for each element it matches.
    if (dialect === 'sqlite') {
      const isDouble = columns.kindOf(field) === 'double';
      const given = isDouble ? printedIn(values) : oneOf('element.value', field, values);
      const elements = `json_each(${isDouble ? printedElements(column) : column})`;
      return {
        sql: `exists (select 1 from ${elements} as element where ${given.sql} limit 1)`,
        values: given.values,
      };
    }
    const from = `json_array_elements_text(${column}::json) as element (value)`;
    const given = oneOf(`cast(element.value as ${castTypes[columns.kindOf(field)]})`, field, values);
    return { sql: `exists (select 1 from ${from} where ${given.sql})`, values: given.values };
  };
  return condition;
}

/** A list of numbers in SQLite as a list of their texts. */
function printedElements(column: string): string {
  return `'["' || replace(substr(${column}, 2, length(${column}) - 2), ',', '","') || '"]'`;
}

function pattern(method: TextMatch, value: string): string {
  const escaped = value.replace(/[!%_]/g, '!$&');
  return `${method === 'startsWith' ? '' : '%'}${escaped}${method === 'endsWith' ? '' : '%'}`;
}
