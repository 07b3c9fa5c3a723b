import { Failure } from '#src/contract/errors.js';
import { bulkLimits } from '#src/contract/limits.js';
import { expandPermissions } from '#src/contract/permissions.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { Unit } from '#src/platform/db/unit.js';
import { printJson } from '#src/platform/json.js';
import type { Collection } from '../../databases/index.js';
import type { Where } from '../collections.js';
import type { StoredDocument, StoredValues } from '../document.js';
import { demandCurrent, SchemaChanged, wireNow } from '../errors.js';
import { type DocumentQuery, parseQueries } from '../query/parse.js';
import type { Holds } from '../relations/holds.js';
import { toDocument } from '../row.js';
import { printDocument } from '../serializer.js';
import type { DocumentInput, GivenDocument } from '../service.js';
import type { DocumentStore } from '../store.js';
import { changedValues, charactersOf, timesOf } from '../structure.js';
import type { Changes } from './index.js';
import { valuesOf } from './operated.js';
import { type Operators, operated, operatorsOf, unoperated } from './operators/index.js';
import { recordDeletion, recordUpdate } from './record.js';
import type { RowWrites } from './rows.js';

/** Changes of many documents within a unit, for server keys: all of them or none. */
export interface BulkChanges {
  create(unit: Unit, where: Where, collection: Collection, given: readonly GivenDocument[]): Promise<StoredDocument[]>;
  upsert(unit: Unit, where: Where, collection: Collection, given: readonly GivenDocument[]): Promise<StoredDocument[]>;
  /** Changes every document that matches the queries. */
  update(
    unit: Unit,
    where: Where,
    collection: Collection,
    queries: readonly string[],
    input: DocumentInput,
  ): Promise<StoredDocument[]>;
  remove(unit: Unit, collection: Collection, queries: readonly string[]): Promise<StoredDocument[]>;
  /** The documents that `update` and `remove` would change now; nothing is locked. */
  matched(unit: Unit, collection: Collection, queries: readonly string[]): Promise<Matched>;
}

/** Documents that match queries. */
export interface Matched {
  readonly ids: readonly string[];
  /** Whether it depends on the others that match which they are. */
  readonly isPart: boolean;
}

/** How often it is looked again for documents that match where some of those that did have changed meanwhile. */
const looks = 5;

/** Creates the changes of many documents. */
export function createBulkChanges(
  store: DocumentStore,
  { rowWrites, changes, holds }: { readonly rowWrites: RowWrites; readonly changes: Changes; readonly holds: Holds },
): BulkChanges {
  const requestOf = (queries: readonly string[], collection: Collection): DocumentQuery => {
    const request = parseQueries(queries, collection);
    if (request.cursor !== null || request.select !== null)
      throw new Failure('general_query_invalid', {
        message: 'Invalid query: a change of many documents takes filters, orders, limit and offset.',
      });
    return request;
  };
  /** The ids of the documents that match, in their order. */
  const look = async (unit: Unit, collection: Collection, request: DocumentQuery, added: number): Promise<string[]> => {
    const limit = request.isLimited ? Math.min(request.limit, bulkLimits.matched + 1) : bulkLimits.matched + 1;
    const rows = await unit.all(store.matching(collection, request, limit));
    if (rows.length > bulkLimits.matched) throw tooMany();
    const bytes = rows.reduce((sum, row) => sum + Number(row.bytes) + added, 0);
    if (bytes > bulkLimits.bytes) throw tooLarge();
    return rows.map((row) => String(row.id));
  };
  /** The same, locked in one order for all units, whatever orders their queries have. */
  const match = async (unit: Unit, collection: Collection, queries: readonly string[], added: number) => {
    const request = requestOf(queries, collection);
    for (let count = 1; ; count++) {
      const ids = await look(unit, collection, request, added);
      if (ids.length === 0 || !holds.areNeeded) return ids;
      await unit.run({ sql: 'savepoint matched', values: [] });
      const rows = await unit.all(store.stillMatching(collection, request, ids));
      const held = new Set(rows.map((row) => String(row.id)));
      if (held.size === ids.length || count === looks) return ids.filter((id) => held.has(id));
      // Others may be in the way of those that are found next, and wait for these.
      await unit.run({ sql: 'rollback to savepoint matched', values: [] });
    }
  };
  /** Before documents are written in the order given: others that write the same ones wait. */
  const hold = (unit: Unit, collection: Collection, given: readonly GivenDocument[]) => {
    const named = given.filter(({ id }) => id !== uniqueId);
    const touched = named.map(({ id }) => ({ collection, id, isNamed: true, relations: [], isRemoved: false }));
    return holds.forAll(unit, touched);
  };
  /** What operators make of each document, which are locked: those that come to the same values are changed by one statement. */
  const alike = async (
    unit: Unit,
    collection: Collection,
    ids: readonly string[],
    data: Readonly<Record<string, unknown>>,
    operators: Operators,
  ) => {
    const groups = new Map<string, { readonly ids: string[]; readonly values: StoredValues }>();
    const moment = { now: wireNow(unit), room: bulkLimits.bytes };
    let characters = 0;
    for (const row of await unit.all(store.values(collection, ids, [...operators.keys()]))) {
      demandCurrent(collection, row.version);
      const values = changedValues(collection, operated(data, operators, valuesOf(row.data), moment));
      characters += charactersOf(values);
      if (characters > bulkLimits.bytes) throw tooLarge();
      const key = printJson([...values]);
      const group = groups.get(key) ?? { ids: [], values };
      groups.set(key, group);
      group.ids.push(String(row.id));
    }
    return [...groups.values()];
  };
  const demandDistinct = (given: readonly GivenDocument[]) => {
    const ids = given.map(({ id }) => id).filter((id) => id !== uniqueId);
    if (new Set(ids).size < ids.length) throw new Failure('document_already_exists');
  };

  return {
    create: async (unit, where, collection, given) => {
      demandUnrelated(collection);
      demandDistinct(given);
      const documents = given.map(({ id, ...input }) => changes.prepare(where, collection, id, input));
      const characters = documents.reduce((sum, { values }) => sum + charactersOf(values), 0);
      if (characters > bulkLimits.bytes) throw tooLarge();
      await hold(unit, collection, given);
      return changes.insertAll(unit, collection, documents);
    },
    upsert: async (unit, where, collection, given) => {
      demandUnrelated(collection);
      demandDistinct(given);
      await hold(unit, collection, given);
      const written: StoredDocument[] = [];
      let bytes = 0;
      for (const { id, ...input } of given) {
        const document = await changes.upsert(unit, where, collection, id, input);
        bytes += Buffer.byteLength(document.data);
        if (bytes > bulkLimits.bytes) throw tooLarge();
        written.push(document);
      }
      return written;
    },
    update: async (unit, where, collection, queries, { data = {}, permissions }) => {
      demandUnrelated(collection);
      const operators = operatorsOf(collection, data);
      const plain = changedValues(collection, unoperated(data, operators));
      const times = timesOf(where.actor, data);
      const granted = permissions === undefined ? undefined : expandPermissions(permissions, 'item');
      if (plain.size + operators.size + Object.keys(times).length === 0 && granted === undefined)
        throw new Failure('document_missing_payload');
      const ids = await match(unit, collection, queries, charactersOf(plain));
      if (ids.length === 0) return [];
      const groups =
        operators.size === 0 ? [{ ids, values: plain }] : await alike(unit, collection, ids, data, operators);
      const written: (StoredDocument | Failure)[] = [];
      let bytes = 0;
      for (const { ids: some, values } of groups) {
        const change = { permissions: granted, values, computed: new Map(), times, always: true };
        const bounded = { ...change, maxBytes: bulkLimits.bytes, now: wireNow(unit) };
        for (const row of await rowWrites.update(unit, collection, some, bounded)) {
          bytes += Buffer.byteLength(String(row.data));
          written.push(row.data === null || bytes > bulkLimits.bytes ? tooLarge() : toDocument(collection, row));
        }
      }
      const numbers = [...(groups[0]?.values.keys() ?? [])];
      return inOrder(ids, written, (one) => recordUpdate(unit, collection, one, numbers, granted !== undefined));
    },
    remove: async (unit, collection, queries) => {
      demandUnrelated(collection);
      const ids = await match(unit, collection, queries, 0);
      if (ids.length === 0) return [];
      const rows = await unit.all(store.remove(collection, ids, bulkLimits.bytes));
      return inOrder(
        ids,
        rows.map((row) => toDocument(collection, row)),
        (one) => recordDeletion(unit, collection, one),
      );
    },
    matched: async (unit, collection, queries) => {
      demandUnrelated(collection);
      const request = requestOf(queries, collection);
      const ids = await look(unit, collection, request, 0);
      return { ids, isPart: request.isLimited || request.offset > 0 };
    },
  };
}

/** As with Appwrite, whose SDKs say so. */
function demandUnrelated({ relations }: Collection): void {
  if (relations.length > 0)
    throw new Failure('general_bad_request', {
      message:
        'A collection with relationships takes no changes of many documents at once. Change them one by one, or in a transaction.',
    });
}

/** Records each document in the order of the ids. They were there and are locked, so that one which was not written has another schema. */
function inOrder(
  ids: readonly string[],
  documents: readonly (StoredDocument | Failure)[],
  record: (document: StoredDocument) => void,
): StoredDocument[] {
  const byId = new Map<string, StoredDocument>();
  for (const document of documents) {
    if (document instanceof Failure) throw document;
    byId.set(document.id, document);
  }
  const ordered = ids.flatMap((id) => byId.get(id) ?? []);
  if (ordered.length < ids.length) throw new SchemaChanged();
  for (const document of ordered) record(document);
  return ordered;
}

/** The documents of an answer, of which only the first are shown. */
export function echoed(documents: readonly StoredDocument[]): { total: number; documents: string } {
  const shown = documents.slice(0, bulkLimits.echoed).map((document) => printDocument(document).join(''));
  return { total: documents.length, documents: shown.join(',') };
}

function tooMany(): Failure {
  return new Failure('general_bad_request', {
    message: `More than ${bulkLimits.matched} documents match. Send a \`limit\` of at most ${bulkLimits.matched}, and repeat the request.`,
  });
}

function tooLarge(): Failure {
  return new Failure('general_bad_request', {
    message: `The documents would have more than ${bulkLimits.bytes} bytes together. Change fewer at once.`,
  });
}
