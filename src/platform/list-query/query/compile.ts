import { fulltextSearch } from '#src/platform/db/collection-words.js';
import { castTypes, dialectWords, type ElementKind } from '#src/platform/db/dialect-words.js';
import type { Sql } from '#src/platform/db/query.js';
import { anyOf, isIn, valueList } from '#src/platform/db/value-list.js';
import { printJson } from '#src/platform/text/json.js';
import type { Comparison, Condition, TextMatch } from './condition.js';
import { boundValue, type Fragment, join } from './fragment.js';
import { searchTermsIn } from './search-terms.js';

/** Columns of the fields of a list. */
interface Columns<F> {
  /** The column as it is compared for equality. */
  equal(field: F): string;
  /** The column as it is compared for order, by code point. */
  ordered(field: F): string;
  /** Storage of a field, or of the elements of a list field. */
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

interface Deps<F> extends Pick<Sql, 'dialect' | 'list'> {
  readonly columns: Columns<F>;
}

/** Creates a compiler that turns conditions into SQL for a database. */
export function createConditionCompiler<F>(
  { dialect, list }: Pick<Sql, 'dialect' | 'list'>,
  columns: Columns<F>,
): (condition: Condition<F>) => Fragment {
  const deps: Deps<F> = { dialect, list, columns };
  return (condition) => compile(deps, condition);
}

function compile<F>(deps: Deps<F>, given: Condition<F>): Fragment {
  const { dialect, columns } = deps;
  switch (given.kind) {
    case 'all':
    case 'any': {
      const { sql, values } = joined(deps, given.conditions, given.kind === 'all' ? ' and ' : ' or ');
      return { sql: `(${sql})`, values };
    }
    case 'null':
      return { sql: `${columns.equal(given.field)} is ${given.isNull ? '' : 'not '}null`, values: [] };
    case 'between': {
      const one = placeholder(deps, given.field);
      const sql = `${columns.ordered(given.field)} between ${one} and ${one}`;
      return { sql, values: [boundValue(given.low), boundValue(given.high)] };
    }
    case 'compare': {
      const isEquality = given.method === 'equal' || given.method === 'notEqual';
      const column = isEquality ? columns.equal(given.field) : columns.ordered(given.field);
      if (given.values.length > 1) return oneOf(deps, column, given.field, given.values);
      return {
        sql: `${column} ${operators[given.method]} ${placeholder(deps, given.field)}`,
        values: given.values.map(boundValue),
      };
    }
    case 'match': {
      const patterns = given.values.map((value) => pattern(given.method, value));
      return match(deps, columns.ordered(given.field), patterns, given.isEvery);
    }
    case 'words':
      return searchTermsIn([columns.equal(given.field)], given.text, deps);
    case 'fulltext':
      return fulltextSearch(dialect, given.index, given.words, given.method === 'notSearch');
    case 'not': {
      const { sql, values } = compile(deps, given.condition);
      return { sql: `(${columns.equal(given.field)} is not null and not (${sql}))`, values };
    }
    case 'related':
      return given.within(joined(deps, given.related, ' and '));
    default:
      return element(deps, given.field, given.values, given.isEvery);
  }
}

function joined<F>(deps: Deps<F>, conditions: readonly Condition<F>[], by: string): Fragment {
  return join(
    conditions.map((one) => compile(deps, one)),
    by,
  );
}

/** The placeholder of a value compared with a field. Postgres needs its type, because the value may come from a table of values. */
function placeholder<F>({ dialect, columns }: Deps<F>, field: F): string {
  const kind = columns.kindOf(field);
  return kind === 'text' ? '?' : dialectWords[dialect].typed(kind);
}

function oneOf<F>(deps: Deps<F>, column: string, field: F, values: readonly unknown[]): Fragment {
  const given = valueList(deps, deps.columns.kindOf(field), values);
  return { sql: isIn(deps.dialect, column, given), values: given.values };
}

function match(
  sql: Pick<Sql, 'dialect' | 'list'>,
  column: string,
  patterns: readonly string[],
  isEvery: boolean,
): Fragment {
  const { dialect } = sql;
  const { like } = dialectWords[dialect];
  if (patterns.length === 1) return { sql: `${column} ${like} ? escape '!'`, values: patterns };
  const given = valueList(sql, 'text', patterns);
  const matches = `${column} ${like} given.value escape '!'`;
  if (!isEvery) return { sql: anyOf(dialect, given, matches), values: given.values };
  return {
    sql: `(${column} is not null and not ${anyOf(dialect, given, `not (${matches})`)})`,
    values: given.values,
  };
}

function element<F>(deps: Deps<F>, field: F, values: readonly unknown[], isEvery: boolean): Fragment {
  const { dialect, columns } = deps;
  const column = columns.equal(field);
  const different = new Set(values.map(String)).size;
  const counted = (value: string, from: string, given: Fragment): Fragment => ({
    sql: `(select count(distinct ${value}) from ${from} where ${given.sql}) = ${dialectWords[dialect].typed('integer')}`,
    values: [...given.values, different],
  });
  // Without `limit 1` SQLite 3.51 and later turn EXISTS into a join, and OFFSET then counts a row once for each element it matches.
  if (dialect === 'sqlite') {
    const isDouble = columns.kindOf(field) === 'double';
    const given = isDouble ? printedIn(deps, values) : oneOf(deps, 'element.value', field, values);
    const elements = `json_each(${isDouble ? printedElements(column) : column}) as element`;
    if (isEvery) return counted('element.value', elements, given);
    return {
      sql: `exists (select 1 from ${elements} where ${given.sql} limit 1)`,
      values: given.values,
    };
  }
  const from = `json_array_elements_text(${column}::json) as element (value)`;
  const value = `cast(element.value as ${castTypes[columns.kindOf(field)]})`;
  const given = oneOf(deps, value, field, values);
  if (isEvery) return counted(value, from, given);
  return { sql: `exists (select 1 from ${from} where ${given.sql})`, values: given.values };
}

/** SQLite does not parse every double from text exactly, so doubles in lists are compared as text. */
function printedIn(sql: Pick<Sql, 'dialect' | 'list'>, values: readonly unknown[]): Fragment {
  const printed = values.map((value) => printJson(value));
  const given = valueList(sql, 'text', printed);
  return { sql: isIn(sql.dialect, 'element.value', given), values: given.values };
}

/** A list of numbers in SQLite as a list of their texts. */
function printedElements(column: string): string {
  return `'["' || replace(substr(${column}, 2, length(${column}) - 2), ',', '","') || '"]'`;
}

function pattern(method: TextMatch, value: string): string {
  const escaped = value.replace(/[!%_]/g, '!$&');
  return `${method === 'startsWith' ? '' : '%'}${escaped}${method === 'endsWith' ? '' : '%'}`;
}
