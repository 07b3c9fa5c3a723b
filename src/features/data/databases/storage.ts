import { createCollectionDdl } from '#src/platform/db/collection-ddl.js';
import type { DialectName } from '#src/platform/db/dialect-words.js';
import { createLinkDdl } from '#src/platform/db/link-tables.js';
import type { Query } from '#src/platform/db/query.js';
import { singleSides } from './model/relation-sides.js';
import { type Collection, columnKind, currentLayout, fulltextIndexes, type Index } from './model/schema.js';
import { indexStatement } from './service/index-statement.js';
import type { IndexNumbers } from './service/word-batch.js';

/** The statements that create the storage of a collection that exists as a row only, such as one of a backup. */
export interface CollectionStorage {
  /** The tables of documents. */
  readonly documents: readonly Query[];
  /** The tables of links, for after the tables of all documents. */
  readonly links: readonly Query[];
  /** Indexes, for after the documents: building an index is faster than adding to it. */
  readonly indexes: readonly Query[];
  /** Fulltext indexes, which are empty then. */
  readonly words: readonly IndexNumbers[];
}

/** The storage of a collection in the current layout. */
export function storageOf(dialect: DialectName, collection: Collection): CollectionStorage {
  const ddl = createCollectionDdl(dialect);
  const links = createLinkDdl(dialect);
  const { number, attributes, relations, indexes } = collection;
  const columns = attributes.flatMap((attribute) =>
    attribute.type === 'relationship'
      ? links.addColumn(number, attribute.number)
      : [ddl.addColumn(number, attribute.number, columnKind(attribute))],
  );
  return {
    documents: [...ddl.create(number), ...columns],
    links: relations.flatMap(({ side, link, related, type }) =>
      side === 'parent' ? links.create(link, related.number, singleSides(type)) : [],
    ),
    indexes: indexes.flatMap((index) => {
      if (index.problem !== undefined) return [];
      if (index.type === 'fulltext') return ddl.createWords(number, index.number);
      return indexStatement(ddl, collection, index) ?? [];
    }),
    words: fulltextIndexes(collection).map(({ attribute, index }) => ({
      collection: number,
      attribute: attribute.number,
      index: index.number,
    })),
  };
}

/** The same collection with fulltext indexes that are still to be built, which a job does. */
export function withUnbuiltWords(collection: Collection): Pick<Collection, 'layout' | 'tracked' | 'indexes'> {
  const unbuilt = (index: Index) => index.type === 'fulltext' && index.problem === undefined;
  return {
    layout: currentLayout,
    tracked: true,
    indexes: collection.indexes.map((index) => (unbuilt(index) ? { ...index, builtTo: 0 } : index)),
  };
}
