import type { ServerKey } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { operatorReading } from '#src/contract/reading.js';
import type { TableLocks } from '#src/platform/db/table-locks.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import {
  type Attribute,
  attributeTypes,
  type Collection,
  type Databases,
  InvalidValue,
} from '../../databases/index.js';
import type { Changes } from '../changes/index.js';
import { creationRecorder } from '../changes/record.js';
import type { RowWrites } from '../changes/rows.js';
import type { AuditContext, Collections, Where } from '../collections.js';
import type { StoredDocument } from '../document.js';
import { conflict, wireNow } from '../errors.js';
import { toDocument } from '../row.js';
import type { GivenDocument } from '../service.js';
import type { DocumentStore, NewDocument } from '../store.js';

/** A document of another place. */
export interface ImportedDocument extends GivenDocument {
  readonly createdAt?: string | undefined;
  readonly updatedAt?: string | undefined;
}

/** What has become of a document that was to be imported. */
type Imported = 'created' | 'updated' | 'unchanged' | Failure;

/** Documents of a collection that are read together, and its attributes then. */
interface ExportedPage {
  readonly attributes: readonly Attribute[];
  readonly documents: readonly StoredDocument[];
}

/** Which collection of which project. */
export type TransferPlace = Pick<Where, 'project' | 'databaseId' | 'collectionId'>;

/** Carries whole collections out of the installation and into it, for the operator. */
interface Transfer {
  /** All documents in the order of their creation, some at a time, each time of one state of the database; one page at least. */
  exported(place: TransferPlace): AsyncIterable<ExportedPage>;
  /** Creates documents in one unit as far as they can be, and tells of each what has become of it; `upsert` changes those that are there. */
  importSome(
    place: TransferPlace,
    by: AuditContext,
    given: readonly ImportedDocument[],
    upsert: boolean,
  ): Promise<Imported[]>;
}

/** The operator may do what a server key with every scope may. */
const operator: ServerKey = { kind: 'key', id: '', name: 'operator', scopes: ['all'], expire: null };

/** Creates the transfer of documents. */
export function createTransfer(
  { db, answers }: Pick<Runtime, 'db' | 'answers'>,
  databases: Databases,
  {
    collections,
    store,
    rowWrites,
    changes,
    tables,
  }: {
    readonly collections: Collections;
    readonly store: DocumentStore;
    readonly rowWrites: RowWrites;
    readonly changes: Changes;
    readonly tables: TableLocks;
  },
): Transfer {
  const whereOf = (place: TransferPlace): Where => ({
    ...place,
    actor: operator,
    reading: operatorReading,
    room: answers.open(operatorReading),
  });
  /** Writes the documents that are not there, and returns the ids of those that were written. */
  const insert = async (
    unit: Unit,
    collection: Collection,
    documents: readonly NewDocument[],
  ): Promise<Set<string>> => {
    const written = await rowWrites.insert(unit, collection, documents);
    const record = creationRecorder(collection);
    for (const { id } of documents) {
      const document = written.get(id);
      if (document !== undefined) record(unit, document);
    }
    for (const document of documents) if (written.has(document.id)) await document.relate?.(unit);
    return new Set(written.keys());
  };
  const change = async (unit: Unit, where: Where, collection: Collection, given: GivenDocument): Promise<Imported> => {
    const { updatedAt } = await changes.upsert(unit, where, collection, given.id, {
      ...given,
      verbatim: true,
    });
    return updatedAt === wireNow(unit) ? 'updated' : 'unchanged';
  };
  type Prepared = { readonly given: ImportedDocument; readonly document: NewDocument };
  /** All of them in one unit; where one cannot be written, each in a unit of its own, as the unit has failed. */
  const write = async (
    where: Where,
    by: AuditContext,
    collection: Collection,
    prepared: readonly Prepared[],
    upsert: boolean,
  ): Promise<Imported[]> => {
    try {
      return await db.work(by, async (unit) => {
        if (collection.relations.length > 0) await tables.use(unit, [collection]);
        const first = new Map([...prepared].reverse().map((one) => [one.document.id, one]));
        const written = await insert(
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
          const isThere = failure.type === 'document_already_exists';
          outcomes.push(isThere && upsert ? await change(unit, where, collection, one.given) : failure);
        }
        return outcomes;
      });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (prepared.length === 1) return [error];
      const outcomes: Imported[] = [];
      for (const one of prepared) outcomes.push(...(await write(where, by, collection, [one], upsert)));
      return outcomes;
    }
  };
  const prepare = (where: Where, collection: Collection, given: ImportedDocument): Prepared | Failure => {
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
  };
  return {
    exported: async function* (place) {
      let after: number | null = 0;
      for (let isFirst = true; after !== null; isFirst = false) {
        const from: number = after;
        const page = await db.snapshot(async (reader) => {
          const collection = await databases.getCollection(reader, pathOf(place));
          const { attributes } = collection;
          const last = (await reader.one(store.batchEnd(collection, from)))?.last ?? null;
          if (last === null) return { attributes, documents: [], last };
          const rows = await reader.all(store.between(collection, from, Number(last)));
          return { attributes, documents: rows.map((row) => toDocument(collection, row)), last: Number(last) };
        });
        if (isFirst || page.documents.length > 0) yield page;
        after = page.last;
      }
    },
    importSome: (place, by, given, upsert) => {
      const where = whereOf(place);
      return collections.use(where, async (collection) => {
        const prepared = given.map((one) => prepare(where, collection, one));
        const sound = prepared.flatMap((one) => (one instanceof Failure ? [] : [one]));
        const outcomes = sound.length === 0 ? [] : await write(where, by, collection, sound, upsert);
        let next = 0;
        return prepared.map((one) =>
          one instanceof Failure ? one : (outcomes[next++] ?? new Failure('general_unknown')),
        );
      });
    },
  };
}

function pathOf({
  project,
  databaseId,
  collectionId,
}: { readonly project: Pick<Project, 'id'> } & Omit<TransferPlace, 'project'>) {
  return { projectId: project.id, databaseId, collectionId };
}

/** A time in the form of the wire. Throws Failure where it is none. */
function timeOf(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const time = attributeTypes.datetime.parse(text, {});
  if (time instanceof InvalidValue)
    throw new Failure('document_invalid_structure', {
      message: `Invalid document structure: ${name} ${time.reason}.`,
    });
  return String(time);
}
