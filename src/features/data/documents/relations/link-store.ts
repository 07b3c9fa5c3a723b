import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import { documentTable } from '#src/platform/db/collection-tables.js';
import { linkTable } from '#src/platform/db/link-tables.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { type Collection, otherSide, type Relation } from '../../databases/index.js';
import { createSerializers } from '../model/serializer.js';

/** Creates the SQL for links of relationships. The side of the given relationship decides where a statement starts. */
export function createLinkStore(sql: Sql) {
  const { isOneOf, eachOfList, typed } = sql.words;
  const text = typed('text');
  const serializerOf = createSerializers(sql.words);
  return {
    /** Finds the links of documents: `owner` and the related `id`. */
    linksOf: (relation: Relation, ids: readonly string[]): Query =>
      sql.text(
        `select ${relation.side} as owner, ${otherSide(relation)} as id from ${linkTable(relation.link)} where ${relation.side} ${isOneOf}`,
        [sql.list(ids)],
      ),
    /** Finds the documents related to one, as `id`. */
    relatedTo: (relation: Relation, id: string, limit: number): Query =>
      sql.text(
        `select ${otherSide(relation)} as id from ${linkTable(relation.link)} where ${relation.side} = ? limit ${limit}`,
        [id],
      ),
    /**
     * Finds the related documents, as `id`, whose links were created by callers who could change this one. Only these links can prevent its
     * deletion.
     */
    binding: (relation: Relation, id: string, limit: number): Query =>
      sql.text(
        `select ${otherSide(relation)} as id from ${linkTable(relation.link)} where ${relation.side} = ? and restricts = 1 limit ${limit}`,
        [id],
      ),
    /** Finds those of the related documents, as `id`, that are related to a document other than this one. */
    takenFrom: (relation: Relation, id: string, others: readonly string[]): Query =>
      sql.text(
        `select ${otherSide(relation)} as id from ${linkTable(relation.link)} where ${otherSide(relation)} ${isOneOf} and ${relation.side} <> ?`,
        [sql.list(others), id],
      ),
    insert: (relation: Relation, id: string, others: readonly string[], restricts: boolean): Query =>
      sql.text(
        `insert into ${linkTable(relation.link)} (${relation.side}, ${otherSide(relation)}, restricts) select distinct ${text}, value, ${restricts ? 1 : 0} from ${eachOfList('given')}`,
        [id, sql.list(others)],
      ),
    /** Removes all links of related documents. */
    removeOf: (relation: Relation, others: readonly string[]): Query =>
      sql.text(`delete from ${linkTable(relation.link)} where ${otherSide(relation)} ${isOneOf}`, [sql.list(others)]),
    /** Removes the links between a document and related ones. */
    remove: (relation: Relation, id: string, others: readonly string[]): Query =>
      sql.text(
        `delete from ${linkTable(relation.link)} where ${relation.side} = ? and ${otherSide(relation)} ${isOneOf}`,
        [id, sql.list(others)],
      ),
    /** Sets what documents show of a relationship to one. The time of their last change stays. */
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

/** SQL for links of relationships. */
export type LinkStore = ReturnType<typeof createLinkStore>;
