import { attributeColumn } from './collection-ddl.js';
import { documentTable } from './collection-tables.js';
import type { DialectName, Query } from './query.js';

/** One of the two documents that a link joins: the collection that the relationship was created in has the parents. */
export type LinkSide = 'parent' | 'child';

/** Which relationship: the collection and the attribute that it was created as. */
export interface LinkNumbers {
  readonly collection: number;
  readonly attribute: number;
}

/** The table of the pairs of documents that a relationship joins; every name in it is made of our own numbers. */
export const linkTable = ({ collection, attribute }: LinkNumbers): string => `l_${collection}_${attribute}`;

/** The statements that make and remove what relationships are kept in, on either database, inside a transaction. */
export function createLinkDdl(dialect: DialectName) {
  const statement = (sql: string): Query => ({ sql, values: [] });
  const text = dialect === 'sqlite' ? 'text' : 'text collate "C"';
  return {
    /** A document of a single side is in one link at most, which the database holds also where two units meet. */
    create: (link: LinkNumbers, related: number, isSingle: Readonly<Record<LinkSide, boolean>>): Query[] => {
      const table = linkTable(link);
      const column = (side: LinkSide, collection: number) =>
        `${side} ${text} not null references ${documentTable(collection)} (id) on delete cascade`;
      const single = isSingle.parent ? [statement(`create unique index ${table}_parent on ${table} (parent)`)] : [];
      return [
        statement(
          `create table ${table} (${column('parent', link.collection)}, ${column('child', related)}, primary key (parent, child))`,
        ),
        statement(`create ${isSingle.child ? 'unique ' : ''}index ${table}_child on ${table} (child)`),
        ...single,
      ];
    },
    drop: (link: LinkNumbers): Query => statement(`drop table ${linkTable(link)}`),
    /** The column in which a document shows the one that it is linked to, and its index, by which lists are filtered. */
    addColumn: (collection: number, attribute: number): Query[] => [
      statement(`alter table ${documentTable(collection)} add column ${attributeColumn(attribute)} ${text}`),
      statement(
        `create index ${shownIndex(collection, attribute)} on ${documentTable(collection)} (${attributeColumn(attribute)}${dialect === 'postgres' ? ' nulls first, seq' : ''})`,
      ),
    ],
    dropColumn: (collection: number, attribute: number): Query[] => [
      statement(`drop index if exists ${shownIndex(collection, attribute)}`),
      statement(`alter table ${documentTable(collection)} drop column ${attributeColumn(attribute)}`),
    ],
  };
}

const shownIndex = (collection: number, attribute: number): string => `x_${collection}_${attribute}`;

/** The statements that make and remove what relationships are kept in. */
export type LinkDdl = ReturnType<typeof createLinkDdl>;
