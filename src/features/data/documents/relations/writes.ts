import { errorCatalog, Failure } from '#src/contract/errors.js';
import { bulkLimits, relationLimits } from '#src/contract/limits.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Unit } from '#src/platform/db/unit.js';
import { type Collection, type Databases, decides, isFromOne, isToOne, type Relation } from '../../databases/index.js';
import { collectionGrants, type Target } from '../access/access.js';
import type { DocumentInput, Nesting } from '../access/service.js';
import type { StoredDocument } from '../model/document.js';
import { absent, SchemaChanged, wireNow } from '../store/errors.js';
import type { DocumentStore, NewDocument } from '../store/store.js';
import type { LinkStore } from './link-store.js';
import { operatedNew } from './operated.js';
import { grantedOf, type Related, readIds, readRelated } from './related.js';
import { invalidRelation, type RelationTarget, type RelationValue } from './values.js';

/** Relationships to write with a document. */
interface RelatedInput {
  readonly relations: readonly RelationValue[];
  readonly nesting: Nesting | undefined;
  /** Permissions that the document gets; undefined if it keeps its own. */
  readonly permissions?: readonly string[] | undefined;
}

/** Writes documents, including nested ones. */
interface DocumentChanges {
  prepare(target: Target, input: DocumentInput): NewDocument;
  insert(unit: Unit, collection: Collection, document: NewDocument): Promise<StoredDocument>;
  update(unit: Unit, target: Target, input: DocumentInput): Promise<StoredDocument>;
}

/** Parts of the documents feature that relationships use. */
export interface RelationDeps {
  readonly databases: Databases;
  readonly store: DocumentStore;
  readonly links: LinkStore;
}

/**
 * Relates a document, which must exist and be locked, to others. Writes related documents first if the request contains their data. Returns
 * the numbers of the changed relationships. `mayRead` is true if the caller may know the previous links.
 */
export type Relate = (
  unit: Unit,
  changes: DocumentChanges,
  target: Target,
  input: RelatedInput,
  mayRead: boolean,
) => Promise<number[]>;

/** Creates the function that relates documents within a unit. */
export function createRelate(deps: RelationDeps): Relate {
  return relate.bind(undefined, deps);
}

async function relate(
  deps: RelationDeps,
  unit: Unit,
  changes: DocumentChanges,
  { where, collection, id }: Target,
  { relations, nesting, permissions }: RelatedInput,
  mayRead: boolean,
): Promise<number[]> {
  const { databases, store } = deps;
  if (relations.length === 0) return [];
  const row = await unit.one(store.permissions(collection, id));
  if (row === undefined) throw await absent(unit, store, collection);
  const left = nesting?.left ?? { documents: relationLimits.nested, bytes: bulkLimits.bytes };
  const inherited: readonly string[] = permissions ?? JSON.parse(String(row.permissions));
  const below: Nesting = { level: (nesting?.level ?? 0) + 1, left, permissions: inherited };
  const changed: number[] = [];
  for (const value of relations) {
    const related = await readRelated(databases, unit, where, value.relation);
    for (const target of value.targets)
      if (target.input !== undefined)
        await write(store, unit, changes, related, target, below).catch((error: unknown) =>
          refuse(error, value.relation),
        );
    if (await set(deps, unit, related, value.targets, id, mayRead)) changed.push(value.relation.number);
  }
  return changed;
}

/** Writes a nested document. */
async function write(
  store: DocumentStore,
  unit: Unit,
  changes: DocumentChanges,
  { collection, where, isOpen }: Related,
  { id, isNamed, input: given }: RelationTarget,
  nesting: Nesting,
): Promise<void> {
  nesting.left.documents -= 1;
  if (nesting.level > relationLimits.levels)
    throw invalidRelation(({ documents }) => `${documents} can be nested ${relationLimits.levels} levels deep.`);
  if (nesting.left.documents < 0)
    throw invalidRelation(
      ({ documents }) => `a request can write ${relationLimits.nested} ${documents} below its own.`,
    );
  if (!isOpen) throw new Failure('user_unauthorized');
  const target: Target = { where, collection, id };
  const input: DocumentInput = { ...given, nesting };
  const create = () => {
    const sent = input.data ?? {};
    const moment = { now: wireNow(unit), room: nesting.left.bytes };
    const data = isNamed ? operatedNew(collection, sent, moment) : sent;
    return changes.insert(unit, collection, changes.prepare(target, { ...input, data }));
  };
  const isThere = async () => (await unit.one(store.permissions(collection, id))) !== undefined;
  const update = () => changes.update(unit, target, input);
  const written = (await isThere())
    ? await update()
    : await create().catch(async (error: unknown) => {
        if (!(error instanceof Failure && error.type === 'document_already_exists')) throw error;
        // Another unit has created it concurrently.
        if (await isThere()) return update();
        throw new SchemaChanged();
      });
  nesting.left.bytes -= Buffer.byteLength(written.data);
  if (nesting.left.bytes < 0)
    throw invalidRelation(
      ({ documents }) => `the ${documents} would have more than ${bulkLimits.bytes} bytes together.`,
    );
}

/** Replaces the links of a relationship. Returns true if any changed. */
async function set(
  deps: RelationDeps,
  unit: Unit,
  related: Related,
  targets: readonly RelationTarget[],
  id: string,
  mayRead: boolean,
): Promise<boolean> {
  const { store, links } = deps;
  const { relation } = related;
  const linked = await readIds(unit, links.relatedTo(relation, id, relationLimits.unlinked + 1));
  if (linked.length > relationLimits.unlinked)
    throw invalidRelation(
      ({ documents }) => `"${relation.key}" has too many ${documents} to replace them. Change them from their side.`,
    );
  const before = new Set(linked);
  const wanted = new Set(targets.map((target) => target.id));
  const added = [...wanted].filter((one) => !before.has(one));
  const unwanted = [...before].filter((one) => !wanted.has(one));
  // A relationship to many keeps documents that the caller cannot see: it cannot have omitted them on purpose.
  const removed = isToOne(relation) ? unwanted : [...(await grantedOf(unit, store, related, unwanted, 'read'))];
  const looked = targets.filter((one) => one.input === undefined && !(mayRead && before.has(one.id)));
  const lookedIds = looked.map((one) => one.id);
  const readable = await grantedOf(unit, store, related, lookedIds, 'read');
  const missing = looked.find((one) => !readable.has(one.id));
  if (missing !== undefined)
    throw invalidRelation(
      ({ document }) => `there is no ${document} "${missing.id}" that you can read, for "${relation.key}".`,
    );
  if (removed.length > 0) await unit.run(links.remove(relation, id, removed));
  if (added.length > 0) {
    if (isFromOne(relation)) await takeOver(deps, unit, related, id, added);
    await link(deps, unit, related, id, added);
  }
  if (isFromOne(relation)) {
    await show(links, unit, related, removed, null);
    await show(links, unit, related, added, id);
  }
  return added.length + removed.length > 0;
}

/** Unlinks related documents, which can have one link only, from their previous document. */
async function takeOver(deps: RelationDeps, unit: Unit, related: Related, id: string, added: readonly string[]) {
  const { store, links } = deps;
  const { relation } = related;
  const taken = await readIds(unit, links.takenFrom(relation, id, added));
  if (taken.length === 0) return;
  if (isToOne(relation)) throw alreadyRelated();
  const granted = await grantedOf(unit, store, related, taken, 'update');
  if (taken.some((one) => !granted.has(one)))
    throw new Failure('user_unauthorized', {
      message: ({ document }) =>
        `You do not have the permission to change a ${document} in "${relation.key}" that is related to another one now.`,
    });
  await unit.run(links.removeOf(relation, taken));
}

/** Links a document to others. The link restricts a document only if the caller may update that document. */
async function link(deps: RelationDeps, unit: Unit, related: Related, id: string, added: readonly string[]) {
  const { store, links } = deps;
  const { relation } = related;
  // With `cascade`, both sides of a one-to-one relationship decide, so that the right on the other document counts from either side.
  const isMutual = isToOne(relation) && isFromOne(relation) && relation.onDelete === 'cascade';
  const isOwn = !isMutual && decides({ ...relation, onDelete: 'restrict' });
  const mayChangeAll = isOwn || collectionGrants(related.where, related.collection, 'update');
  const changeable = mayChangeAll ? new Set(added) : await grantedOf(unit, store, related, added, 'update');
  for (const restricts of [true, false]) {
    const some = added.filter((one) => changeable.has(one) === restricts);
    if (some.length > 0) await mapLinkErrors(() => unit.run(links.insert(relation, id, some, restricts)));
  }
}

/** Sets what related documents show of a relationship to one. */
async function show(
  links: LinkStore,
  unit: Unit,
  { relation, collection }: Related,
  ids: readonly string[],
  id: string | null,
): Promise<void> {
  const own = collection.relations.find((one) => isOther(one, relation));
  if (own === undefined) throw new SchemaChanged();
  if (ids.length === 0 || own.hidden || !isToOne(own)) return;
  if ((await unit.run(links.show(collection, own.number, ids, id))) === 0) throw new SchemaChanged();
}

/** True if one side is the other side of a relationship. */
export function isOther(one: Relation, { link, side }: Relation): boolean {
  return one.link.collection === link.collection && one.link.attribute === link.attribute && one.side !== side;
}

/** Adds the relationship to the error. A caller that may neither read nor change a document must not learn if it exists. */
function refuse(error: unknown, { key }: Relation): never {
  const isRefusal = error instanceof Failure && error.message === errorCatalog.user_unauthorized.message;
  if (isRefusal || (error instanceof Failure && error.type === 'document_not_found'))
    throw new Failure('user_unauthorized', {
      message: ({ document }) => `You do not have the permission to create or change the ${document} in "${key}".`,
      missing: error.missing,
    });
  throw error;
}

function alreadyRelated(): Failure {
  return new Failure('document_unique_constraint_violation', {
    message: 'The related document is related to another one already.',
  });
}

/** Maps the errors of a link that another unit made impossible: it has related the document or deleted it. */
async function mapLinkErrors(change: () => Promise<unknown>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === 'unique') throw alreadyRelated();
    if (error instanceof DatabaseError && error.kind === 'reference')
      throw invalidRelation(({ document }) => `a related ${document} was deleted concurrently.`);
    throw error;
  }
}
