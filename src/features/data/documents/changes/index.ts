import { Failure } from '#src/contract/errors.js';
import { bulkLimits } from '#src/contract/limits.js';
import { defaultPermissions, expandPermissions, requireOwnRoles } from '#src/contract/permissions.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { TableLocks } from '#src/platform/db/table-locks.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { etagOf, matchesEtag } from '#src/platform/text/etag.js';
import type { Collection } from '../../databases/index.js';
import {
  collectionGrants,
  requireChangeableDocument,
  requireWritable,
  type Target,
  unpermittedInCollection,
  visiblePart,
} from '../access/access.js';
import type { CollectionContext } from '../access/collections.js';
import { creationRecorder, recordDeletion, recordUpdate } from '../access/record.js';
import type { RowWrites } from '../access/rows.js';
import type { DocumentInput, Increment, Precondition } from '../access/service.js';
import type { StoredDocument, StoredValues, Times } from '../model/document.js';
import { addedBySealing } from '../model/encryption.js';
import { toDeleted, toDocument } from '../model/row.js';
import { printDocument } from '../model/serializer.js';
import { changedValues, charactersOf, newValues, timesOf } from '../model/structure.js';
import { operatorsOf } from '../operators/index.js';
import { operatedDocument, operatedNew } from '../relations/operated.js';
import type { Release } from '../relations/removal.js';
import { takeRelations } from '../relations/values.js';
import type { Relate } from '../relations/writes.js';
import type { Compute } from '../store/computed.js';
import { absent, conflict, outOfBounds, requireCurrent, wireNow } from '../store/errors.js';
import type { DocumentStore, NewDocument } from '../store/store.js';
import { incrementOf } from './increments.js';

/** A change of a document. */
interface Change {
  readonly permissions?: readonly string[] | undefined;
  readonly values?: StoredValues;
  readonly computed?: ReadonlyMap<number, Compute>;
  readonly times?: Times;
  /** Changed relationships. */
  readonly related?: readonly number[];
}

/** Changes documents within a unit of work, with their audit rows and events. Every method throws Failure if the caller lacks the right. */
export interface Changes {
  /** Checks a new document as far as possible without the database, and returns its values. */
  prepare(target: Target, input: DocumentInput): NewDocument;
  insert(unit: Unit, collection: Collection, document: NewDocument): Promise<StoredDocument>;
  insertAll(unit: Unit, collection: Collection, documents: readonly NewDocument[]): Promise<StoredDocument[]>;
  update(unit: Unit, target: Target, input: DocumentInput & Precondition): Promise<StoredDocument>;
  upsert(unit: Unit, target: Target, input: DocumentInput & Precondition): Promise<StoredDocument>;
  increment(unit: Unit, target: Target, increment: Increment & Precondition): Promise<StoredDocument>;
  remove(unit: Unit, target: Target, precondition: Precondition): Promise<StoredDocument>;
}

interface ChangeDeps {
  readonly rowWrites: RowWrites;
  readonly relate: Relate;
  readonly release: Release;
  readonly tables: TableLocks;
}

interface Deps extends ChangeDeps {
  readonly store: DocumentStore;
  readonly maxBytes: number;
  readonly newId: () => string;
  /** The changes themselves, for nested documents. */
  readonly changes: () => Changes;
}

/** Creates the changes of documents. */
export function createChanges(
  { random, config }: Pick<Runtime, 'random' | 'config'>,
  store: DocumentStore,
  given: ChangeDeps,
): Changes {
  const maxBytes = config.answerMaxBytes;
  const deps: Deps = { ...given, store, maxBytes, newId: () => random.id(), changes: () => changes };
  const changes: Changes = bind(deps, { prepare, insert, insertAll, update, upsert, increment, remove });
  return changes;
}

function prepare(deps: Deps, target: Target, { data = {}, permissions, nesting }: DocumentInput): NewDocument {
  const { newId, tables, relate, maxBytes } = deps;
  const { where, collection } = target;
  if (!collectionGrants(where, collection, 'create')) throw unpermittedInCollection(where, collection, 'create');
  const granted = grantedBy(where, permissions) ?? nesting?.permissions ?? defaultPermissions(where.actor);
  const taken = takeRelations(collection, data, newId);
  const values = newValues(collection, taken.data);
  if (charactersOf(values) + addedBySealing(collection, values) > maxBytes) throw tooLong(maxBytes);
  const times = timesOf(where.actor, data);
  const id = target.id === uniqueId ? newId() : target.id;
  const document = { id, permissions: granted, values, times };
  if (taken.relations.every(({ targets }) => targets.length === 0)) return document;
  const input = { relations: taken.relations, nesting };
  return {
    ...document,
    lock: (unit) => lockLinked(unit, tables, collection, { data, nesting }),
    relate: (unit) => relate(unit, deps.changes(), { where, collection, id }, input, true),
  };
}

/** Returns the permissions that a request gives to a document. */
function grantedBy({ actor }: CollectionContext, permissions: readonly string[] | undefined) {
  const granted = permissions === undefined ? undefined : expandPermissions(permissions, 'item');
  if (granted !== undefined) requireOwnRoles(granted, actor);
  return granted;
}

async function insert(deps: Deps, unit: Unit, collection: Collection, document: NewDocument) {
  const [written] = await insertAll(deps, unit, collection, [document]);
  if (written === undefined) throw new Error('a document that was written must be returned');
  return written;
}

/** Inserts documents, records each of them, and then relates them to others. */
async function insertAll(deps: Deps, unit: Unit, collection: Collection, documents: readonly NewDocument[]) {
  for (const document of documents) await document.lock?.(unit);
  const inserted = await deps.rowWrites.insert(unit, collection, documents);
  const record = creationRecorder(collection);
  const written: StoredDocument[] = [];
  for (const given of documents) {
    const document = inserted.get(given.id);
    if (document === undefined) throw await conflict(unit, deps.store, collection, given);
    record(unit, document);
    written.push(document);
  }
  for (const document of documents) await document.relate?.(unit);
  return written;
}

async function update(deps: Deps, unit: Unit, target: Target, input: DocumentInput & Precondition) {
  await lockLinked(unit, deps.tables, target.collection, input);
  const { mayRead } = await requireChangeableDocument(unit, deps.store, target, 'update');
  return edit(deps, unit, target, input, { mayRead, isWhole: false });
}

async function upsert(deps: Deps, unit: Unit, target: Target, input: DocumentInput & Precondition) {
  const { store, tables, maxBytes } = deps;
  const { collection } = target;
  await lockLinked(unit, tables, collection, input);
  const change = async () => {
    const there = await requireWritable(unit, store, target);
    return there && edit(deps, unit, target, input, { ...there, isWhole: true });
  };
  const changed = await change();
  if (changed !== undefined) return changed;
  if (input.ifMatch !== undefined) throw new Failure('general_precondition_failed');
  try {
    const sent = input.data ?? {};
    const data = input.verbatim ? sent : operatedNew(collection, sent, { now: wireNow(unit), room: maxBytes });
    return await insert(deps, unit, collection, prepare(deps, target, { ...input, data }));
  } catch (error) {
    if (!(error instanceof Failure && error.type === 'document_already_exists')) throw error;
    // Another unit may have created it since.
    const changedNow = await change();
    if (changedNow === undefined) throw error;
    return changedNow;
  }
}

/** Reads a document within a unit, regardless of permissions. */
async function readCurrent({ store }: Deps, unit: Unit, { collection, id }: Target) {
  const row = await unit.one(store.one(collection, id, null));
  if (row === undefined) throw await absent(unit, store, collection);
  requireCurrent(collection, row.version);
  if (row.data === null) throw new Failure('general_answer_too_large');
  return toDocument(collection, row);
}

/** Locks the document and throws Failure unless it has one of the entity tags. For a caller without read permission only `*` matches. */
async function requireMatch(deps: Deps, unit: Unit, target: Target, ifMatch: string | undefined, mayRead: boolean) {
  if (ifMatch === undefined) return;
  await unit.one(deps.store.permissions(target.collection, target.id));
  const document = await readCurrent(deps, unit, target);
  if (!matchesEtag(ifMatch, mayRead ? etagOf(printDocument(document)) : undefined))
    throw new Failure('general_precondition_failed');
}

/** Blocks other changes of links before a change of relationships. */
async function lockLinked(
  unit: Unit,
  tables: TableLocks,
  collection: Collection,
  { data = {}, nesting }: DocumentInput,
): Promise<void> {
  // The parent of a nested document has done it.
  if (nesting === undefined && collection.relations.some(({ key }) => data[key] !== undefined))
    await tables.write(unit, [collection]);
}

/** Makes a change that the caller may make. A change that gives the whole document must have all required attributes. */
async function edit(
  deps: Deps,
  unit: Unit,
  target: Target,
  { data: sent = {}, permissions, ifMatch, nesting, verbatim }: DocumentInput & Precondition,
  { mayRead, isWhole }: { readonly mayRead: boolean; readonly isWhole: boolean },
): Promise<StoredDocument> {
  const { store, relate, newId, maxBytes } = deps;
  const { where, collection, id } = target;
  const taken = takeRelations(collection, sent, newId);
  const granted = grantedBy(where, permissions);
  // A caller without the right is refused in every state of the document, so that the refusal does not reveal the state.
  if (!mayRead && !verbatim && operatorsOf(collection, taken.data).size > 0)
    throw unpermittedInCollection(where, collection, 'read', id);
  await requireMatch(deps, unit, target, ifMatch, mayRead);
  const data = verbatim
    ? taken.data
    : await operatedDocument(unit, store, collection, id, taken.data, { mayRead, room: maxBytes });
  if (isWhole) newValues(collection, data);
  const values = changedValues(collection, data);
  const times = timesOf(where.actor, data);
  const input = { relations: taken.relations, nesting, permissions: granted };
  const related = await relate(unit, deps.changes(), target, input, mayRead);
  return write(deps, unit, target, { permissions: granted, values, times, related }, mayRead);
}

/** Writes a change that the caller may make and returns what the caller may see. */
async function write(
  deps: Deps,
  unit: Unit,
  target: Target,
  { permissions, values = new Map(), computed = new Map(), times = {}, related = [] }: Change,
  mayRead: boolean,
): Promise<StoredDocument> {
  const { rowWrites, maxBytes } = deps;
  const { where, collection, id } = target;
  const always = !mayRead || computed.size > 0 || related.length > 0;
  const change = { permissions, values, computed, times, now: wireNow(unit), always, maxBytes };
  const [row] = await rowWrites.update(unit, collection, [id], change);
  if (row === undefined) {
    const document = await readCurrent(deps, unit, target);
    // The document exists but was not changed: no value differs, or a computed value is out of bounds.
    if (computed.size > 0) throw outOfBounds(collection.attributes.find(({ number }) => computed.has(number)));
    return visiblePart(where, collection, document);
  }
  if (row.data === null) throw tooLong(maxBytes);
  const document = toDocument(collection, row);
  const changed = [...values.keys(), ...computed.keys(), ...related];
  recordUpdate(unit, collection, document, changed, permissions !== undefined);
  return visiblePart(where, collection, document);
}

/** A response that could not be returned completely is not stored. */
function tooLong(maxBytes: number): Failure {
  return new Failure('document_invalid_structure', {
    message: ({ document }) => `Invalid ${document} structure: the ${document} would have more than ${maxBytes} bytes.`,
  });
}

async function increment(deps: Deps, unit: Unit, target: Target, by: Increment & Precondition) {
  const { where, collection, id } = target;
  const { mayRead } = await requireChangeableDocument(unit, deps.store, target, 'update');
  // Otherwise a caller who may not read the value could find it by trying bounds.
  if (!mayRead) throw unpermittedInCollection(where, collection, 'read', id);
  await requireMatch(deps, unit, target, by.ifMatch, mayRead);
  const { number, compute } = incrementOf(collection, by);
  return write(deps, unit, target, { computed: new Map([[number, compute]]) }, mayRead);
}

async function remove(deps: Deps, unit: Unit, target: Target, { ifMatch }: Precondition) {
  const { store, tables, release } = deps;
  const { where, collection } = target;
  if (collection.relations.length > 0) await tables.write(unit, [collection]);
  const { mayRead } = await requireChangeableDocument(unit, store, target, 'delete');
  await requireMatch(deps, unit, target, ifMatch, mayRead);
  const others = collection.relations.length === 0 ? [] : await release(unit, target);
  const document = await erase(deps, unit, target);
  let bytes = 0;
  for (const other of others) {
    bytes += Buffer.byteLength((await erase(deps, unit, other)).data);
    if (bytes > bulkLimits.bytes)
      throw new Failure('general_bad_request', {
        message: ({ documents }) =>
          `The deleted ${documents} would have more than ${bulkLimits.bytes} bytes together. Delete some of them first.`,
      });
  }
  return visiblePart(where, collection, document);
}

/** Deletes a document without a check of permissions. */
async function erase({ store, maxBytes }: Deps, unit: Unit, { collection, id }: Target) {
  const row = await unit.one(store.remove(collection, [id], maxBytes));
  if (row === undefined) throw await absent(unit, store, collection);
  const document = toDeleted(collection, row);
  recordDeletion(unit, collection, document);
  return document;
}
