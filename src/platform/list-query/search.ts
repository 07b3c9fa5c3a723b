import { invalidParam } from '#src/contract/errors.js';
import type { Sql } from '#src/platform/db/query.js';
import { joined, raw, type SqlPart } from '#src/platform/db/template.js';
import type { Reader } from '#src/platform/db/unit.js';
import { type Gram, gramsOf, matchOf, rowGrams, type SearchIndex, searchTables } from './query/search-grams.js';
import { searchTermsIn } from './query/search-terms.js';
import { type ListDeps, type ListDescription, type ListRows, narrowed } from './rows.js';

/** The rows of a list that a search finds. */
export interface Searched {
  readonly matching: ListRows;
  /** Their number, if the search has counted them. */
  readonly total?: number;
  /** The highest total, if it is not that of other lists. */
  readonly upTo?: number;
}

/** The highest total of a search by the index, which reads each match. With fewer matches, it sorts all of them. */
const searchTotal = 500;

/**
 * On Postgres a search reads `rows` rows first. If `matches` of them match, reading on in the order of the list finds a page soon. Otherwise
 * it looks up the `used` rarest of up to `grams` grams.
 */
const sample = { rows: 400, matches: 20, grams: 24, used: 4 } as const;

/**
 * Finds how to search a list. Long lists use the index unless it finds many rows: then the next ones in the order of the list are read until
 * the page is full. Throws Failure `general_argument_invalid` if no index serves the search of a long list.
 */
export async function searched(
  deps: ListDeps,
  reader: Reader,
  { rows, search, searchIndex }: Pick<ListDescription, 'rows' | 'search' | 'searchIndex'>,
  text: string,
): Promise<Searched> {
  if (text === '' || search === undefined) return { matching: rows };
  const { sql, few } = deps;
  const terms = searchTermsIn(search, text, sql);
  const matching = narrowed(sql, rows, [terms]);
  if (searchIndex === undefined || terms.values.length === 0) return { matching };
  const [column, scope] = searchIndex.scope;
  const all = { from: raw(searchIndex.table), where: raw(`${column} = ?`, [scope]) };
  if ((await countRows(sql, reader, all, few + 1)) <= few) return { matching };
  const grams = gramsOf(text);
  if (grams.length === 0)
    throw invalidParam(
      'search',
      `needs a word of at least 3 characters, because the list has more than ${few} entries.`,
    );
  return sql.dialect === 'sqlite'
    ? inFullText(deps, reader, searchIndex, matching, grams)
    : inGrams(deps, reader, searchIndex, { all, matching }, grams);
}

/** The full-text table of SQLite returns rows one by one, so reading some of them is fast however many match. */
async function inFullText(
  { sql, few, totalLimit }: ListDeps,
  reader: Reader,
  { table, scope: [column] }: SearchIndex,
  matching: ListRows,
  grams: readonly Gram[],
): Promise<Searched> {
  const { search, numbers } = searchTables(table);
  const from = raw(
    `${search} cross join ${numbers} on ${numbers}.seq = ${search}.rowid cross join ${table} on ${table}.${column} = ${numbers}.scope and ${table}.id = ${numbers}.row_id`,
  );
  const isMatch = raw(`${search} match ?`, [matchOf(grams)]);
  const upTo = Math.min(few, searchTotal);
  const ids = await reader.all(
    sql`select ${raw(numbers)}.row_id as id from ${from} where ${matching.where} and ${isMatch} limit ${upTo}`,
  );
  if (ids.length >= upTo) return totalLimit === 0 ? { matching } : { matching, total: upTo };
  const isFound = raw(`${table}.id ${sql.words.isOneOf}`, [ids.map(({ id }) => String(id))]);
  return { matching: { ...matching, where: sql`${matching.where} and ${isFound}` }, total: ids.length };
}

/** An index of Postgres returns all matches at once, so a sample of the list decides if there are many. */
async function inGrams(
  deps: ListDeps,
  reader: Reader,
  index: SearchIndex,
  { all, matching }: { readonly all: ListRows; readonly matching: ListRows },
  grams: readonly Gram[],
): Promise<Searched> {
  const { sql, few, totalLimit } = deps;
  const { table, scope } = index;
  const upTo = totalLimit === 0 ? 0 : Math.min(few, searchTotal);
  const name = raw(table);
  const every = sql`select * from ${all.from} where ${all.where}`;
  const first = sql`(${every} order by created_at, id limit ${sample.rows}) as ${name}`;
  if ((await countRows(sql, reader, { ...matching, from: first }, sample.matches)) >= sample.matches)
    return { matching, upTo };
  const has = (await rarest(sql, reader, index, first, grams)).map((gram) => {
    const keys = gram.map((one) => `${scope[1]} ${one}`);
    return sql`${raw(rowGrams(index))} ${raw(keys.length === 1 ? '@>' : '&&')} cast(${keys} as text[])`;
  });
  // `offset 0` keeps Postgres from reading the list in its order and looking for matches one by one.
  return { matching: { ...matching, from: sql`(${every} and ${joined(has, ' and ')} offset 0) as ${name}` }, upTo };
}

/** The grams that the fewest rows of a sample have. The index reads the entries of each gram, so common ones cost more than they exclude. */
async function rarest(sql: Sql, reader: Reader, { texts }: SearchIndex, first: SqlPart, grams: readonly Gram[]) {
  const some = grams.slice(0, sample.grams);
  const text = raw(`lower((${texts.map((name) => `coalesce(${name}, '')`).join(' || chr(10) || ')}) collate "C")`);
  const counts = some.map((gram, at) => {
    const has = raw(gram.map(() => 'strpos(given, ?) > 0').join(' or '), gram);
    return sql`count(*) filter (where ${has}) as ${raw(`n${at}`)}`;
  });
  const row = await reader.one(
    sql`select ${joined(counts, ', ')} from (select ${text} as given from ${first}) as sampled`,
  );
  const countOf = (gram: Gram) => Number(row?.[`n${some.indexOf(gram)}`] ?? 0);
  return some.toSorted((one, other) => countOf(one) - countOf(other)).slice(0, sample.used);
}

/** Counts rows up to a limit, or all with the limit 0. */
export async function countRows(sql: Sql, reader: Reader, { from, where }: ListRows, upTo: number): Promise<number> {
  const row = await reader.one(
    upTo === 0
      ? sql`select count(*) as total from ${from} where ${where}`
      : sql`select count(*) as total from (select 1 as one from ${from} where ${where} limit ${upTo}) as counted`,
  );
  return Number(row?.total ?? 0);
}
