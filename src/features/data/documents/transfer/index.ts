import type { ServerKey } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { operatorReading } from '#src/contract/reading.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { TableLocks } from '#src/platform/db/table-locks.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import {
  type Attribute,
  attributeTypes,
  type Collection,
  type Databases,
  InvalidValue,
} from '../../databases/index.js';
import type { CollectionContext, Collections } from '../access/collections.js';
import { creationRecorder } from '../access/record.js';
import type { RowWrites } from '../access/rows.js';
import type { Changes } from '../changes/index.js';
import type { StoredDocument } from '../model/document.js';
import { toDocument } from '../model/row.js';
import type { LinkStore } from '../relations/link-store.js';
import { conflict, wireNow } from '../store/errors.js';
import type { DocumentStore, NewDocument } from '../store/store.js';
import {
  differentRelations,
  type ImportedDocument,
  isSame,
  presentDocuments,
  statedRelationsOf,
  withoutRelations,
} from './match.js';

export type { ImportedDocument } from './match.js';

/** Outcome of the import of a document. */
type Imported = 'created' | 'updated' | 'unchanged' | Failure;

/** Outcome of matching a document with its source. `absent` only for relationships: the document does not exist here. */
type Matched = 'created' | 'changed' | 'skipped' | 'absent' | Failure;

/** Options of matching documents. */
interface MatchOptions {
  /** Leaves existing documents as they are, and relationships that have documents. */
  readonly keep: boolean;
  /** Compares and writes nothing. */
  readonly dryRun: boolean;
}

/** A batch of documents of a collection, and its attributes at that time. */
interface ExportedPage {
  readonly attributes: readonly Attribute[];
  readonly documents: readonly StoredDocument[];
}

/** A collection of a project. */
export type TransferPlace = Pick<CollectionContext, 'project' | 'databaseId' | 'collectionId'>;

/** Exports and imports whole collections for the operator. */
interface Transfer {
  /** Reads all documents in the order of their creation, in batches. Each batch is one snapshot. Returns at least one batch. */
  exported(place: TransferPlace): AsyncIterable<ExportedPage>;
  /** Creates as many of the documents as possible and returns the outcome of each. With `upsert`, existing documents are changed. */
  importSome(
    place: TransferPlace,
    by: AuditContext,
    given: readonly ImportedDocument[],
    upsert: boolean,
  ): Promise<Imported[]>;
  /** The relationships of documents by id: each a related id, a list of ids, or null. Those that another side states are left out. */
  relationsOf(
    place: TransferPlace,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>>;
  /**
   * Makes documents equal to the given ones, with permissions and times, but without their relationships. Writes only those that differ.
   * Returns the outcome of each.
   */
  matchSome(
    place: TransferPlace,
    by: AuditContext,
    given: readonly ImportedDocument[],
    options: MatchOptions,
  ): Promise<Matched[]>;
  /** Makes the relationships of existing documents equal to the given ones. The times of the documents stay. */
  matchRelations(
    place: TransferPlace,
    by: AuditContext,
    given: readonly ImportedDocument[],
    options: MatchOptions,
  ): Promise<Matched[]>;
}

/** The operator has the permissions of a server key with all scopes. */
const operator: ServerKey = { kind: 'key', id: '', name: 'operator', scopes: ['all'], expire: null };

interface Parts {
  readonly collections: Collections;
  readonly store: DocumentStore;
  readonly rowWrites: RowWrites;
  readonly changes: Changes;
  readonly tables: TableLocks;
  readonly links: LinkStore;
}

interface Deps extends Parts, Pick<Runtime, 'db' | 'budgets'> {
  readonly databases: Databases;
}

/** Creates the transfer of documents. */
export function createTransfer(
  { db, budgets }: Pick<Runtime, 'db' | 'budgets'>,
  databases: Databases,
  parts: Parts,
): Transfer {
  const deps: Deps = { ...parts, db, budgets, databases };
  return bind(deps, { exported, importSome, matchSome, matchRelations, relationsOf });
}

async function* exported({ db, databases, store }: Deps, { project, databaseId, collectionId }: TransferPlace) {
  const path = { projectId: project.id, databaseId, collectionId };
  let after: number | null = 0;
  for (let isFirst = true; after !== null; isFirst = false) {
    const from: number = after;
    const page = await db.snapshot(async (reader) => {
      const collection = await databases.getCollection(reader, path);
      const { attributes } = collection;
      const last = (await reader.one(store.batchEnd(collection, from)))?.last ?? null;
      if (last === null) return { attributes, documents: [], last };
      const rows = await reader.all(store.between(collection, from, Number(last)));
      return { attributes, documents: rows.map((row) => toDocument(collection, row)), last: Number(last) };
    });
    if (isFirst || page.documents.length > 0) yield page;
    after = page.last;
  }
}

async function importSome(
  deps: Deps,
  place: TransferPlace,
  by: AuditContext,
  given: readonly ImportedDocument[],
  upsert: boolean,
): Promise<Imported[]> {
  const { collections, changes } = deps;
  const where = contextOf(deps, place);
  return collections.use(where, async (collection) => {
    const prepared = given.map((one) => prepare(changes, where, collection, one));
    const sound = prepared.flatMap((one) => (one instanceof Failure ? [] : [one]));
    const outcomes = await write(deps, where, by, collection, sound, upsert);
    let next = 0;
    return prepared.map((one) => (one instanceof Failure ? one : (outcomes[next++] ?? new Failure('general_unknown'))));
  });
}

function contextOf({ budgets }: Deps, place: TransferPlace): CollectionContext {
  return { ...place, actor: operator, reading: operatorReading, budget: budgets.open(operatorReading) };
}

async function relationsOf(
  { db, databases, links }: Deps,
  { project, ...place }: TransferPlace,
  ids: readonly string[],
) {
  const collection = await databases.getCollection(db, { projectId: project.id, ...place });
  return statedRelationsOf({ db, links }, collection, ids);
}

async function matchSome(
  deps: Deps,
  place: TransferPlace,
  by: AuditContext,
  given: readonly ImportedDocument[],
  { keep, dryRun }: MatchOptions,
): Promise<Matched[]> {
  const where = contextOf(deps, place);
  return deps.collections.use(where, async (collection) => {
    const present = await presentDocuments(
      deps,
      collection,
      given.map(({ id }) => id),
    );
    const outcomes: Matched[] = [];
    const [created, changed]: [Pending[], Pending[]] = [[], []];
    for (const [at, whole] of given.entries()) {
      const before = present.get(whole.id);
      const prepared = prepare(deps.changes, where, collection, withoutRelations(collection, whole));
      outcomes.push(prepared instanceof Failure ? prepared : 'skipped');
      if (prepared instanceof Failure) continue;
      if (before === undefined) created.push({ at, prepared });
      else if (!keep && !isSame(deps, collection, before, prepared.document, prepared.given))
        changed.push({ at, prepared: withTimes(prepared) });
    }
    for (const [pending, outcome, upsert] of [
      [created, 'created', false],
      [changed, 'changed', true],
    ] as const) {
      const all = pending.map(({ prepared }) => prepared);
      const results = dryRun ? [] : await write(deps, where, by, collection, all, upsert);
      for (const [index, { at }] of pending.entries()) {
        const result = results[index];
        outcomes[at] = result instanceof Failure ? result : outcome;
      }
    }
    return outcomes;
  });
}

/** A document to write, with its position in the batch. */
interface Pending {
  readonly at: number;
  readonly prepared: Prepared;
}

/** Adds the times to the data, because changes read them there. */
function withTimes({ given, document }: Prepared): Prepared {
  const { createdAt: $createdAt, updatedAt: $updatedAt } = document.times;
  return { document, given: { ...given, data: { ...given.data, $createdAt, $updatedAt } } };
}

async function matchRelations(
  deps: Deps,
  place: TransferPlace,
  by: AuditContext,
  given: readonly ImportedDocument[],
  { keep, dryRun }: MatchOptions,
): Promise<Matched[]> {
  const where = contextOf(deps, place);
  return deps.collections.use(where, async (collection) => {
    const ids = given.map(({ id }) => id);
    const present = await presentDocuments(deps, collection, ids);
    const known = given.filter(({ id }) => present.has(id));
    const different = await differentRelations(deps, collection, known, keep);
    const relating = [...different].map(([id, { data, isNew }]): Relating => {
      const $updatedAt = present.get(id)?.updatedAt;
      return { id, data: { ...data, $updatedAt }, outcome: isNew ? 'created' : 'changed' };
    });
    const outcomes = dryRun
      ? relating.map(({ outcome }) => outcome)
      : await relate(deps, where, by, collection, relating);
    const byId = new Map(relating.map(({ id }, at) => [id, outcomes[at]]));
    return ids.map((id) => byId.get(id) ?? (present.has(id) ? 'skipped' : 'absent'));
  });
}

/** Relationships of a document to write. */
interface Relating {
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly outcome: 'created' | 'changed';
}

/** Writes all in one unit. If one is refused, the unit fails, and each gets a unit of its own. */
async function writeAll<T, R>(
  deps: Deps,
  by: AuditContext,
  all: readonly T[],
  write: (unit: Unit, some: readonly T[]) => Promise<R[]>,
): Promise<(R | Failure)[]> {
  if (all.length === 0) return [];
  try {
    return await deps.db.work(by, (unit) => write(unit, all));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (all.length === 1) return [error];
    const outcomes: (R | Failure)[] = [];
    for (const one of all) outcomes.push(...(await writeAll(deps, by, [one], write)));
    return outcomes;
  }
}

/** Writes relationships. */
function relate(
  deps: Deps,
  where: CollectionContext,
  by: AuditContext,
  collection: Collection,
  relating: readonly Relating[],
): Promise<Matched[]> {
  return writeAll(deps, by, relating, async (unit, some) => {
    await deps.tables.write(unit, [collection]);
    for (const { id, data } of some)
      await deps.changes.update(unit, { where, collection, id }, { data, verbatim: true });
    return some.map(({ outcome }) => outcome);
  });
}

interface Prepared {
  readonly given: ImportedDocument;
  readonly document: NewDocument;
}

function prepare(changes: Changes, where: CollectionContext, collection: Collection, given: ImportedDocument) {
  try {
    const times = {
      createdAt: timeOf('$createdAt', given.createdAt),
      updatedAt: timeOf('$updatedAt', given.updatedAt),
    };
    return { given, document: { ...changes.prepare({ where, collection, id: given.id }, given), times } };
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** Parses a time into wire format. Throws Failure if it is invalid. */
function timeOf(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const time = attributeTypes.datetime.parse(text, {});
  if (time instanceof InvalidValue)
    throw new Failure('document_invalid_structure', {
      message: ({ document }) => `Invalid ${document} structure: ${name} ${time.reason}.`,
    });
  return String(time);
}

/** Writes documents. */
function write(
  deps: Deps,
  where: CollectionContext,
  by: AuditContext,
  collection: Collection,
  prepared: readonly Prepared[],
  upsert: boolean,
): Promise<Imported[]> {
  const { store, rowWrites, changes, tables } = deps;
  return writeAll(deps, by, prepared, async (unit, some) => {
    await tables.write(unit, [collection]);
    const first = new Map([...some].reverse().map((one) => [one.document.id, one]));
    const inserted = some.flatMap((one) => (first.get(one.document.id) === one ? one.document : []));
    const written = await insert(rowWrites, unit, collection, inserted);
    const outcomes: Imported[] = [];
    for (const one of some) {
      const { id } = one.document;
      if (written.has(id) && first.get(id) === one) {
        outcomes.push('created');
        continue;
      }
      const failure = await conflict(unit, store, collection, one.document);
      if (!(failure instanceof Failure)) throw failure;
      if (upsert && failure.type === 'document_already_exists') {
        const input = { ...one.given, verbatim: true } as const;
        const { updatedAt } = await changes.upsert(unit, { where, collection, id: one.given.id }, input);
        outcomes.push(updatedAt === wireNow(unit) ? 'updated' : 'unchanged');
      } else outcomes.push(failure);
    }
    return outcomes;
  });
}

/** Writes all documents except those that conflict with existing ones, and returns the ids of the written ones. */
async function insert(rowWrites: RowWrites, unit: Unit, collection: Collection, documents: readonly NewDocument[]) {
  const written = await rowWrites.insert(unit, collection, documents);
  const record = creationRecorder(collection);
  for (const { id } of documents) {
    const document = written.get(id);
    if (document !== undefined) record(unit, document);
  }
  for (const document of documents) if (written.has(document.id)) await document.relate?.(unit);
  return new Set(written.keys());
}
