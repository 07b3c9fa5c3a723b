import type { Collection } from '../../databases/index.js';
import type { IndexColumn } from './advice.js';
import { isGroup, type Shape, type ShapeField, type Term } from './shape.js';

/** Most characters of the key of an index. */
const keyLength = 36;

/** Symbols of methods; others are printed by name. */
const signs: Readonly<Record<string, string>> = {
  equal: '= …',
  notEqual: '!= …',
  lessThan: '< …',
  lessThanEqual: '<= …',
  greaterThan: '> …',
  greaterThanEqual: '>= …',
  in: 'in …',
  isNull: 'is null',
  isNotNull: 'is not null',
};

/** Describes a shape in words, such as `author = … order by $createdAt desc`. */
export function describeShape({ where, orders }: Shape, collection: Collection): string {
  const nameOf = (field: ShapeField) =>
    typeof field === 'string' ? field : (collection.attributes.find(({ number }) => number === field)?.key ?? '?');
  const describe = (term: Term): string =>
    isGroup(term)
      ? `(${term[1].map(describe).join(` ${term[0]} `)})`
      : `${nameOf(term[1] as ShapeField)} ${signs[term[0]] ?? `${term[0]} …`}`;
  const filter = where.length === 0 ? 'all documents' : where.map(describe).join(' and ');
  if (orders.length === 0) return filter;
  const sorted = orders.map(([field, direction]) => nameOf(field) + (direction === 'desc' ? ' desc' : ''));
  return `${filter} order by ${sorted.join(', ')}`;
}

/** Returns the command that adds an index, with a key that the collection does not have yet. */
export function addIndexCommand(collection: Collection, columns: readonly IndexColumn[]): string {
  const list = columns.map(({ key, descending }) => key + (descending ? ':desc' : '')).join(',');
  const { id, projectId, databaseId } = collection;
  const key = freeKey(collection, `by-${columns.map((column) => column.key).join('-')}`);
  return `svc collection add-index ${id} ${key} --project ${projectId} --database ${databaseId} --attributes ${list}`;
}

function freeKey({ indexes }: Collection, wanted: string): string {
  const isTaken = (key: string) => indexes.some((index) => index.key === key);
  let key = wanted.slice(0, keyLength);
  for (let count = 2; isTaken(key); count++) key = `${wanted.slice(0, keyLength - 1 - String(count).length)}-${count}`;
  return key;
}
