import { Failure } from '#src/contract/errors.js';
import { relationLimits } from '#src/contract/limits.js';
import type { Unit } from '#src/platform/db/unit.js';
import { type Collection, decides, isFromOne, isToOne, type Relation } from '../../databases/index.js';
import type { Target } from '../access/access.js';
import { absent, SchemaChanged } from '../store/errors.js';
import { grantedOf, readIds, readRelated } from './related.js';
import { isOther, type RelationDeps } from './writes.js';

/**
 * Applies relationships before a document is deleted: refuses the deletion, unlinks documents, and returns those to delete with it. The
 * caller needs permission to delete each. Throws Failure `document_delete_restricted`.
 */
export type Release = (unit: Unit, target: Target) => Promise<readonly Target[]>;

/** Creates the function that applies relationships to a deletion. */
export function createRelease(deps: RelationDeps): Release {
  return release.bind(undefined, deps);
}

async function release(deps: RelationDeps, unit: Unit, target: Target) {
  const { store } = deps;
  const doomed = new Map([[keyOf(target.collection, target.id), target]]);
  // The loop also visits entries that are added to the map.
  for (const one of doomed.values()) {
    // A locked document gets no new links.
    if ((await unit.one(store.permissions(one.collection, one.id))) === undefined)
      throw await absent(unit, store, one.collection);
    for (const relation of one.collection.relations)
      if (decides(relation) && relation.onDelete === 'cascade') await addLinked(deps, unit, one, relation, doomed);
  }
  for (const one of doomed.values())
    for (const relation of one.collection.relations) {
      if (decides(relation) && relation.onDelete === 'restrict') await requireNone(deps, unit, one, relation, doomed);
      await unlink(deps, unit, one, relation, doomed);
    }
  return [...doomed.values()].slice(1);
}

function keyOf({ number }: Pick<Collection, 'number'>, id: string): string {
  return `${number} ${id}`;
}

/** Adds the documents that a relationship deletes with one. */
async function addLinked(deps: RelationDeps, unit: Unit, one: Target, relation: Relation, doomed: Map<string, Target>) {
  const { databases, store, links } = deps;
  const most = relationLimits.deleted + 1;
  const binding = () => readIds(unit, links.binding(relation, one.id, most));
  const all = await readIds(unit, links.relatedTo(relation, one.id, most));
  // Any number of links of strangers must not prevent the deletion.
  const ids = all.length === most ? await binding() : all;
  const related = await readRelated(databases, unit, one.where, relation);
  const added = ids.filter((id) => !doomed.has(keyOf(related.collection, id))).sort();
  if (added.length === 0) return;
  if (doomed.size + added.length > relationLimits.deleted) throw tooMany('delete', relationLimits.deleted);
  const granted = await grantedOf(unit, store, related, added, 'delete');
  if (granted.size < added.length) {
    // A document stays, unlinked, if the caller that linked it could not change this one.
    if ((await binding()).some((id) => added.includes(id) && !granted.has(id)))
      throw new Failure('user_unauthorized', {
        message: ({ document }) =>
          `You do not have the permission to delete every ${document} that is deleted with this one.`,
      });
  }
  for (const id of added.filter((each) => granted.has(each)))
    doomed.set(keyOf(related.collection, id), { collection: related.collection, where: related.where, id });
}

type AllDoomed = ReadonlyMap<string, Target>;

/** Throws if a link restricts the deletion. Only links of callers who could change the document do; others are removed. */
async function requireNone({ links }: RelationDeps, unit: Unit, one: Target, relation: Relation, doomed: AllDoomed) {
  const ids = await readIds(unit, links.binding(relation, one.id, doomed.size + 1));
  if (ids.some((id) => !doomed.has(keyOf(relation.related, id)))) throw new Failure('document_delete_restricted');
}

/** Clears the relationship in documents that show this one. */
async function unlink(deps: RelationDeps, unit: Unit, one: Target, relation: Relation, doomed: AllDoomed) {
  const { databases, links } = deps;
  if (!isFromOne(relation)) return;
  const related = await readRelated(databases, unit, one.where, relation);
  const own = related.collection.relations.find((each) => isOther(each, relation));
  if (own === undefined) throw new SchemaChanged();
  if (own.hidden || !isToOne(own)) return;
  const ids = await readIds(unit, links.relatedTo(relation, one.id, relationLimits.unlinked + 1));
  if (ids.length > relationLimits.unlinked) throw tooMany('unlink', relationLimits.unlinked);
  const left = ids.filter((id) => !doomed.has(keyOf(related.collection, id)));
  if (left.length > 0 && (await unit.run(links.show(related.collection, own.number, left, null))) === 0)
    throw new SchemaChanged();
}

function tooMany(what: string, most: number): Failure {
  return new Failure('general_bad_request', {
    message: ({ documents }) =>
      `The deletion would ${what} more than ${most} related ${documents}. Delete or change some of them first.`,
  });
}
