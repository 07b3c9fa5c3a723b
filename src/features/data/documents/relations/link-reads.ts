import { relationLimits } from '#src/contract/limits.js';
import { documentTable } from '#src/platform/db/collection-tables.js';
import { linkTable } from '#src/platform/db/link-tables.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { type Collection, otherSide, type Relation } from '../../databases/index.js';
import { createSources, type Visibility } from '../query/sources.js';
import { documentColumns } from '../row.js';
import { createSerializers } from '../serializer.js';

/** SQL that reads what documents are related to. */
export function createLinkReads(sql: Sql) {
  const { dialect } = sql;
  const isOneOf = dialect === 'sqlite' ? 'in (select value from json_each(?))' : '= any(cast(? as text[]))';
  const most = dialect === 'sqlite' ? '?' : 'cast(? as bigint)';
  const serializerOf = createSerializers(dialect);
  const sourceOf = createSources(sql);
  return {
    /**
     * The documents that some are related to, each as often as it is, in the order of lists, with the id of the one as `owner` and the bytes of all
     * as `total`. Beyond so many bytes none is read.
     */
    related: (
      relation: Relation,
      collection: Collection,
      owners: readonly string[],
      visibility: Visibility,
      keys: readonly string[] | null,
      maxBytes: number,
    ): Query => {
      const table = documentTable(collection.number);
      const serializer = serializerOf(collection);
      const [data, bytes] = [serializer.data(keys), serializer.bytes(keys)];
      const { filter } = sourceOf(collection, visibility, visibility === 'everything' ? 'all' : 'walk');
      const visible = filter === undefined ? '' : ` and ${filter.sql}`;
      const few = `select ${relation.side} as owner, seq as at, ${bytes.sql} as bytes from ${linkTable(relation.link)} join ${table} on id = ${otherSide(relation)} where ${relation.side} ${isOneOf}${visible} order by seq limit ${relationLimits.read + 1}`;
      const measured = `select owner, at, sum(bytes) over () as total, ${most} as most from (${few}) as few`;
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

/** SQL that reads what documents are related to. */
export type LinkReads = ReturnType<typeof createLinkReads>;
