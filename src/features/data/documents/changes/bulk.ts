import { Failure } from '#src/contract/errors.js';
import { bulkLimits } from '#src/contract/limits.js';
import { expandPermissions } from '#src/contract/permissions.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Collection } from '../../databases/index.js';
import type { Where } from '../collections.js';
import type { StoredDocument } from '../document.js';
import { wireNow } from '../errors.js';
import { parseQueries } from '../query/parse.js';
import { toDocument } from '../row.js';
import { printDocument } from '../serializer.js';
import type { DocumentInput, GivenDocument } from '../service.js';
import type { DocumentStore } from '../store.js';
import { changedValues, charactersOf } from '../structure.js';
import { type Changes, recordDeletion, recordUpdate } from './index.js';
import type { RowWrites } from './rows.js';

/** Changes of many documents within a unit, for server keys: all of them or none. */
export interface BulkChanges {
  create(unit: Unit, where: Where, collection: Collection, given: readonly GivenDocument[]): Promise<StoredDocument[]>;
  upsert(unit: Unit, where: Where, collection: Collection, given: readonly GivenDocument[]): Promise<StoredDocument[]>;
  /** Changes every document that matches the queries. */
  update(
    unit: Unit,
    collection: Collection,
    queries: readonly string[],
    input: DocumentInput,
  ): Promise<StoredDocument[]>;
  remove(unit: Unit, collection: Collection, queries: readonly string[]): Promise<StoredDocument[]>;
}

/** Creates the changes of many documents. */
export function createBulkChanges(store: DocumentStore, rowWrites: RowWrites, changes: Changes): BulkChanges {
  /** The ids of the documents that match, in their order and locked. */
  const match = async (unit: Unit, collection: Collection, queries: readonly string[], added: number) => {
    const request = parseQueries(queries, collection);
    if (request.cursor !== null || request.select !== null)
      throw new Failure('general_query_invalid', {
        message: 'Invalid query: a change of many documents takes filters, orders, limit and offset.',
      });
    const limit = request.isLimited ? Math.min(request.limit, bulkLimits.matched + 1) : bulkLimits.matched + 1;
    const rows = await unit.all(store.matching(collection, request, limit));
    if (rows.length > bulkLimits.matched) throw tooMany();
    const bytes = rows.reduce((sum, row) => sum + Number(row.bytes) + added, 0);
    if (bytes > bulkLimits.bytes) throw tooLarge();
    return rows.map((row) => String(row.id));
  };
  const demandDistinct = (given: readonly GivenDocument[]) => {
    const ids = given.map(({ id }) => id).filter((id) => id !== uniqueId);
    if (new Set(ids).size < ids.length) throw new Failure('document_already_exists');
  };

  return {
    create: async (unit, where, collection, given) => {
      demandDistinct(given);
      const documents = given.map(({ id, ...input }) => changes.prepare(where, collection, id, input));
      const characters = documents.reduce((sum, { values }) => sum + charactersOf(values), 0);
      if (characters > bulkLimits.bytes) throw tooLarge();
      return changes.insertAll(unit, collection, documents);
    },
    upsert: async (unit, where, collection, given) => {
      demandDistinct(given);
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
    update: async (unit, collection, queries, { data = {}, permissions }) => {
      const values = changedValues(collection, data);
      const granted = permissions === undefined ? undefined : expandPermissions(permissions, 'item');
      if (values.size === 0 && granted === undefined) throw new Failure('document_missing_payload');
      const ids = await match(unit, collection, queries, charactersOf(values));
      if (ids.length === 0) return [];
      const change = { permissions: granted, values, computed: new Map(), always: true, maxBytes: bulkLimits.bytes };
      const rows = await rowWrites.update(unit, collection, ids, { ...change, now: wireNow(unit) });
      return inOrder(
        ids,
        rows.map((row) => (row.data === null ? tooLarge() : toDocument(collection, row))),
        (one) => recordUpdate(unit, collection, one, values.keys(), granted !== undefined),
      );
    },
    remove: async (unit, collection, queries) => {
      const ids = await match(unit, collection, queries, 0);
      if (ids.length === 0) return [];
      const rows = await unit.all(store.remove(collection, ids, bulkLimits.bytes));
      return inOrder(
        ids,
        rows.map((row) => toDocument(collection, row)),
        (one) => recordDeletion(unit, collection, one),
      );
    },
  };
}

/** Records each document in the order of the ids. */
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
