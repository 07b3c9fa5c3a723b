import { createRequire } from 'node:module';
import type { Knex } from 'knex';
import { Lru } from '../lru.js';

/** The two databases. */
export type DialectName = 'sqlite' | 'postgres';

/** A value a statement can carry. */
export type Value = string | number | null;

/** What a statement is sent with; bytes are values in the binary format of Postgres. */
export type Bound = Value | Buffer;

/** SQL text with its values, ready for the driver. The text is the key of the prepared statement. */
export interface Query {
  readonly sql: string;
  readonly values: readonly Bound[];
  /** Every column of the answer is text. Postgres then sends it as it stands, without looking for its end first. */
  readonly allText?: true;
}

/** A place in a statement that is filled at each call. */
class Parameter {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** Anything knex can compile. */
type Builder = Pick<Knex.QueryBuilder | Knex.Raw, 'toSQL'>;

/** What statements are built with. */
interface Builders {
  (table: string | Knex.QueryBuilder): Knex.QueryBuilder;
  raw: Knex['raw'];
}

/** Compiles SQL for one database; it never connects. */
export interface Sql {
  readonly dialect: DialectName;
  readonly knex: Builders;
  /** All of knex, for migrations. It has hundreds of files, so it is loaded by this or with the first statement that is compiled. */
  loadKnex(): Knex;
  /** Compiles a statement at the first call; every call only fills in the values. */
  prepare<P extends Readonly<Record<string, Value>>>(
    build: (knex: Builders, parameters: { readonly [K in keyof P]: Knex.Value }) => Builder,
  ): (parameters: P) => Query;
  /** A condition: the column is one of a list, however long, bound as one value made by `list`. The statement's text stays the same. */
  isOneOf(column: string, list: Knex.Value): Knex.Raw;
  list(values: readonly string[]): string;
  /** A query of our own words with `?` for its values. Texts repeat, so their native form is kept. */
  text(source: string, values: readonly Bound[]): Query;
  /** Compiles a query whose shape is known only now. */
  compile(builder: Builder): Query;
}

/** Creates the compiler for a database. */
export function createSql(dialect: DialectName): Sql {
  const loadKnex = createLoader(dialect);
  const knex: Builders = Object.assign((table: string | Knex.QueryBuilder) => loadKnex()(table as string), {
    raw: ((...given: Parameters<Knex['raw']>) => loadKnex().raw(...given)) as Knex['raw'],
  });
  const numbered = createNumbering();
  const native = (builder: Builder): { sql: string; bindings: readonly unknown[] } => {
    const { sql, bindings } = builder.toSQL().toNative();
    return { sql, bindings };
  };
  return {
    dialect,
    knex,
    loadKnex,
    prepare: (build) => {
      const parameters = new Proxy({}, { get: (_, name) => new Parameter(String(name)) });
      let compiled: ReturnType<typeof native> | undefined;
      return (given) => {
        // The proxy stands for whatever names the caller's type lists; knex passes unknown objects through as bindings.
        compiled ??= native(build(knex, parameters as never));
        const values = compiled.bindings.map((binding) =>
          binding instanceof Parameter ? (given[binding.name] ?? null) : (binding as Value),
        );
        return { sql: compiled.sql, values };
      };
    },
    isOneOf: (column, list) =>
      dialect === 'sqlite'
        ? knex.raw('?? in (select value from json_each(?))', [column, list])
        : knex.raw('?? = any(cast(? as text[]))', [column, list]),
    list: (values) =>
      dialect === 'sqlite'
        ? JSON.stringify(values)
        : `{${padded(values)
            .map((value) => `"${value.replace(/[\\"]/g, '\\$&')}"`)
            .join(',')}}`,
    text: (source, values) => ({ sql: dialect === 'sqlite' ? source : numbered(source), values }),
    compile: (builder) => {
      const { sql, bindings } = native(builder);
      return { sql, values: bindings as readonly Value[] };
    },
  };
}

/**
 * Postgres takes a list it does not know for one of ten, and plans anew at each call where it hopes to do better with a shorter one; so short
 * lists repeat their last value, which costs an index nothing.
 */
function padded(values: readonly string[]): readonly string[] {
  const last = values.at(-1);
  if (last === undefined || values.length >= assumedLength) return values;
  return [...values, ...Array.from({ length: assumedLength - values.length }, () => last)];
}

/** Loads knex at the first call. Not by `import()`: a unit of work cannot wait for it. */
function createLoader(dialect: DialectName): () => Knex {
  const require = createRequire(import.meta.url);
  let loaded: Knex | undefined;
  return () => {
    if (loaded === undefined) {
      const { knex }: typeof import('knex') = require('knex');
      loaded = knex({ client: dialect === 'sqlite' ? 'sqlite3' : 'pg', useNullAsDefault: true });
    }
    return loaded;
  };
}

const assumedLength = 10;
/** Texts whose native form is kept. */
const cacheBounds = { bytes: 8_388_608, entries: 2000, largest: 131_072 } as const;

/** Numbers the places of a text as Postgres wants them; our texts have no other question marks. */
function createNumbering(): (source: string) => string {
  const cache = new Lru<string>(cacheBounds);
  return (source) => {
    const before = cache.get(source);
    if (before !== undefined) return before;
    let position = 0;
    const text = source.replace(/\?/g, () => `$${++position}`);
    cache.set(source, text, 2 * text.length);
    return text;
  };
}
