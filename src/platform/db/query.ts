import { Lru } from '../cache/lru.js';
import { type DialectFacts, dialectFacts } from './dialect-facts.js';
import { type DialectName, type DialectWords, dialectWords } from './dialect-words.js';
import { type Bound, createSqlTag, type Query, type SqlTag } from './template.js';

export type { Bound, Query, Value } from './template.js';

/** Writes SQL for one database. As the tag of a template it makes a statement: values are bound, and parts become text. */
export interface Sql extends SqlTag {
  readonly dialect: DialectName;
  readonly words: DialectWords;
  readonly facts: DialectFacts;
  /** A list of texts as one bound value. */
  list(values: readonly string[]): string;
  /** A query whose text is put together at run time, with `?` for its values. Texts repeat, so their native form is cached. */
  text(source: string, values: readonly Bound[]): Query;
}

/** A statement in the words of one database, or of both. */
export const statement = (sql: string, values: Query['values'] = []): Query => ({ sql, values });

/** Creates the statements for a database. */
export function createSql(dialect: DialectName): Sql {
  const words = dialectWords[dialect];
  const numbered = createNumbering(words);
  const writers: Pick<Sql, keyof Sql> = {
    dialect,
    words,
    facts: dialectFacts[dialect],
    list: words.list,
    text: (source, values) => ({ sql: dialect === 'sqlite' ? source : numbered(source), values }),
  };
  return Object.assign(createSqlTag(dialect), writers);
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
