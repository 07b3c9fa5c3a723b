import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import { documentTable } from '#src/platform/db/collection-tables.js';
import { linkTable } from '#src/platform/db/link-tables.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { type Collection, otherSide, type Relation } from '../../databases/index.js';
import { createSerializers } from '../serializer.js';

/** SQL over the links of relationships, each said of the side that the relationship is of. */
export function createLinkStore(sql: Sql) {
  const { dialect } = sql;
  const isOneOf = dialect === 'sqlite' ? 'in (select value from json_each(?))' : '= any(cast(? as text[]))';
  const each = dialect === 'sqlite' ? 'json_each(?)' : 'unnest(cast(? as text[])) as given(value)';
  const text = dialect === 'sqlite' ? '?' : 'cast(? as text)';
  const serializerOf = createSerializers(dialect);
  return {
    /** Whether several units write at a time, so that documents are locked. */
    locks: dialect === 'postgres',
    /** Locks documents in the order of their ids until the end of the unit; for what only has to stay, links can be written beside it. */
    lock: (collection: number, ids: readonly string[], isWritten: boolean): Query =>
      sql.text(
        `select id from ${documentTable(collection)} where id ${isOneOf} order by id for ${isWritten ? 'update' : 'key share'}`,
        [sql.list(ids)],
      ),
    /** Keeps all others from writing documents of a collection, and from locking them, until the end of the unit. */
    lockAll: (collection: number): Query => sql.text(`lock table ${documentTable(collection)} in exclusive mode`, []),
    /** Keeps other units that do the same from going on with these ids until the end of the unit, whether there are such documents or not. */
    reserve: (collection: number, ids: readonly string[]): Query =>
      sql.text(
        `select pg_advisory_xact_lock(place) from (select distinct hashtextextended(value, ${collection}) as place from unnest(cast(? as text[])) as given(value) order by place) as places`,
        [sql.list(ids)],
      ),
    /** The documents that one is related to, as `id`. */
    relatedTo: (relation: Relation, id: string, limit: number): Query =>
      sql.text(
        `select ${otherSide(relation)} as id from ${linkTable(relation.link)} where ${relation.side} = ? limit ${limit}`,
        [id],
      ),
    /** The documents that any of these is related to, as `id`. */
    relatedToAny: (relation: Relation, ids: readonly string[], limit: number): Query =>
      sql.text(
        `select distinct ${otherSide(relation)} as id from ${linkTable(relation.link)} where ${relation.side} ${isOneOf} limit ${limit}`,
        [sql.list(ids)],
      ),
    /** Which of these related documents are related to another than one, as `id`. */
    takenFrom: (relation: Relation, id: string, others: readonly string[]): Query =>
      sql.text(
        `select ${otherSide(relation)} as id from ${linkTable(relation.link)} where ${otherSide(relation)} ${isOneOf} and ${relation.side} <> ?`,
        [sql.list(others), id],
      ),
    insert: (relation: Relation, id: string, others: readonly string[]): Query =>
      sql.text(
        `insert into ${linkTable(relation.link)} (${relation.side}, ${otherSide(relation)}) select distinct ${text}, value from ${each}`,
        [id, sql.list(others)],
      ),
    /** Unlinks related documents, whatever they are related to. */
    removeOf: (relation: Relation, others: readonly string[]): Query =>
      sql.text(`delete from ${linkTable(relation.link)} where ${otherSide(relation)} ${isOneOf}`, [sql.list(others)]),
    /** Unlinks related documents from one. */
    remove: (relation: Relation, id: string, others: readonly string[]): Query =>
      sql.text(
        `delete from ${linkTable(relation.link)} where ${relation.side} = ? and ${otherSide(relation)} ${isOneOf}`,
        [id, sql.list(others)],
      ),
    /** What documents show of a relationship to one; the time of their last change stays. */
    show: (collection: Collection, attribute: number, ids: readonly string[], value: string | null): Query => {
      const serializer = serializerOf(collection);
      const printed = serializer.changed(new Map([[attribute, JSON.stringify(value)]]));
      return sql.text(
        `update ${documentTable(collection.number)} set ${attributeColumn(attribute)} = ${text}, shape = ${text}, printed = ${printed.sql} where id ${isOneOf} and (select version from collections where number = ?) = ?`,
        [value, serializer.schemaHash, ...printed.values, sql.list(ids), collection.number, collection.version],
      );
    },
  };
}

/** SQL over the links of relationships. */
export type LinkStore = ReturnType<typeof createLinkStore>;
