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
import type { GivenDocument } from '../access/service.js';
import type { Changes } from '../changes/index.js';
import type { StoredDocument } from '../model/document.js';
import { toDocument } from '../model/row.js';
import { conflict, wireNow } from '../store/errors.js';
import type { DocumentStore, NewDocument } from '../store/store.js';

/** A document to import, with its original times. */
export interface ImportedDocument extends GivenDocument {
  readonly createdAt?: string | undefined;
  readonly updatedAt?: string | undefined;
}

/** Outcome of the import of a document. */
type Imported = 'created' | 'updated' | 'unchanged' | Failure;

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
}

/** The operator has the permissions of a server key with all scopes. */
const operator: ServerKey = { kind: 'key', id: '', name: 'operator', scopes: ['all'], expire: null };

interface Parts {
  readonly collections: Collections;
  readonly store: DocumentStore;
  readonly rowWrites: RowWrites;
  readonly changes: Changes;
  readonly tables: TableLocks;
}

interface Deps extends Parts, Pick<Runtime, 'db' | 'answers'> {
  readonly databases: Databases;
}

/** Creates the transfer of documents. */
export function createTransfer(runtime: Pick<Runtime, 'db' | 'answers'>, databases: Databases, parts: Parts): Transfer {
  const deps: Deps = { ...parts, db: runtime.db, answers: runtime.answers, databases };
  return bind(deps, { exported, importSome });
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
  const { collections, changes, answers } = deps;
  const room = answers.open(operatorReading);
  const where: CollectionContext = { ...place, actor: operator, reading: operatorReading, room };
  return collections.use(where, async (collection) => {
    const prepared = given.map((one) => prepare(changes, where, collection, one));
    const sound = prepared.flatMap((one) => (one instanceof Failure ? [] : [one]));
    const outcomes = sound.length === 0 ? [] : await write(deps, where, by, collection, sound, upsert);
    let next = 0;
    return prepared.map((one) => (one instanceof Failure ? one : (outcomes[next++] ?? new Failure('general_unknown'))));
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
    return { given, document: { ...changes.prepare(where, collection, given.id, given), times } };
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

/** Writes all documents in one unit. If one cannot be written, the unit fails, and each document is written in its own unit. */
async function write(
  deps: Deps,
  where: CollectionContext,
  by: AuditContext,
  collection: Collection,
  prepared: readonly Prepared[],
  upsert: boolean,
): Promise<Imported[]> {
  const { db, store, rowWrites, changes, tables } = deps;
  try {
    return await db.work(by, async (unit) => {
      if (collection.relations.length > 0) await tables.use(unit, [collection]);
      const first = new Map([...prepared].reverse().map((one) => [one.document.id, one]));
      const written = await insert(
        rowWrites,
        unit,
        collection,
        prepared.flatMap((one) => (first.get(one.document.id) === one ? one.document : [])),
      );
      const outcomes: Imported[] = [];
      for (const one of prepared) {
        const { id } = one.document;
        if (written.has(id) && first.get(id) === one) {
          outcomes.push('created');
          continue;
        }
        const failure = await conflict(unit, store, collection, one.document);
        if (!(failure instanceof Failure)) throw failure;
        if (upsert && failure.type === 'document_already_exists') {
          const input = { ...one.given, verbatim: true } as const;
          const { updatedAt } = await changes.upsert(unit, where, collection, one.given.id, input);
          outcomes.push(updatedAt === wireNow(unit) ? 'updated' : 'unchanged');
        } else outcomes.push(failure);
      }
      return outcomes;
    });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (prepared.length === 1) return [error];
    const outcomes: Imported[] = [];
    for (const one of prepared) outcomes.push(...(await write(deps, where, by, collection, [one], upsert)));
    return outcomes;
  }
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
