import { attributeColumn } from './collection-ddl.js';
import { documentTable } from './collection-tables.js';
import type { DialectName } from './dialect-words.js';
import { type Query, statement } from './query.js';
import type { TableDrop } from './table-removal.js';

/** A side of a link. The parents are in the collection that the relationship was created in. */
export type LinkSide = 'parent' | 'child';

/** Identifies a relationship: the collection and the attribute it was created as. */
export interface LinkNumbers {
  readonly collection: number;
  readonly attribute: number;
}

/** The table of the linked pairs of documents. Table names contain only numbers assigned by the service. */
export const linkTable = ({ collection, attribute }: LinkNumbers): string => `l_${collection}_${attribute}`;

/** The statements that create and drop the storage of relationships, on either database, inside a transaction. */
export function createLinkDdl(dialect: DialectName) {
  const text = dialect === 'sqlite' ? 'text' : 'text collate "C"';
  return {
    /**
     * A document on a single side has at most one link; a unique index enforces this for concurrent units. `restricts` is true if the
     * creator of the link could change the document whose deletion it may prevent.
     */
    create: (link: LinkNumbers, related: number, isSingle: Readonly<Record<LinkSide, boolean>>): Query[] => {
      const table = linkTable(link);
      const column = (side: LinkSide, collection: number) =>
        `${side} ${text} not null references ${documentTable(collection)} (id) on delete cascade`;
      const single = isSingle.parent ? [statement(`create unique index ${table}_parent on ${table} (parent)`)] : [];
      return [
        statement(
          `create table ${table} (${column('parent', link.collection)}, ${column('child', related)}, restricts smallint not null default 1, primary key (parent, child))`,
        ),
        statement(`create ${isSingle.child ? 'unique ' : ''}index ${table}_child on ${table} (child)`),
        ...single,
      ];
    },
    drop: (link: LinkNumbers): TableDrop => ({ before: [], tables: [linkTable(link)], after: [] }),
    /** Adds the column with the id of the linked document, and an index for filtering lists by it. */
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

/** The statements that create and drop the storage of relationships. */
export type LinkDdl = ReturnType<typeof createLinkDdl>;
