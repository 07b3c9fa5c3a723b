// The SQL that both databases have and spell differently, so that statements elsewhere need not ask which database they are for.

/** The supported databases. */
export type DialectName = 'sqlite' | 'postgres';

/** Storage of an attribute. A list is JSON text. */
export type ColumnKind = ElementKind | 'list';
/** Storage of a single value. */
export type ElementKind = 'text' | 'integer' | 'double' | 'boolean';

/** SQL types to cast values to if Postgres cannot infer them. */
export const castTypes = {
  text: 'text',
  integer: 'bigint',
  double: 'double precision',
  boolean: 'boolean',
  list: 'text',
} as const satisfies Record<ColumnKind, string>;

/** Parts of statements. A `?` is the placeholder of a bound value. */
export interface DialectWords {
  /** A list of texts as one bound value. */
  readonly list: (texts: readonly string[]) => string;
  /** A statement with its placeholders as the driver reads them. The text contains no other question marks. */
  readonly numbered: (text: string) => string;
  /** After a column: it is one of the texts of a bound `list`. */
  readonly isOneOf: string;
  /** The texts of such a list, as a table with the column `value`. */
  readonly eachOfList: (table: string) => string;
  /** The members of an array in JSON, bound as text, as a table with the column `value`. */
  readonly eachInJson: (table: string, placeholder?: string) => string;
  /** The members of a stored array of texts in JSON, as a table with the column `value`. */
  readonly eachTextInJson: (table: string, array: string) => string;
  /** The objects of an array in JSON, bound as text, as a table with a column for each member. */
  readonly recordsInJson: (table: string, columns: readonly RecordColumn[]) => string;
  /** A text column with JSON, before the operator `->>`. */
  readonly json: (column: string) => string;
  /** A text column with JSON, as a value within `jsonObject`. */
  readonly jsonWithin: (column: string) => string;
  /** Some columns as the text of a JSON array. */
  readonly jsonArray: (columns: readonly string[]) => string;
  /** Function that makes an object in JSON of names and values. */
  readonly jsonObject: string;
  /** The text of a JSON array with a value of each row. */
  readonly jsonOfRows: (value: string, order: string) => string;
  /** A stored value as JSON text. */
  readonly printed: (kind: ColumnKind, column: string) => string;
  /** Joins texts. Each `||` of SQLite copies the text; `concat` of Postgres looks up types. */
  readonly concat: (texts: readonly string[]) => string;
  /** A value whose type the database cannot infer. */
  readonly typed: (kind: ColumnKind) => string;
  /** A number to calculate with. */
  readonly number: (kind: 'integer' | 'double') => string;
  /** Compares a text with a pattern; upper and lower case of ASCII letters are the same (on Postgres of columns in collation C). */
  readonly like: string;
  /** Compares values that may be null. */
  readonly isDistinctFrom: string;
  /** After a column: it is one of the values of a query. Postgres runs the query first, whatever the sizes of the tables. */
  readonly isOneOfQuery: (query: string) => string;
  /** At the end of a query within EXISTS: keeps the database from making it a join, which may read far more rows or repeat some. */
  readonly noJoin: string;
  /** After a column in an order with nulls as the smallest values. SQLite has them so anyway. */
  readonly nullsFirst: string;
  readonly nullsLast: string;
  /** A text column as it is compared for order, by code point. */
  readonly byCodePoint: (column: string) => string;
  /** Compares a text with a pattern that `letters` makes. */
  readonly hasLetters: string;
  /** A pattern for letters in a row, each given in all its cases. */
  readonly letters: (letters: readonly (readonly string[])[]) => string;
  /** The second part of a path whose first part is known. Indexes have the same text. */
  readonly secondPart: (path: string, first: string) => string;
  /** Functions of several values. */
  readonly greatest: string;
  readonly least: string;
  /** Function that finds a text in another one and returns its position, or 0. */
  readonly positionOf: string;
  readonly lineFeed: string;
  /** At the end of a query: locks its rows until the end of the unit. SQLite has one writer at a time. */
  readonly forUpdate: string;
  /** In an INSERT after its columns: the sequence is given. */
  readonly givenSequence: string;
  /** Query that notifies other processes on a channel at the commit; undefined if the database has no notifications. */
  readonly notify: string | undefined;
}

/** A member of objects in JSON. */
interface RecordColumn {
  readonly name: string;
  readonly kind: ElementKind;
}

/** The words of each database. */
export const dialectWords: Readonly<Record<DialectName, DialectWords>> = {
  sqlite: {
    list: (texts) => JSON.stringify(texts),
    numbered: (text) => text,
    isOneOf: 'in (select value from json_each(?))',
    eachOfList: (table) => `json_each(?) as ${table}`,
    eachInJson: (table, placeholder = '?') => `json_each(${placeholder}) as ${table}`,
    eachTextInJson: (table, array) => `json_each(${array}) as ${table}`,
    recordsInJson: (table, columns) => {
      const members = columns.map(({ name }) => `json_extract(value, '$.${name}') as ${name}`);
      return `(select ${members.join(', ')} from json_each(?)) as ${table}`;
    },
    json: (column) => column,
    jsonWithin: (column) => `json(${column})`,
    jsonArray: (columns) => `json_array(${columns.join(', ')})`,
    jsonObject: 'json_object',
    jsonOfRows: (value, order) => `json_group_array(${value} order by ${order})`,
    printed: printedBySqlite,
    concat: (texts) => `concat(${texts.join(', ')})`,
    typed: () => '?',
    number: (kind) => `cast(? as ${{ integer: 'integer', double: 'real' }[kind]})`,
    like: 'like',
    isDistinctFrom: 'is not',
    isOneOfQuery: (query) => `in (${query})`,
    noJoin: ' limit 1',
    nullsFirst: '',
    nullsLast: '',
    byCodePoint: (column) => column,
    hasLetters: 'glob',
    letters: (letters) => `*${letters.map(letterOfGlob).join('')}*`,
    secondPart: (path, first) => {
      const rest = `substr(${path}, ${first.length + 2})`;
      return `substr(${path}, ${first.length + 2}, instr(${rest} || '/', '/') - 1)`;
    },
    greatest: 'max',
    least: 'min',
    positionOf: 'instr',
    lineFeed: 'char(10)',
    forUpdate: '',
    givenSequence: '',
    notify: undefined,
  },
  postgres: {
    list: (texts) => `{${padded(texts).map(quotedInArray).join(',')}}`,
    numbered: (text) => {
      let position = 0;
      return text.replace(/\?/g, () => `$${++position}`);
    },
    isOneOf: '= any(cast(? as text[]))',
    eachOfList: (table) => `unnest(cast(? as text[])) as ${table}(value)`,
    eachInJson: (table, placeholder = '?') => `json_array_elements(cast(${placeholder} as json)) as ${table}`,
    eachTextInJson: (table, array) => `json_array_elements_text(cast(${array} as json)) as ${table}`,
    recordsInJson: (table, columns) => {
      const members = columns.map(({ name, kind }) => `${name} ${castTypes[kind]}`);
      return `json_to_recordset(cast(? as json)) as ${table} (${members.join(', ')})`;
    },
    json: (column) => `${column}::json`,
    jsonWithin: (column) => `${column}::json`,
    jsonArray: (columns) => `json_build_array(${columns.join(', ')})::text`,
    jsonObject: 'json_build_object',
    jsonOfRows: (value, order) => `json_agg(${value} order by ${order})::text`,
    // `to_json` returns null for null.
    printed: (kind, column) => `coalesce(${kind === 'text' ? `to_json(${column})` : column}::text, 'null')`,
    concat: (texts) => `(${texts.join(' || ')})`,
    typed: (kind) => `cast(? as ${castTypes[kind]})`,
    number: (kind) => `cast(? as ${castTypes[kind]})`,
    like: 'ilike',
    isDistinctFrom: 'is distinct from',
    isOneOfQuery: (query) => `= any(array(${query}))`,
    noJoin: ' offset 0',
    nullsFirst: ' nulls first',
    nullsLast: ' nulls last',
    byCodePoint: (column) => `${column} collate "C"`,
    hasLetters: '~',
    letters: (letters) => letters.map(letterOfExpression).join(''),
    secondPart: (path) => `split_part(${path}, '/', 2)`,
    greatest: 'greatest',
    least: 'least',
    positionOf: 'strpos',
    lineFeed: 'chr(10)',
    forUpdate: ' for update',
    givenSequence: ' overriding system value',
    notify: 'select pg_notify(?, ?)',
  },
};

const assumedLength = 10;

/**
 * Postgres assumes ten elements for an unknown list. It plans the statement again at each call if it expects a better plan for a shorter
 * list. Short lists therefore repeat their last value, which costs nothing in an index.
 */
function padded(texts: readonly string[]): readonly string[] {
  const last = texts.at(-1);
  if (last === undefined || texts.length >= assumedLength) return texts;
  return [...texts, ...Array.from({ length: assumedLength - texts.length }, () => last)];
}

const quotedInArray = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&')}"`;

function printedBySqlite(kind: ColumnKind, column: string): string {
  switch (kind) {
    case 'text':
      return `json_quote(${column})`;
    case 'boolean':
      return `case ${column} when 1 then 'true' when 0 then 'false' else 'null' end`;
    case 'double':
      return `iif(${column} is null, 'null', ${shortest(column)})`;
    default:
      return `coalesce(${column}, 'null')`;
  }
}

/** Prints a double in SQLite. It uses 15 digits if they give the same double, and 17 digits otherwise. */
function shortest(column: string): string {
  const text = `cast(${column} as text)`;
  return `iif(cast(${text} as real) = ${column}, ${text}, format('%!.17g', ${column} + 0.0))`;
}

function letterOfGlob(cases: readonly string[]): string {
  const all = cases.join('');
  return cases.length > 1 || /[*?[]/.test(all) ? `[${all}]` : all;
}

function letterOfExpression(cases: readonly string[]): string {
  const all = cases.join('');
  return cases.length > 1 ? `[${all}]` : all.replace(/[^\p{L}\p{M}\p{N}]/u, '\\$&');
}
