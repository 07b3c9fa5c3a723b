import type { CollectionDdl } from '#src/platform/db/collection-ddl.js';
import type { Query } from '#src/platform/db/query.js';
import { type Collection, type Index, indexableOf, indexedColumn, isSystemField } from '../model/schema.js';

/**
 * The statement that creates an index over columns. Undefined if the database needs none: every collection has indexes over single system
 * fields, and arrays are not indexed, because no query could use them and long arrays exceed the size limit of an index entry.
 */
export function indexStatement(
  ddl: CollectionDdl,
  collection: Pick<Collection, 'number' | 'attributes'>,
  { number, type, attributes: keys, orders }: Pick<Index, 'number' | 'type' | 'attributes' | 'orders'>,
): Query | undefined {
  const columns = keys.flatMap((key, position) => {
    const part = indexableOf(collection, key);
    if (part === undefined || part.array) return [];
    return {
      column: indexedColumn(part),
      isTime: part.key === '$createdAt' || part.key === '$updatedAt',
      nullable: !isSystemField(part.key),
      descending: orders[position] === 'DESC',
    };
  });
  const isBuiltIn = type === 'key' && keys.length === 1 && keys.every(isSystemField);
  return columns.length === 0 || isBuiltIn
    ? undefined
    : ddl.createIndex(collection.number, number, columns, type === 'unique');
}
