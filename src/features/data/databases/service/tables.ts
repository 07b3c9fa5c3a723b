import { documentTable, readersTable, wordsTable } from '#src/platform/db/collection-tables.js';
import { linkTable } from '#src/platform/db/link-tables.js';
import type { Relation } from '../relations/model.js';
import type { Collection, Index } from '../schema.js';

/** The tables of documents of collections with these numbers, in the order in which changes of schemas lock them. */
export function documentTables(numbers: readonly number[]): readonly string[] {
  return [...new Set(numbers)].sort((one, other) => one - other).map(documentTable);
}

/** The tables that the removal of an index changes. */
export function tablesOfIndex({ number }: Collection, index: Index): readonly string[] {
  return [...documentTables([number]), ...(index.type === 'fulltext' ? [wordsTable(number, index.number)] : [])];
}

/** The tables that the removal of a relationship of a collection changes. */
export function tablesOfRelation({ number }: Collection, { link, related }: Relation): readonly string[] {
  return [...documentTables([number, related.number]), linkTable(link)];
}

/** The tables that the removal of collections changes: their own, and those of their relationships. */
export function tablesOf(removed: readonly Collection[]): readonly string[] {
  const relations = removed.flatMap((one) => one.relations);
  const numbers = [...removed.map(({ number }) => number), ...relations.map(({ related }) => related.number)];
  const own = removed.flatMap((one) => [
    readersTable(one.number),
    ...fulltextNumbers(one).map((index) => wordsTable(one.number, index)),
  ]);
  return [...documentTables(numbers), ...relations.map(({ link }) => linkTable(link)), ...own];
}

/** The numbers of the fulltext indexes of a collection, each of which has a table. */
export function fulltextNumbers({ indexes }: Collection): readonly number[] {
  return indexes.filter(({ type }) => type === 'fulltext').map(({ number }) => number);
}
