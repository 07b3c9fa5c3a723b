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
  /** After a column: it is one of the texts of a list, bound as `Sql.list` makes it. */
  readonly isOneOf: string;
  /** The texts of such a list, as a table with the column `value`. */
  readonly eachOfList: (table: string) => string;
  /** The members of an array in JSON, bound as text, as a table with the column `value`. */
  readonly eachInJson: (table: string, placeholder?: string) => string;
  /** The members of a stored array of texts in JSON, as a table with the column `value`. */
  readonly eachTextInJson: (table: string, array: string) => string;
  /** A text column with JSON, before the operator `->>`. */
  readonly json: (column: string) => string;
  /** A value whose type the database cannot infer. */
  readonly typed: (kind: ColumnKind) => string;
  /** A number to calculate with. */
  readonly number: (kind: 'integer' | 'double') => string;
  /** Compares a text with a pattern; upper and lower case of ASCII letters are the same (on Postgres of columns in collation C). */
  readonly like: string;
  /** Compares values that may be null. */
  readonly isDistinctFrom: string;
  /** Functions of several values. */
  readonly greatest: string;
  readonly least: string;
  /** Function that finds a text in another one and returns its position, or 0. */
  readonly positionOf: string;
  readonly lineFeed: string;
  /** At the end of a query: locks its rows until the end of the unit. SQLite has one writer at a time. */
  readonly forUpdate: string;
  /** Locks them only against being deleted. */
  readonly forKeyShare: string;
}

/** The words of each database. */
export const dialectWords: Readonly<Record<DialectName, DialectWords>> = {
  sqlite: {
    isOneOf: 'in (select value from json_each(?))',
    eachOfList: (table) => `json_each(?) as ${table}`,
    eachInJson: (table, placeholder = '?') => `json_each(${placeholder}) as ${table}`,
    eachTextInJson: (table, array) => `json_each(${array}) as ${table}`,
    json: (column) => column,
    typed: () => '?',
    number: (kind) => `cast(? as ${{ integer: 'integer', double: 'real' }[kind]})`,
    like: 'like',
    isDistinctFrom: 'is not',
    greatest: 'max',
    least: 'min',
    positionOf: 'instr',
    lineFeed: 'char(10)',
    forUpdate: '',
    forKeyShare: '',
  },
  postgres: {
    isOneOf: '= any(cast(? as text[]))',
    eachOfList: (table) => `unnest(cast(? as text[])) as ${table}(value)`,
    eachInJson: (table, placeholder = '?') => `json_array_elements(cast(${placeholder} as json)) as ${table}`,
    eachTextInJson: (table, array) => `json_array_elements_text(cast(${array} as json)) as ${table}`,
    json: (column) => `${column}::json`,
    typed: (kind) => `cast(? as ${castTypes[kind]})`,
    number: (kind) => `cast(? as ${castTypes[kind]})`,
    like: 'ilike',
    isDistinctFrom: 'is distinct from',
    greatest: 'greatest',
    least: 'least',
    positionOf: 'strpos',
    lineFeed: 'chr(10)',
    forUpdate: ' for update',
    forKeyShare: ' for key share',
  },
};
