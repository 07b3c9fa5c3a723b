import { Failure } from '#src/contract/errors.js';
import { answerLimits } from '#src/contract/limits.js';
import { createLoader, type Loader } from '#src/platform/db/batch.js';
import type { Query, Value } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind, type Order } from '#src/platform/list-query/index.js';
import { Lru } from '#src/platform/lru.js';
import type { Collection } from '../../databases/index.js';
import { isReadable } from '../access.js';
import type { Where } from '../collections.js';
import { isShortOrder } from './compile.js';
import type { Field, ParsedList } from './parse.js';

/** Orders of a collection by which cursors are looked up together; a loader takes about a kibibyte. */
const cacheBounds = { bytes: 65_536, entries: 50, largest: 4096 } as const;
/**
 * Creates what finds where the document of a list's cursor stands in its order. Callers whose lists have the same order share statements, unless
 * a reader of one state is given. Throws Failure `general_cursor_not_found`.
 */
export function createPlaces(
  { db, sql }: Pick<Runtime, 'db' | 'sql'>,
  queryOf: (collection: Collection, ids: readonly string[], orders: readonly Order<Field>[]) => Query,
) {
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
  return async (
    reader: Reader | undefined,
    where: Where,
    collection: Collection,
    { query: { orders }, cursorId }: ParsedList,
  ): Promise<readonly Value[] | null> => {
    if (cursorId === null) return null;
    const alone = reader ?? (isShortOrder(orders) ? undefined : db.lists(where.reading));
    const row = await (alone === undefined
      ? loaderOf(collection, orders)(cursorId)
      : alone.one(queryOf(collection, [cursorId], orders)));
    if (row === undefined || !isReadable(where, collection, JSON.parse(String(row.permissions))))
      throw new Failure('general_cursor_not_found');
    const { id, permissions, ...columns } = row;
    return Object.values(columns).map(bind);
  };
}
