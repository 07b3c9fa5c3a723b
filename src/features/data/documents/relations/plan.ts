import { Failure } from '#src/contract/errors.js';
import type { Relation } from '../../databases/index.js';
import { type Collection, isToOne } from '../../databases/index.js';
import { visibilityOf } from '../access/access.js';
import type { CollectionContext, Collections } from '../access/collections.js';
import type { Visibility } from '../query/sources.js';
import { type Branch, followedOf, printedKeys } from './paths.js';

/** A relationship that a read follows: one statement reads the documents of a level. */
export interface Following {
  readonly relation: Relation;
  readonly isToOne: boolean;
  readonly where: CollectionContext;
  /** Undefined if the caller can see none of its documents. */
  readonly from: { readonly collection: Collection; readonly visibility: Visibility } | undefined;
  readonly keys: readonly string[] | null;
  readonly below: readonly Following[];
}

/** Plans how a branch is read, before any read; the schemas suffice. Throws Failure `general_query_invalid`. */
export async function planOf(
  collections: Collections,
  where: CollectionContext,
  collection: Collection,
  branch: Branch,
): Promise<readonly Following[]> {
  const plans: Following[] = [];
  for (const [relation, below] of followedOf(collection, branch)) {
    const { id, number } = relation.related;
    const related = { ...where, collectionId: id };
    const found = await collections.related(related, number);
    const visibility = found && visibleTo(related, found);
    const common = { relation, isToOne: isToOne(relation), where: related };
    if (found === undefined || visibility === undefined) {
      plans.push({ ...common, from: undefined, keys: [], below: [] });
      continue;
    }
    const keys = printedKeys(found, below);
    const from = { collection: found, visibility };
    plans.push({ ...common, from, keys, below: await planOf(collections, related, found, below) });
  }
  return plans;
}

/** Returns the documents of a list that the caller may see; undefined if none can be visible. */
export function visibleTo(where: CollectionContext, collection: Collection): Visibility | undefined {
  try {
    return visibilityOf(where, collection);
  } catch (error) {
    if (error instanceof Failure && error.type === 'user_unauthorized') return undefined;
    throw error;
  }
}
