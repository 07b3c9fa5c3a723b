import type { Instant } from '#src/contract/shapes.js';
import { parseJson, printJson } from '../text/json.js';
import { inWords, SqlPart, type Value } from './template.js';

/** Converts a column between its stored form and its domain form. */
interface Codec<T> {
  readonly decode: (stored: Value) => T;
  readonly encode: (value: T) => Value;
  /** Type of the migrated column; a test compares them. */
  readonly storage: 'text' | 'integer' | 'bigint';
  readonly nullable: boolean;
  /** True for a moment in time. docs/decisions/clock.md describes the effect of clock changes on each. */
  readonly isTime?: true;
}

const codec = <T>(storage: Codec<T>['storage'], decode: Codec<T>['decode'], encode: Codec<T>['encode']): Codec<T> => ({
  storage,
  decode,
  encode,
  nullable: false,
});

const sharedTextLength = 300;
const sharedTexts = 100;

/** Text, including ids. */
export const text = codec<string>(
  'text',
  (stored) => stored as string,
  (value) => value,
);
/** A moment as text. */
export const instant: Codec<Instant> = { ...text, isTime: true };
/** Text that is one of a few words. */
export const word = <T extends string>() =>
  codec<T>(
    'text',
    (stored) => stored as T,
    (value) => value,
  );
/** An integer of 32 bits. */
export const integer = codec<number>('integer', Number, (value) => value);
/** An integer up to 2^53, such as milliseconds. */
export const bigint = codec<number>('bigint', Number, (value) => value);
/** A moment as a number since the Unix epoch, in milliseconds or longer steps. */
export const epoch: Codec<number> = { ...bigint, isTime: true };
/** True or false, stored as 1 or 0. */
export const bool = codec<boolean>(
  'integer',
  (stored) => Number(stored) === 1,
  (value) => (value ? 1 : 0),
);
/**
 * Any JSON value, stored as text; integers beyond 2^53 are bigints and stay exact. Short texts repeat a lot, so their values are cached and
 * shared: do not change them.
 */
export const jsonText = <T>() => {
  const cache = new Map<string, T>();
  const decode = (stored: Value): T => {
    const source = String(stored);
    const shared = cache.get(source);
    if (shared !== undefined) return shared;
    const value = parseJson(source) as T;
    if (source.length <= sharedTextLength && cache.size < sharedTexts) cache.set(source, value);
    return value;
  };
  return codec<T>('text', decode, (value) => printJson(value));
};
/** Null or a value of the inner codec. */
export const nullable = <T>(inner: Codec<T>): Codec<T | null> => ({
  ...(inner.isTime ? { isTime: true } : {}),
  storage: inner.storage,
  nullable: true,
  decode: (stored) => (stored === null ? null : inner.decode(stored)),
  encode: (value) => (value === null ? null : inner.encode(value)),
});

/** A row as the driver returns it. */
export type Row = Readonly<Record<string, Value>>;

const packed = 'packed';

/** A table of this service: snake_case in the database, camelCase here. */
export interface Table<T> {
  readonly name: string;
  readonly columns: { readonly [K in keyof T]: string };
  readonly codecs: { readonly [K in keyof T]: Codec<T[K]> };
  /**
   * The expression to select for `decode`: all columns as one JSON array. Drivers convert each column of each row to a JavaScript value
   * separately; one text and one `JSON.parse` take a third of that time.
   */
  readonly row: SqlPart;
  /** The same with another name, to distinguish joined tables. */
  rowAs(name: string): SqlPart;
  /** The statement that inserts rows; more clauses may follow. All rows set the columns of the first one. */
  insert(rows: Partial<T> | readonly Partial<T>[]): SqlPart;
  /** Assignments after a conflict: every column gets the value of the insert. */
  readonly overwrite: SqlPart;
  /** Assignments of an update. */
  set(change: Partial<T>): SqlPart;
  decode(row: Row, as?: string): T;
  /** The stored values of some columns, by their names. */
  encode(value: Partial<T>): Record<string, Value>;
}

/** Describes a table by its columns. */
export function table<T extends object>(name: string, codecs: { readonly [K in keyof T]: Codec<T[K]> }): Table<T> {
  const entries = (Object.entries(codecs) as unknown as [keyof T & string, Codec<unknown>][]).map(([key, codec]) => ({
    key,
    codec,
    column: key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  }));
  const rowAs = (as: string) =>
    new SqlPart(
      inWords(({ jsonArray }) => `${jsonArray(entries.map(({ column }) => `${name}.${column}`))} as "${as}"`),
    );
  return {
    name,
    row: rowAs(packed),
    rowAs,
    insert: (given) => {
      const rows = Array.isArray(given) ? (given as readonly Partial<T>[]) : [given as Partial<T>];
      const columns = entries.filter(({ key }) => rows[0]?.[key] !== undefined);
      const places = `(${columns.map(() => '?').join(', ')})`;
      return new SqlPart(
        `insert into ${name} (${columns.map(({ column }) => column).join(', ')}) values ${rows.map(() => places).join(', ')}`,
        rows.flatMap((row) => columns.map(({ key, codec }) => codec.encode(row[key]))),
      );
    },
    overwrite: new SqlPart(entries.map(({ column }) => `${column} = excluded.${column}`).join(', ')),
    set: (change) => {
      const changed = entries.filter(({ key }) => change[key] !== undefined);
      return new SqlPart(
        changed.map(({ column }) => `${column} = ?`).join(', '),
        changed.map(({ key, codec }) => codec.encode(change[key])),
      );
    },
    columns: Object.fromEntries(entries.map(({ key, column }) => [key, column])) as Table<T>['columns'],
    codecs,
    decode: (row, as = packed) => {
      const stored: readonly Value[] = JSON.parse(String(row[as]));
      const value: Record<string, unknown> = {};
      let at = 0;
      for (const { key, codec } of entries) value[key] = codec.decode(stored[at++] ?? null);
      return value as T;
    },
    encode: (value) => {
      const encoded: Record<string, Value> = {};
      for (const { key, column, codec } of entries)
        if (value[key] !== undefined) encoded[column] = codec.encode(value[key]);
      return encoded;
    },
  };
}
