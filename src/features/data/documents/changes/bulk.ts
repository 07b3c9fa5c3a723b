import { Failure } from '#src/contract/errors.js';
import { bulkLimits } from '#src/contract/limits.js';
import { expandPermissions } from '#src/contract/permissions.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { TableLocks } from '#src/platform/db/table-locks.js';
import type { Unit } from '#src/platform/db/unit.js';
import { bind } from '#src/platform/runtime/bind.js';
import { printJson } from '#src/platform/text/json.js';
import type { Collection } from '../../databases/index.js';
import { type Place, visiblePart } from '../access/access.js';
import { recordDeletion, recordUpdate } from '../access/record.js';
import type { RowWrites } from '../access/rows.js';
import type { DocumentInput, GivenDocument } from '../access/service.js';
import type { StoredDocument, StoredValues } from '../model/document.js';
import { toDeleted, toDocument } from '../model/row.js';
import { printDocument } from '../model/serializer.js';
import { changedValues, charactersOf, timesOf } from '../model/structure.js';
import { type Operators, operated, operatorsOf, unoperated } from '../operators/index.js';
import { type DocumentQuery, parseQueries } from '../query/parse.js';
import { valuesOf } from '../relations/operated.js';
import { requireCurrent, SchemaChanged, wireNow } from '../store/errors.js';
import type { DocumentStore } from '../store/store.js';
import type { Changes } from './index.js';

/** Changes of many documents within a unit, for server keys: all of them or none. */
export interface BulkChanges {
  create(unit: Unit, place: Place, given: readonly GivenDocument[]): Promise<StoredDocument[]>;
  upsert(unit: Unit, place: Place, given: readonly GivenDocument[]): Promise<StoredDocument[]>;
  /** Changes every document that matches the queries. */
  update(unit: Unit, place: Place, queries: readonly string[], input: DocumentInput): Promise<StoredDocument[]>;
  remove(unit: Unit, place: Place, queries: readonly string[]): Promise<StoredDocument[]>;
}

interface Deps {
  readonly store: DocumentStore;
  readonly rowWrites: RowWrites;
  readonly changes: Changes;
  readonly tables: TableLocks;
}

/** Creates the changes of many documents. */
export function createBulkChanges(deps: Deps): BulkChanges {
  return bind(deps, { create, upsert, update, remove });
}

async function create(deps: Deps, unit: Unit, place: Place, given: readonly GivenDocument[]) {
  const { changes } = deps;
  const { collection } = place;
  requireUnrelated(collection);
  requireDistinct(given);
  const documents = given.map(({ id, ...input }) => changes.prepare({ ...place, id }, input));
  const characters = documents.reduce((sum, { values }) => sum + charactersOf(values), 0);
  if (characters > bulkLimits.bytes) throw tooLarge();
  if (given.some(({ id }) => id !== uniqueId)) await deps.tables.write(unit, [collection]);
  return changes.insertAll(unit, collection, documents);
}

async function upsert(deps: Deps, unit: Unit, place: Place, given: readonly GivenDocument[]) {
  const { collection } = place;
  requireUnrelated(collection);
  requireDistinct(given);
  await deps.tables.write(unit, [collection]);
  const written: StoredDocument[] = [];
  let bytes = 0;
  for (const { id, ...input } of given) {
    const document = await deps.changes.upsert(unit, { ...place, id }, input);
    bytes += Buffer.byteLength(document.data);
    if (bytes > bulkLimits.bytes) throw tooLarge();
    written.push(document);
  }
  return written;
}

/** As with Appwrite, whose SDKs say so. */
function requireUnrelated({ relations }: Collection): void {
  if (relations.length > 0)
    throw new Failure('general_bad_request', {
      message: ({ collection, documents }) =>
        `A ${collection} with relationships takes no changes of many ${documents} at once. Change them one by one, or in a transaction.`,
    });
}

function requireDistinct(given: readonly GivenDocument[]): void {
  const ids = given.map(({ id }) => id).filter((id) => id !== uniqueId);
  if (new Set(ids).size < ids.length) throw new Failure('document_already_exists');
}

async function update(
  deps: Deps,
  unit: Unit,
  place: Place,
  queries: readonly string[],
  { data = {}, permissions }: DocumentInput,
) {
  const { where, collection } = place;
  requireUnrelated(collection);
  const operators = operatorsOf(collection, data);
  const plain = changedValues(collection, unoperated(data, operators));
  const times = timesOf(where.actor, data);
  const granted = permissions === undefined ? undefined : expandPermissions(permissions, 'item');
  if (plain.size + operators.size + Object.keys(times).length === 0 && granted === undefined)
    throw new Failure('document_missing_payload');
  const ids = await match(deps, unit, collection, queries, charactersOf(plain));
  if (ids.length === 0) return [];
  const groups =
    operators.size === 0 ? [{ ids, values: plain }] : await alike(deps, unit, collection, ids, data, operators);
  const written: (StoredDocument | Failure)[] = [];
  let bytes = 0;
  for (const { ids: some, values } of groups) {
    const change = { permissions: granted, values, computed: new Map(), times, always: true };
    const bounded = { ...change, maxBytes: bulkLimits.bytes, now: wireNow(unit) };
    for (const row of await deps.rowWrites.update(unit, collection, some, bounded)) {
      bytes += Buffer.byteLength(String(row.data));
      written.push(row.data === null || bytes > bulkLimits.bytes ? tooLarge() : toDocument(collection, row));
    }
  }
  const numbers = [...(groups[0]?.values.keys() ?? [])];
  return inOrder(place, ids, written, (one) => recordUpdate(unit, collection, one, numbers, granted !== undefined));
}

/** Finds the ids of matching documents, in their order, and locks them. Skips those that stop to match before they are locked. */
async function match(
  { store, tables }: Deps,
  unit: Unit,
  collection: Collection,
  queries: readonly string[],
  added: number,
) {
  const request = requestOf(queries, collection);
  await tables.write(unit, [collection]);
  const ids = await look(store, unit, collection, request, added);
  if (ids.length === 0) return ids;
  const locked = await unit.all(store.stillMatching(collection, request, ids));
  const isLocked = new Set(locked.map((row) => String(row.id)));
  return ids.filter((id) => isLocked.has(id));
}

function requestOf(queries: readonly string[], collection: Collection): DocumentQuery {
  const request = parseQueries(queries, collection);
  if (request.cursor !== null || request.select !== null)
    throw new Failure('general_query_invalid', {
      message: 'Invalid query: a change of many documents takes filters, orders, limit and offset.',
    });
  return request;
}

/** Finds the ids of matching documents, in their order, without locks. */
async function look(store: DocumentStore, unit: Unit, collection: Collection, request: DocumentQuery, added: number) {
  const limit = request.isLimited ? Math.min(request.limit, bulkLimits.matched + 1) : bulkLimits.matched + 1;
  const rows = await unit.all(store.matching(collection, request, limit));
  if (rows.length > bulkLimits.matched) throw tooMany();
  const bytes = rows.reduce((sum, row) => sum + Number(row.bytes) + added, 0);
  if (bytes > bulkLimits.bytes) throw tooLarge();
  return rows.map((row) => String(row.id));
}

/** Applies operators to locked documents. Documents that get the same values are grouped, to be changed by one statement. */
async function alike(
  { store }: Deps,
  unit: Unit,
  collection: Collection,
  ids: readonly string[],
  data: Readonly<Record<string, unknown>>,
  operators: Operators,
) {
  const groups = new Map<string, { readonly ids: string[]; readonly values: StoredValues }>();
  const moment = { now: wireNow(unit), room: bulkLimits.bytes };
  let characters = 0;
  for (const row of await unit.all(store.values(collection, ids, [...operators.keys()]))) {
    requireCurrent(collection, row.version);
    const values = changedValues(collection, operated(data, operators, valuesOf(collection, row), moment));
    characters += charactersOf(values);
    if (characters > bulkLimits.bytes) throw tooLarge();
    const key = printJson([...values]);
    const group = groups.get(key) ?? { ids: [], values };
    groups.set(key, group);
    group.ids.push(String(row.id));
  }
  return [...groups.values()];
}

async function remove(deps: Deps, unit: Unit, place: Place, queries: readonly string[]) {
  const { collection } = place;
  requireUnrelated(collection);
  const ids = await match(deps, unit, collection, queries, 0);
  if (ids.length === 0) return [];
  const rows = await unit.all(deps.store.remove(collection, ids, bulkLimits.bytes));
  const removed = rows.map((row) => toDeleted(collection, row));
  return inOrder(place, ids, removed, (one) => recordDeletion(unit, collection, one));
}

/** Records each document in the order of the ids, and returns what the caller may see. All exist and are locked, so one that was not written has another schema. */
function inOrder(
  { where, collection }: Place,
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
  return ordered.map((document) => visiblePart(where, collection, document));
}

/** Prints the first documents of an answer, and counts all. */
export function echoed(documents: readonly StoredDocument[]): { total: number; documents: string } {
  const shown = documents.slice(0, bulkLimits.echoed).map((document) => printDocument(document).join(''));
  return { total: documents.length, documents: shown.join(',') };
}

function tooMany(): Failure {
  return new Failure('general_bad_request', {
    message: ({ documents }) =>
      `More than ${bulkLimits.matched} ${documents} match. Send a \`limit\` of at most ${bulkLimits.matched}, and repeat the request.`,
  });
}

function tooLarge(): Failure {
  return new Failure('general_bad_request', {
    message: ({ documents }) =>
      `The ${documents} would have more than ${bulkLimits.bytes} bytes together. Change fewer at once.`,
  });
}
