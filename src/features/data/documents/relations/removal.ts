import { Failure } from '#src/contract/errors.js';
import { bulkLimits, relationLimits } from '#src/contract/limits.js';
import type { Unit } from '#src/platform/db/unit.js';
import { type Collection, decides, isFromOne, isToOne, type Relation } from '../../databases/index.js';
import type { Where } from '../collections.js';
import { absent, SchemaChanged } from '../errors.js';
import { grantedOf, type Related, readRelated } from './related.js';
import { isOther, type RelationDeps } from './writes.js';

/** A document that is about to be deleted. */
interface Doomed extends Pick<Related, 'collection' | 'where'> {
  readonly id: string;
}

/**
 * Does what relationships ask for before a document is deleted: refuses, unlinks, and returns those that are deleted with it. A caller needs
 * the right to delete each. Throws Failure `document_delete_restricted`.
 */
export type Release = (unit: Unit, where: Where, collection: Collection, id: string) => Promise<readonly Doomed[]>;

/** Creates what relationships do to a deletion. */
export function createRelease({ databases, store, links }: RelationDeps): Release {
  const keyOf = (collection: Pick<Collection, 'number'>, id: string) => `${collection.number} ${id}`;
  const partners = async (unit: Unit, relation: Relation, id: string, limit: number): Promise<string[]> =>
    (await unit.all(links.relatedTo(relation, id, limit))).map((row) => String(row.id));
  /** Adds the documents that a relationship deletes with one. */
  const addRelated = async (unit: Unit, one: Doomed, relation: Relation, doomed: Map<string, Doomed>) => {
    const ids = await partners(unit, relation, one.id, relationLimits.deleted + 1);
    const related = await readRelated(databases, unit, one.where, relation);
    const added = ids.filter((id) => !doomed.has(keyOf(related.collection, id))).sort();
    if (added.length === 0) return;
    if (doomed.size + added.length > relationLimits.deleted) throw tooMany('delete', relationLimits.deleted);
    const granted = await grantedOf(unit, store, related, added, 'delete');
    if (added.some((id) => !granted.has(id)))
      throw new Failure('user_unauthorized', {
        message: 'You do not have the permission to delete every document that is deleted with this one.',
      });
    for (const id of added)
      doomed.set(keyOf(related.collection, id), { collection: related.collection, where: related.where, id });
  };
  const demandNone = async (unit: Unit, one: Doomed, relation: Relation, doomed: ReadonlyMap<string, Doomed>) => {
    const ids = await partners(unit, relation, one.id, doomed.size + 1);
    if (ids.some((id) => !doomed.has(keyOf(relation.related, id)))) throw new Failure('document_delete_restricted');
  };
  /** Those that show the document show none then. */
  const unlink = async (unit: Unit, one: Doomed, relation: Relation, doomed: ReadonlyMap<string, Doomed>) => {
    if (!isFromOne(relation)) return;
    const related = await readRelated(databases, unit, one.where, relation);
    const own = related.collection.relations.find((each) => isOther(each, relation));
    if (own === undefined) throw new SchemaChanged();
    if (own.hidden || !isToOne(own)) return;
    const ids = await partners(unit, relation, one.id, relationLimits.unlinked + 1);
    if (ids.length > relationLimits.unlinked) throw tooMany('unlink', relationLimits.unlinked);
    const left = ids.filter((id) => !doomed.has(keyOf(related.collection, id)));
    if (left.length > 0 && (await unit.run(links.show(related.collection, own.number, left, null))) === 0)
      throw new SchemaChanged();
  };

  return async (unit, where, collection, id) => {
    const doomed = new Map([[keyOf(collection, id), { collection, where, id } as Doomed]]);
    // A map can grow while it is walked.
    for (const one of doomed.values()) {
      // Nothing is related to a locked document meanwhile.
      if ((await unit.one(store.permissions(one.collection, one.id))) === undefined)
        throw await absent(unit, store, one.collection);
      for (const relation of one.collection.relations)
        if (decides(relation) && relation.onDelete === 'cascade') await addRelated(unit, one, relation, doomed);
    }
    for (const one of doomed.values())
      for (const relation of one.collection.relations) {
        if (decides(relation) && relation.onDelete === 'restrict') await demandNone(unit, one, relation, doomed);
        else await unlink(unit, one, relation, doomed);
      }
    return [...doomed.values()].slice(1);
  };
}

function tooMany(what: string, most: number): Failure {
  return new Failure('general_bad_request', {
    message: `The deletion would ${what} more than ${most} related documents. Delete or change some of them first.`,
  });
}

/** Counts the bytes of documents that are deleted together. Throws Failure where they are too many. */
export function createByteCount(): (text: string) => void {
  let bytes = 0;
  return (text) => {
    bytes += Buffer.byteLength(text);
    if (bytes > bulkLimits.bytes)
      throw new Failure('general_bad_request', {
        message: `The deleted documents would have more than ${bulkLimits.bytes} bytes together. Delete some of them first.`,
      });
  };
}
