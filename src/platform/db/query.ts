import { createRequire } from 'node:module';
import type { Knex } from 'knex';
import { Lru } from '../cache/lru.js';
import { type DialectFacts, dialectFacts } from './dialect-facts.js';
import { type DialectName, type DialectWords, dialectWords } from './dialect-words.js';
import { type Bound, createSqlTag, type Query, type SqlTag, type Value } from './template.js';

export type { Bound, Query, Value } from './template.js';

/** A placeholder that is filled in at each call. */
class Parameter {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** An object that knex can compile. */
type Builder = Pick<Knex.QueryBuilder | Knex.Raw, 'toSQL'>;

/** The query builders of knex. */
interface Builders {
  (table: string | Knex.QueryBuilder | Knex.Raw): Knex.QueryBuilder;
  raw: Knex['raw'];
}

/**
 * Compiles SQL for one database; it never connects. Called as the tag of a template, it makes a statement: the values given in the template
 * are bound, and its parts become text.
 */
export interface Sql extends SqlTag {
  readonly dialect: DialectName;
  readonly words: DialectWords;
  readonly facts: DialectFacts;
  readonly knex: Builders;
  /** All of knex, for migrations. It has hundreds of files, so it is loaded by this call or when the first statement is compiled. */
  loadKnex(): Knex;
  /** Compiles a statement on the first call; later calls only fill in the values. */
  prepare<P extends Readonly<Record<string, Value>>>(
    build: (knex: Builders, parameters: { readonly [K in keyof P]: Knex.Value }) => Builder,
  ): (parameters: P) => Query;
  /**
   * A condition: the column is one of a list of any length, bound as one value made by `list`. The statement's text does not depend on the
   * list.
   */
  isOneOf(column: string, list: Knex.Value): Knex.Raw;
  list(values: readonly string[]): string;
  /** A query written in this code base, with `?` for its values. Texts repeat, so their native form is cached. */
  text(source: string, values: readonly Bound[]): Query;
  /** Compiles a query with a shape that is known only at run time. */
  compile(builder: Builder): Query;
}

/** Creates the compiler for a database. */
export function createSql(dialect: DialectName): Sql {
  const loadKnex = createLoader(dialect);
  const knex: Builders = Object.assign((table: string | Knex.QueryBuilder | Knex.Raw) => loadKnex()(table as string), {
    raw: ((...given: Parameters<Knex['raw']>) => loadKnex().raw(...given)) as Knex['raw'],
  });
  const native = (builder: Builder): { sql: string; bindings: readonly unknown[] } => {
    const { sql, bindings } = builder.toSQL().toNative();
    return { sql, bindings };
  };
  const words = dialectWords[dialect];
  const numbered = createNumbering(words);
  const compilers: Pick<Sql, keyof Sql> = {
    dialect,
    words,
    facts: dialectFacts[dialect],
    knex,
    loadKnex,
    prepare: (build) => {
      const parameters = new Proxy({}, { get: (_, name) => new Parameter(String(name)) });
      let compiled: ReturnType<typeof native> | undefined;
      return (given) => {
        // The proxy has a parameter for every name in the caller's type; knex passes unknown objects through as bindings.
        compiled ??= native(build(knex, parameters as Parameters<typeof build>[1]));
        const values = compiled.bindings.map((binding) =>
          binding instanceof Parameter ? (given[binding.name] ?? null) : (binding as Value),
        );
        return { sql: compiled.sql, values };
      };
    },
    isOneOf: (column, list) => knex.raw(`?? ${words.isOneOf}`, [column, list]),
    list: words.list,
    text: (source, values) => ({ sql: dialect === 'sqlite' ? source : numbered(source), values }),
    compile: (builder) => {
      const { sql, bindings } = native(builder);
      return { sql, values: bindings as readonly Value[] };
    },
  };
  return Object.assign(createSqlTag(dialect), compilers);
}

/** Loads knex on the first call. Uses `require` because a unit of work cannot wait for `import()`. */
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

/** Bounds of the cache of native texts. */
const cacheBounds = { bytes: 8_388_608, entries: 2000, largest: 131_072 } as const;

/** Numbers the placeholders of texts, and caches the result. */
function createNumbering({ numbered }: DialectWords): (source: string) => string {
  const cache = new Lru<string>(cacheBounds);
  return (source) => {
    const before = cache.get(source);
    if (before !== undefined) return before;
    const text = numbered(source);
    cache.set(source, text, 2 * text.length);
    return text;
  };
}
