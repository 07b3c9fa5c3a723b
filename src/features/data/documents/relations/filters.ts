import { Failure } from '#src/contract/errors.js';
import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import { documentTable } from '#src/platform/db/collection-tables.js';
import { linkTable } from '#src/platform/db/link-tables.js';
import type { Sql } from '#src/platform/db/query.js';
import { type Fragment, join } from '#src/platform/list-query/index.js';
import { retry } from '#src/platform/runtime/retry.js';
import { type Collection, isToOne, otherSide, type Relation } from '../../databases/index.js';
import type { CollectionContext, Collections } from '../access/collections.js';
import type { RelatedFilter, RelatedFilters } from '../query/parse.js';
import { type Visibility, visibleFilter } from '../query/sources.js';
import { visibleTo } from './plan.js';

/** Error for a relationship in a query whose collection is not loaded yet. */
class NotLoaded extends Error {
  readonly relation: Relation;

  constructor(relation: Relation) {
    super('a related collection is not loaded');
    this.relation = relation;
  }
}

/** Parses queries that may name attributes of related documents, and loads their collections. */
export type WithRelated = <T>(
  where: CollectionContext,
  collection: Collection,
  parse: (filters?: RelatedFilters) => T,
) => Promise<T>;

/**
 * Creates the filters by related documents. A condition matches if the caller may read a related document that meets it. So lists reveal
 * nothing about documents that the caller may not read.
 */
export function createRelatedFilters(sql: Sql, collections: Collections): WithRelated {
  const withinOf =
    (relation: Relation, collection: Collection, visibility: Visibility): RelatedFilter['within'] =>
    (condition): Fragment => {
      const filter = visibleFilter(sql, collection, visibility);
      const matching = join(filter === undefined ? [condition] : [condition, filter], ' and ');
      const ids = `select id from ${documentTable(collection.number)} where ${matching.sql}`;
      const { values } = matching;
      if (isToOne(relation)) return { sql: `${attributeColumn(relation.number)} in (${ids})`, values };
      const linked = `select ${relation.side} from ${linkTable(relation.link)} where ${otherSide(relation)} in (${ids})`;
      return { sql: `id in (${linked})`, values };
    };
  const load = async (where: CollectionContext, relation: Relation): Promise<Loaded> => {
    const { id, number } = relation.related;
    const related = { ...where, collectionId: id };
    const find = async (): Promise<Loaded> => {
      const collection = await collections.related(related, number);
      const visibility = collection && visibleTo(related, collection);
      return collection === undefined || visibility === undefined ? undefined : { collection, visibility };
    };
    const found = await find();
    if (found !== undefined) return found;
    // The cached collection may lack a new permission.
    collections.forget(related);
    return find();
  };
  return async (where, collection, parse) => {
    if (collection.relations.length === 0) return parse();
    const known = new Map<number, Loaded>();
    const filters: RelatedFilters = (relation) => {
      const { number } = relation.related;
      if (!known.has(number)) throw new NotLoaded(relation);
      const loaded = known.get(number);
      if (loaded === undefined) return { within: () => ({ sql: '1 = 0', values: [] }), collection: undefined };
      return { within: withinOf(relation, loaded.collection, loaded.visibility), collection: loaded.collection };
    };
    const forgetAll = () => {
      for (const loaded of known.values())
        if (loaded !== undefined) collections.forget({ ...where, collectionId: loaded.collection.id });
      known.clear();
    };
    let isFresh = false;
    const amend = async (error: unknown): Promise<boolean> => {
      if (error instanceof NotLoaded) {
        known.set(error.relation.related.number, await load(where, error.relation));
        return true;
      }
      if (!(error instanceof Failure) || known.size === 0 || isFresh) return false;
      // A cached collection may lack a new attribute.
      isFresh = true;
      forgetAll();
      return true;
    };
    return retry(async () => parse(filters), amend);
  };
}

/** A related collection; undefined if the caller can see none of its documents. */
type Loaded = { readonly collection: Collection; readonly visibility: Visibility } | undefined;
