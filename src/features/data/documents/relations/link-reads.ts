import { relationLimits } from '#src/contract/limits.js';
import { documentTable } from '#src/platform/db/collection-tables.js';
import { linkTable } from '#src/platform/db/link-tables.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { type Collection, otherSide, type Relation } from '../../databases/index.js';
import { documentColumns } from '../model/row.js';
import { createSerializers } from '../model/serializer.js';
import { type Visibility, visibleFilter } from '../query/sources.js';

/** SQL that reads related documents. */
export interface LinkReads {
  /**
   * Reads the documents that are related to some owners, in the order of lists. A document appears once for each owner, with the owner's
   * id as `owner`. `total` is the number of bytes of all documents; if it exceeds `maxBytes`, no attributes are read.
   */
  related(
    relation: Relation,
    collection: Collection,
    owners: readonly string[],
    visibility: Visibility,
    keys: readonly string[] | null,
    maxBytes: number,
  ): Query;
}

/** Creates the SQL that reads related documents. */
export function createLinkReads(sql: Sql): LinkReads {
  const { isOneOf, typed } = sql.words;
  const serializerOf = createSerializers(sql.words);
  return {
    related: (relation, collection, owners, visibility, keys, maxBytes) => {
      const table = documentTable(collection.number);
      const serializer = serializerOf(collection);
      const [data, bytes] = [serializer.data(keys), serializer.bytes(keys)];
      const filter = visibleFilter(sql, collection, visibility);
      const visible = filter === undefined ? '' : ` and ${filter.sql}`;
      const few = `select ${relation.side} as owner, seq as at, ${bytes.sql} as bytes from ${linkTable(relation.link)} join ${table} on id = ${otherSide(relation)} where ${relation.side} ${isOneOf}${visible} order by seq limit ${relationLimits.read + 1}`;
      const measured = `select owner, at, sum(bytes) over () as total, ${typed('integer')} as most from (${few}) as few`;
      const version = '(select version from collections where number = ?)';
      return {
        ...sql.text(
          `select owner, ${documentColumns}, case when total <= most then ${data.sql} end as data, cast(total as text) as total, cast(${version} as text) as version from (${measured}) as page join ${table} on seq = at order by at, owner`,
          [
            ...data.values,
            collection.number,
            maxBytes,
            ...bytes.values,
            sql.list(owners),
            ...(filter === undefined ? [] : filter.values),
          ],
        ),
        allText: true,
      };
    },
  };
}
