import { Failure } from '#src/contract/errors.js';
import { defaultPermissions, demandOwnRoles, expandPermissions } from '#src/contract/permissions.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Collection } from '../../databases/index.js';
import { demandChangeable, demandWritable, grants, isReadable } from '../access.js';
import type { Where } from '../collections.js';
import { type StoredDocument, type StoredValues, type Times, withoutAttributes } from '../document.js';
import { absent, conflict, outOfBounds, wireNow } from '../errors.js';
import type { Held, Holds } from '../relations/holds.js';
import { createByteCount, type Release } from '../relations/removal.js';
import { knownTargets, takeRelations } from '../relations/values.js';
import type { Relate } from '../relations/writes.js';
import { toDocument } from '../row.js';
import type { DocumentInput, Increment, Precondition } from '../service.js';
import type { DocumentStore, NewDocument } from '../store.js';
import { changedValues, charactersOf, newValues, timesOf } from '../structure.js';
import type { Compute } from './computed.js';
import { createCurrent } from './current.js';
import { incrementOf } from './increments.js';
import { operatedDocument, operatedNew } from './operated.js';
import { operatorsOf } from './operators/index.js';
import { creationRecorder, recordDeletion, recordUpdate } from './record.js';
import type { RowWrites } from './rows.js';

/** What of a document is to change. */
interface Change {
  readonly permissions?: readonly string[] | undefined;
  readonly values?: StoredValues;
  readonly computed?: ReadonlyMap<number, Compute>;
  readonly times?: Times;
  /** Relationships that are others now. */
  readonly related?: readonly number[];
}

/** Changes of documents within a unit of work; each leaves its audit row and its event. Every method throws Failure where the caller lacks the right. */
export interface Changes {
  /** What a new document will hold, checked as far as that takes no database. */
  prepare(where: Where, collection: Collection, id: string, input: DocumentInput): NewDocument;
  insert(unit: Unit, collection: Collection, document: NewDocument): Promise<StoredDocument>;
  insertAll(unit: Unit, collection: Collection, documents: readonly NewDocument[]): Promise<StoredDocument[]>;
  update(
    unit: Unit,
    where: Where,
    collection: Collection,
    id: string,
    input: DocumentInput & Precondition,
  ): Promise<StoredDocument>;
  upsert(
    unit: Unit,
    where: Where,
    collection: Collection,
    id: string,
    input: DocumentInput & Precondition,
  ): Promise<StoredDocument>;
  increment(
    unit: Unit,
    where: Where,
    collection: Collection,
    id: string,
    increment: Increment & Precondition,
  ): Promise<StoredDocument>;
  remove(
    unit: Unit,
    where: Where,
    collection: Collection,
    id: string,
    precondition: Precondition,
  ): Promise<StoredDocument>;
}

interface ChangeDeps {
  readonly rowWrites: RowWrites;
  readonly relate: Relate;
  readonly release: Release;
  readonly holds: Holds;
}

/** Creates the changes of documents. */
export function createChanges(
  { random, config }: Pick<Runtime, 'random' | 'config'>,
  store: DocumentStore,
  { rowWrites, relate, release, holds }: ChangeDeps,
): Changes {
  const maxBytes = config.answerMaxBytes;
  /** A document as the caller may see it: the right to change it is none to read it. */
  const visiblePart = (where: Where, collection: Collection, document: StoredDocument): StoredDocument =>
    isReadable(where, collection, document.permissions) ? document : withoutAttributes(document);
  const { read, demandMatch } = createCurrent(store, maxBytes);
  const given = (where: Where, permissions: readonly string[] | undefined): readonly string[] | undefined => {
    const granted = permissions === undefined ? undefined : expandPermissions(permissions, 'item');
    if (granted !== undefined) demandOwnRoles(granted, where.actor);
    return granted;
  };
  /** Writes a change that the caller may make and returns what the caller may see. */
  const write = async (
    unit: Unit,
    where: Where,
    collection: Collection,
    id: string,
    { permissions, values = new Map(), computed = new Map(), times = {}, related = [] }: Change,
    mayRead: boolean,
  ): Promise<StoredDocument> => {
    const always = !mayRead || computed.size > 0 || related.length > 0;
    const change = { permissions, values, computed, times, now: wireNow(unit), always, maxBytes };
    const [row] = await rowWrites.update(unit, collection, [id], change);
    if (row === undefined) {
      const document = await read(unit, collection, id);
      // It is there and nothing was changed: everything is as it was, or a computed value is out of bounds.
      if (computed.size > 0) throw outOfBounds(collection.attributes.find(({ number }) => computed.has(number)));
      return visiblePart(where, collection, document);
    }
    if (row.data === null) throw tooLong(maxBytes);
    const document = toDocument(collection, row);
    const changed = [...values.keys(), ...computed.keys(), ...related];
    recordUpdate(unit, collection, document, changed, permissions !== undefined);
    return visiblePart(where, collection, document);
  };
  const newId = () => random.id();
  /** Makes a change that the caller may make; where the document is given whole, nothing that is required may be missing. */
  const edit = async (
    unit: Unit,
    where: Where,
    collection: Collection,
    id: string,
    { data: sent = {}, permissions, ifMatch, nesting, verbatim }: DocumentInput & Precondition,
    {
      mayRead,
      isWhole,
      isHeld,
    }: { readonly mayRead: boolean; readonly isWhole: boolean; readonly isHeld: Held | undefined },
  ): Promise<StoredDocument> => {
    const taken = takeRelations(collection, sent, newId);
    const granted = given(where, permissions);
    // What the caller has no right to is refused whatever state the document is in.
    if (!mayRead && !verbatim && operatorsOf(collection, taken.data).size > 0) throw new Failure('user_unauthorized');
    await demandMatch(unit, collection, id, { ifMatch }, mayRead);
    const data = verbatim
      ? taken.data
      : await operatedDocument(unit, store, collection, id, taken.data, { mayRead, room: maxBytes });
    if (isWhole) newValues(collection, data);
    const values = changedValues(collection, data);
    const times = timesOf(where.actor, data);
    const input = { where, relations: taken.relations, nesting };
    const related = await relate(unit, changes, collection, id, input, mayRead, isHeld);
    return write(unit, where, collection, id, { permissions: granted, values, times, related }, mayRead);
  };
  const prepare: Changes['prepare'] = (where, collection, id, { data = {}, permissions, nesting }) => {
    if (!grants(where, collection, 'create')) throw new Failure('user_unauthorized');
    const granted = given(where, permissions) ?? defaultPermissions(where.actor);
    const taken = takeRelations(collection, data, newId);
    const values = newValues(collection, taken.data);
    if (charactersOf(values) > maxBytes) throw tooLong(maxBytes);
    const times = timesOf(where.actor, data);
    const document = { id: id === uniqueId ? newId() : id, permissions: granted, values, times };
    if (taken.relations.every(({ targets }) => targets.length === 0)) return document;
    const input = { where, relations: taken.relations, nesting };
    return {
      ...document,
      hold: (unit) => hold(unit, holds, collection, document.id, { data, nesting }, async () => {}),
      relate: (unit) => relate(unit, changes, collection, document.id, input, true),
    };
  };
  const insertAll: Changes['insertAll'] = (unit, collection, documents) =>
    insertRows(unit, { store, rowWrites }, collection, documents);
  const insert: Changes['insert'] = async (unit, collection, document) => {
    const [written] = await insertAll(unit, collection, [document]);
    if (written === undefined) throw new Error('a document that was written must be returned');
    return written;
  };

  const changes: Changes = {
    prepare,
    insert,
    insertAll,
    update: async (unit, where, collection, id, input) => {
      const isHeld = await hold(unit, holds, collection, id, input, () =>
        demandChangeable(unit, store, where, collection, id, 'update', false),
      );
      const { mayRead } = await demandChangeable(unit, store, where, collection, id, 'update');
      return edit(unit, where, collection, id, input, { mayRead, isWhole: false, isHeld });
    },
    upsert: async (unit, where, collection, id, input) => {
      const demand = (isLocked: boolean) => demandWritable(unit, store, where, collection, id, isLocked);
      const isHeld = await hold(unit, holds, collection, id, input, () => demand(false));
      for (let attempt = 1; ; attempt++) {
        const there = await demand(true);
        if (there !== undefined) return edit(unit, where, collection, id, input, { ...there, isWhole: true, isHeld });
        if (input.ifMatch !== undefined) throw new Failure('general_precondition_failed');
        try {
          const sent = input.data ?? {};
          const data = input.verbatim ? sent : operatedNew(collection, sent, { now: wireNow(unit), room: maxBytes });
          return await insert(unit, collection, prepare(where, collection, id, { ...input, data }));
        } catch (error) {
          // Another unit has created it meanwhile.
          if (!(error instanceof Failure && error.type === 'document_already_exists') || attempt > 1) throw error;
        }
      }
    },
    increment: async (unit, where, collection, id, increment) => {
      const { mayRead } = await demandChangeable(unit, store, where, collection, id, 'update');
      // Whether a bound is reached, of the caller or of the attribute, tells the value.
      if (!mayRead) throw new Failure('user_unauthorized');
      await demandMatch(unit, collection, id, increment, mayRead);
      const { number, compute } = incrementOf(collection, increment);
      return write(unit, where, collection, id, { computed: new Map([[number, compute]]) }, mayRead);
    },
    remove: async (unit, where, collection, id, precondition) => {
      if (collection.relations.length > 0) {
        await holds.begin(unit, [collection]);
        await demandChangeable(unit, store, where, collection, id, 'delete', false);
        await holds.forRemoval(unit, collection, id);
      }
      const { mayRead } = await demandChangeable(unit, store, where, collection, id, 'delete');
      await demandMatch(unit, collection, id, precondition, mayRead);
      const others = collection.relations.length === 0 ? [] : await release(unit, where, collection, id);
      const document = await erase(unit, store, collection, id, maxBytes);
      const count = createByteCount();
      for (const other of others) count((await erase(unit, store, other.collection, other.id, maxBytes)).data);
      return visiblePart(where, collection, document);
    },
  };
  return changes;
}

/** Locks what a change of relationships touches, before anything else of it is locked, for a caller who may make it. */
async function hold(
  unit: Unit,
  holds: Holds,
  collection: Collection,
  id: string,
  { data = {}, nesting }: DocumentInput,
  demand: () => Promise<unknown>,
): Promise<Held | undefined> {
  // What stands below another is locked with that.
  if (nesting !== undefined || !collection.relations.some(({ key }) => data[key] !== undefined)) return undefined;
  await holds.begin(unit, [collection]);
  await demand();
  return holds.forChange(unit, collection, id, knownTargets(collection, data));
}

/** What could not be answered whole is not kept. */
function tooLong(maxBytes: number): Failure {
  return new Failure('document_invalid_structure', {
    message: `Invalid document structure: the document would have more than ${maxBytes} bytes.`,
  });
}

/** Inserts documents, records each, and relates them to others then. */
async function insertRows(
  unit: Unit,
  { store, rowWrites }: { readonly store: DocumentStore; readonly rowWrites: RowWrites },
  collection: Collection,
  documents: readonly NewDocument[],
): Promise<StoredDocument[]> {
  for (const document of documents) await document.hold?.(unit);
  const inserted = await rowWrites.insert(unit, collection, documents);
  const record = creationRecorder(collection);
  const written: StoredDocument[] = [];
  for (const given of documents) {
    const document = inserted.get(given.id);
    if (document === undefined) throw await conflict(unit, store, collection, given);
    record(unit, document);
    written.push(document);
  }
  for (const document of documents) await document.relate?.(unit);
  return written;
}

/** Deletes a document, whoever may. */
async function erase(
  unit: Unit,
  store: DocumentStore,
  collection: Collection,
  id: string,
  maxBytes: number,
): Promise<StoredDocument> {
  const row = await unit.one(store.remove(collection, [id], maxBytes));
  if (row === undefined) throw await absent(unit, store, collection);
  const document = toDocument(collection, row);
  recordDeletion(unit, collection, document);
  return document;
}
