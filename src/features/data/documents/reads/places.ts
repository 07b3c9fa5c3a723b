import { Failure } from '#src/contract/errors.js';
import { answerLimits } from '#src/contract/limits.js';
import { Lru } from '#src/platform/cache/lru.js';
import { createLoader, type Loader } from '#src/platform/db/batch.js';
import type { Query, Value } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { boundValue, type Order } from '#src/platform/list-query/index.js';
import type { Collection } from '../../databases/index.js';
import { isReadable } from '../access/access.js';
import type { CollectionContext } from '../access/collections.js';
import { isShortOrder } from '../query/compile.js';
import type { Field, ParsedList } from '../query/parse.js';

/** Bounds of the loaders of a collection, one for each order; a loader takes about a kibibyte. */
const cacheBounds = { bytes: 65_536, entries: 50, largest: 4096 } as const;

/** Looks up the document of a cursor; null without a cursor. */
export type CursorLookup = (
  reader: Reader | undefined,
  where: CollectionContext,
  collection: Collection,
  parsed: ParsedList,
) => Promise<readonly Value[] | null>;

/**
 * Creates the lookup of a cursor's document. It returns the document's values in the columns of the list's order. Lists with the same order
 * share statements, unless a snapshot is given. Throws Failure `general_cursor_not_found`.
 */
export function createCursorLookup(
  { db, sql }: Pick<Runtime, 'db' | 'sql'>,
  queryOf: (collection: Collection, ids: readonly string[], orders: readonly Order<Field>[]) => Query,
): CursorLookup {
  const loaders = new WeakMap<Collection, Lru<Loader<Row>>>();
  const loaderOf = (collection: Collection, orders: readonly Order<Field>[]): Loader<Row> => {
    const ofCollection = loaders.get(collection) ?? new Lru<Loader<Row>>(cacheBounds);
    loaders.set(collection, ofCollection);
    const key = orders.map(({ field }) => (field.kind === 'system' ? field.name : field.attribute.number)).join(' ');
    const before = ofCollection.get(key);
    if (before !== undefined) return before;
    const load = async (ids: readonly string[]) => {
      const rows = await db.all(queryOf(collection, ids, orders));
      return new Map(rows.map((row) => [String(row.id), row]));
    };
    const loader = createLoader(sql.dialect, load, answerLimits.documentsTogether);
    ofCollection.set(key, loader, 1024);
    return loader;
  };
  return async (reader, where, collection, { query: { orders }, cursorId }) => {
    if (cursorId === null) return null;
    const alone = reader ?? (isShortOrder(orders) ? undefined : db.lists(where.reading));
    const row = await (alone === undefined
      ? loaderOf(collection, orders)(cursorId)
      : alone.one(queryOf(collection, [cursorId], orders)));
    if (row === undefined || !isReadable(where, collection, JSON.parse(String(row.permissions))))
      throw new Failure('general_cursor_not_found');
    const { id, permissions, ...columns } = row;
    return Object.values(columns).map(boundValue);
  };
}
