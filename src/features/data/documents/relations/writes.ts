import { errorCatalog, Failure } from '#src/contract/errors.js';
import { bulkLimits, relationLimits } from '#src/contract/limits.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Unit } from '#src/platform/db/unit.js';
import { type Collection, type Databases, isFromOne, isToOne, type Relation } from '../../databases/index.js';
import { operatedNew } from '../changes/operated.js';
import type { Where } from '../collections.js';
import type { StoredDocument } from '../document.js';
import { absent, LinksChanged, SchemaChanged, wireNow } from '../errors.js';
import type { DocumentInput } from '../service.js';
import type { DocumentStore, NewDocument } from '../store.js';
import type { Held } from './holds.js';
import type { LinkStore } from './link-store.js';
import type { Nesting } from './nesting.js';
import { grantedOf, type Related, readRelated } from './related.js';
import { invalidRelation, type RelationValue, type Target } from './values.js';

/** Relationships that a document is written with. */
interface RelatedInput {
  readonly where: Where;
  readonly relations: readonly RelationValue[];
  readonly nesting: Nesting | undefined;
}

/** How documents are written, those below others too. */
interface DocumentChanges {
  prepare(where: Where, collection: Collection, id: string, input: DocumentInput): NewDocument;
  insert(unit: Unit, collection: Collection, document: NewDocument): Promise<StoredDocument>;
  update(unit: Unit, where: Where, collection: Collection, id: string, input: DocumentInput): Promise<StoredDocument>;
}

/** What relationships need of the other parts of documents. */
export interface RelationDeps {
  readonly databases: Databases;
  readonly store: DocumentStore;
  readonly links: LinkStore;
}

/**
 * Relates a document, which is there and locked, to others, and writes those that the request gives first. Returns the numbers of the
 * relationships that are others now. `mayRead` tells whether the caller knows what the document was related to; `isHeld` which documents are
 * locked for it.
 */
export type Relate = (
  unit: Unit,
  changes: DocumentChanges,
  collection: Collection,
  id: string,
  input: RelatedInput,
  mayRead: boolean,
  isHeld?: Held,
) => Promise<number[]>;

/** Creates what relates documents within a unit. */
export function createRelate({ databases, store, links }: RelationDeps): Relate {
  const write = async (unit: Unit, changes: DocumentChanges, related: Related, target: Target, nesting: Nesting) => {
    const { collection, where, isOpen } = related;
    nesting.left.documents -= 1;
    if (nesting.level > relationLimits.levels)
      throw invalidRelation(`documents can be nested ${relationLimits.levels} levels deep.`);
    if (nesting.left.documents < 0)
      throw invalidRelation(`a request can write ${relationLimits.nested} documents below its own.`);
    if (!isOpen) throw new Failure('user_unauthorized');
    const input: DocumentInput = { ...target.input, nesting };
    const create = () => {
      const sent = input.data ?? {};
      const moment = { now: wireNow(unit), room: nesting.left.bytes };
      const data = target.isNamed ? operatedNew(collection, sent, moment) : sent;
      return changes.insert(unit, collection, changes.prepare(where, collection, target.id, { ...input, data }));
    };
    const isThere = async () => (await unit.one(store.permissions(collection, target.id))) !== undefined;
    const update = () => changes.update(unit, where, collection, target.id, input);
    const written = (await isThere())
      ? await update()
      : await create().catch(async (error: unknown) => {
          if (!(error instanceof Failure && error.type === 'document_already_exists')) throw error;
          // Another unit has created it meanwhile.
          if (await isThere()) return update();
          throw new LinksChanged();
        });
    nesting.left.bytes -= Buffer.byteLength(written.data);
    if (nesting.left.bytes < 0)
      throw invalidRelation(`the documents would have more than ${bulkLimits.bytes} bytes together.`);
  };
  const show = async (
    unit: Unit,
    relation: Relation,
    { collection }: Related,
    ids: readonly string[],
    id: string | null,
  ) => {
    const own = collection.relations.find((one) => isOther(one, relation));
    if (own === undefined) throw new SchemaChanged();
    if (ids.length === 0 || own.hidden || !isToOne(own)) return;
    if ((await unit.run(links.show(collection, own.number, ids, id))) === 0) throw new SchemaChanged();
  };
  /** Takes documents that are related to one at most away from those that they are related to. */
  const takeOver = async (unit: Unit, relation: Relation, related: Related, id: string, added: readonly string[]) => {
    const rows = await unit.all(links.takenFrom(relation, id, added));
    const taken = rows.map((row) => String(row.id));
    if (taken.length === 0) return;
    if (isToOne(relation)) throw alreadyRelated();
    const granted = await grantedOf(unit, store, related, taken, 'update');
    if (taken.some((one) => !granted.has(one)))
      throw new Failure('user_unauthorized', {
        message: `You do not have the permission to change a document in "${relation.key}" that is related to another one now.`,
      });
    await unit.run(links.removeOf(relation, taken));
  };
  const set = async (
    unit: Unit,
    { relation, targets }: RelationValue,
    related: Related,
    id: string,
    mayRead: boolean,
    isHeld: Held | undefined,
  ): Promise<boolean> => {
    const rows = await unit.all(links.relatedTo(relation, id, relationLimits.unlinked + 1));
    if (rows.length > relationLimits.unlinked)
      throw invalidRelation(`"${relation.key}" has too many documents to replace them. Change them from their side.`);
    const before = new Set(rows.map((row) => String(row.id)));
    const wanted = new Set(targets.map((target) => target.id));
    const added = [...wanted].filter((one) => !before.has(one));
    // What was related while this unit waited for its locks is related after it, too: as if that had come later.
    const isOurs = (one: string) => !isFromOne(relation) || (isHeld?.(relation.related.number, one) ?? true);
    const unwanted = [...before].filter((one) => !wanted.has(one) && isOurs(one));
    // Of several, those that the caller cannot see stay: it cannot have left them out on purpose.
    const removed = isToOne(relation) ? unwanted : [...(await grantedOf(unit, store, related, unwanted, 'read'))];
    const looked = targets.filter((one) => one.input === undefined && !(mayRead && before.has(one.id)));
    const readable = await grantedOf(
      unit,
      store,
      related,
      looked.map((one) => one.id),
      'read',
    );
    const missing = looked.find((one) => !readable.has(one.id));
    if (missing !== undefined)
      throw invalidRelation(`there is no document "${missing.id}" that you can read, for "${relation.key}".`);
    if (removed.length > 0) await unit.run(links.remove(relation, id, removed));
    if (added.length > 0) {
      if (isFromOne(relation)) await takeOver(unit, relation, related, id, added);
      await mapLinkErrors(() => unit.run(links.insert(relation, id, added)));
    }
    if (isFromOne(relation)) {
      await show(unit, relation, related, removed, null);
      await show(unit, relation, related, added, id);
    }
    return added.length + removed.length > 0;
  };

  return async (unit, changes, collection, id, { where, relations, nesting }, mayRead, isHeld) => {
    if (relations.length === 0) return [];
    if ((await unit.one(store.permissions(collection, id))) === undefined) throw await absent(unit, store, collection);
    const left = nesting?.left ?? { documents: relationLimits.nested, bytes: bulkLimits.bytes };
    const below: Nesting = { level: (nesting?.level ?? 0) + 1, left };
    const changed: number[] = [];
    for (const value of relations) {
      const related = await readRelated(databases, unit, where, value.relation);
      for (const target of value.targets)
        if (target.input !== undefined)
          await write(unit, changes, related, target, below).catch((error: unknown) => refuse(error, value.relation));
      if (await set(unit, value, related, id, mayRead, isHeld)) changed.push(value.relation.number);
    }
    return changed;
  };
}

/** Whether one side is the other side of a relationship. */
export function isOther(one: Relation, { link, side }: Relation): boolean {
  return one.link.collection === link.collection && one.link.attribute === link.attribute && one.side !== side;
}

/** Names the relationship. Whoever may neither read nor change a document is not told whether there is one. */
function refuse(error: unknown, { key }: Relation): never {
  const isRefusal = error instanceof Failure && error.message === errorCatalog.user_unauthorized.message;
  if (isRefusal || (error instanceof Failure && error.type === 'document_not_found'))
    throw new Failure('user_unauthorized', {
      message: `You do not have the permission to create or change the document in "${key}".`,
    });
  throw error;
}

function alreadyRelated(): Failure {
  return new Failure('document_unique_constraint_violation', {
    message: 'The related document is related to another one already.',
  });
}

/** Another unit has related the document, or deleted it, meanwhile. */
async function mapLinkErrors(change: () => Promise<unknown>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === 'unique') throw alreadyRelated();
    if (error instanceof DatabaseError && error.kind === 'reference')
      throw invalidRelation('a related document was deleted meanwhile.');
    throw error;
  }
}
