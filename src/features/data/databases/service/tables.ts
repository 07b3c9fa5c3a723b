import { documentTable, readersTable, wordsTable } from '#src/platform/db/collection-tables.js';
import { linkTable } from '#src/platform/db/link-tables.js';
import type { Relation } from '../model/relation.js';
import type { Collection, Index } from '../model/schema.js';

/** Returns the document tables of collections, in the order in which schema changes lock them. */
export function documentTables(numbers: readonly number[]): readonly string[] {
  return [...new Set(numbers)].sort((one, other) => one - other).map(documentTable);
}

/** Returns the tables affected by the removal of indexes. */
export function tablesOfIndexes({ number }: Collection, indexes: readonly Index[]): readonly string[] {
  const words = indexes.filter(({ type }) => type === 'fulltext').map((index) => wordsTable(number, index.number));
  return [...documentTables([number]), ...words];
}

/** Returns the tables affected by the removal of a relationship. */
export function tablesOfRelation({ number }: Collection, { link, related }: Relation): readonly string[] {
  return [...documentTables([number, related.number]), linkTable(link)];
}

/** Returns the tables affected by the removal of collections: their own, and those of their relationships. */
export function tablesOf(removed: readonly Collection[]): readonly string[] {
  const relations = removed.flatMap((one) => one.relations);
  const numbers = [...removed.map(({ number }) => number), ...relations.map(({ related }) => related.number)];
  const own = removed.flatMap((one) => [
    readersTable(one.number),
    ...fulltextNumbers(one).map((index) => wordsTable(one.number, index)),
  ]);
  return [...documentTables(numbers), ...relations.map(({ link }) => linkTable(link)), ...own];
}

/** Returns the numbers of the fulltext indexes of a collection. Each has a table. */
export function fulltextNumbers({ indexes }: Collection): readonly number[] {
  return indexes.filter(({ type }) => type === 'fulltext').map(({ number }) => number);
}
