import { Failure } from '#src/contract/errors.js';
import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import { createTableLocks } from '#src/platform/db/table-locks.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Idempotency } from '../../installation/index.js';
import type { Databases } from '../databases/index.js';
import { documentsApi, documentValuesApi } from './api.js';
import { createBulkChanges } from './changes/bulk.js';
import { createChanges } from './changes/index.js';
import { createRowWrites } from './changes/rows.js';
import { createCollections, joinRequests, type Where } from './collections.js';
import { createDocumentReaders } from './readers/index.js';
import { createReads } from './reads.js';
import { createHolds } from './relations/holds.js';
import { createLinkStore } from './relations/link-store.js';
import { createRelease } from './relations/removal.js';
import { createRelate } from './relations/writes.js';
import { createScans } from './scans/index.js';
import type { Documents, Precondition } from './service.js';
import { createDocumentStore } from './store.js';
import { createTransfer } from './transfer/index.js';
import { documentReply, pageReply, selectionReply } from './view.js';
import { createDocumentsOfUnit, type DocumentsOfUnit } from './within/index.js';
import { createWrites } from './writes.js';

export { documentShape, documentValuesApi, documentWriteErrors } from './api.js';
export type { DocumentPage, StoredDocument } from './document.js';
export { SchemaChanged } from './errors.js';
export type { AdvisedScan } from './scans/index.js';
export { printDocument } from './serializer.js';
export type { ImportedDocument, TransferPlace } from './transfer/index.js';
export type { DocumentsOfUnit, HeldChange, HeldMatch } from './within/index.js';

/** What a handler reads of a call, whichever way the operation replies. */
type CallOf<K extends keyof typeof documentsApi> = Pick<Call<(typeof documentsApi)[K]>, keyof Call>;

/** Documents of collections. */
export function createDocumentsFeature(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'config' | 'log' | 'metrics' | 'answers'>,
  databases: Databases,
  idempotency: Idempotency,
) {
  const store = createDocumentStore(runtime.sql);
  const scans = createScans(runtime, databases);
  const links = createLinkStore(runtime.sql);
  const tables = createTableLocks(runtime.sql);
  const relationDeps = { databases, store, links };
  const relations = {
    relate: createRelate(relationDeps),
    release: createRelease(relationDeps),
    holds: createHolds(databases, links, tables),
  };
  const rowWrites = createRowWrites(runtime.sql, store);
  const changes = createChanges(runtime, store, { rowWrites, ...relations });
  const bulk = createBulkChanges(store, { rowWrites, changes, holds: relations.holds });
  const collections = createCollections(runtime, databases, joinRequests(runtime, store, rowWrites));
  const documents: Documents = {
    ...createReads(runtime, collections, store, scans.watch),
    ...createWrites(runtime, collections, { changes, bulk }, idempotency),
  };
  return {
    /** Prints documents that were printed in an earlier form. */
    reprint: store.reprint,
    scans,
    transfer: createTransfer(runtime, databases, { collections, store, rowWrites, changes, tables }),
    /** Who reads documents now. */
    readers: createDocumentReaders(runtime, databases, store),
    ...implementDocuments(documents),
    /** The same operations as parts of a unit of work. */
    within: (unit: Unit): DocumentsOfUnit => {
      const { holds } = relations;
      const ofUnit = createDocumentsOfUnit(runtime, unit, { databases, store, changes, bulk, idempotency, holds });
      const { hold, mayChange, tagOf } = ofUnit;
      return { hold, mayChange, tagOf, operations: implementDocuments(ofUnit.documents).operations };
    },
  };
}

/** What the operations do with documents. */
function implementDocuments(documents: Documents) {
  const where = ({ project, actor, params, request }: Omit<CallOf<'create'>, 'query' | 'body'>): Where => ({
    project,
    actor,
    databaseId: params.databaseId,
    collectionId: params.collectionId,
    reading: request.reading,
    room: request.answer,
  });
  const totalOf = ({ query: { total } }: CallOf<'list'>) => (total === 'exact' ? total : total === 'true');
  type CreateCall = Omit<CallOf<'create'>, 'body'> & { body: Call<typeof documentValuesApi.create>['body'] };
  const create = async (call: CreateCall) => {
    const { documentId, data, permissions } = call.body;
    if (data === undefined || data === null) throw new Failure('document_missing_data');
    return documents.create(where(call), auditContextOf(call), documentId, { data, permissions });
  };
  const createSome = async (call: CallOf<'create'>) => {
    const { documentId, documents: given, data, permissions } = call.body;
    if (given === undefined) {
      if (documentId === undefined)
        throw new Failure('general_argument_invalid', { message: 'Param "documentId" is not optional.' });
      return documentReply(await create({ ...call, body: { documentId, data, permissions } }));
    }
    if (call.actor.kind !== 'key')
      throw new Failure('general_unauthorized_scope', { message: 'Only a server key can create several documents.' });
    if (documentId !== undefined || data !== undefined || permissions !== undefined)
      throw new Failure('general_bad_request', {
        message: 'Send either `documents`, or `documentId` with `data` and `permissions`.',
      });
    return pageReply(await documents.createAll(where(call), auditContextOf(call), given));
  };
  const get = (call: CallOf<'get'>) =>
    documents.get(where(call), call.params.documentId, call.query.queries, call.query.populate);
  const update = (call: CallOf<'update'>, { ifMatch }: Precondition = {}) =>
    documents.update(where(call), auditContextOf(call), call.params.documentId, { ...call.body, ifMatch });
  const upsert = (call: CallOf<'upsert'>) => {
    const { ifMatch } = call.request;
    return documents.upsert(where(call), auditContextOf(call), call.params.documentId, { ...call.body, ifMatch });
  };
  const increment = (call: CallOf<'increment'>) => {
    const { value: by, max } = call.body;
    const step = {
      attribute: call.params.attribute,
      by,
      down: false,
      bound: max ?? undefined,
      ifMatch: call.request.ifMatch,
    };
    return documents.increment(where(call), auditContextOf(call), call.params.documentId, step);
  };
  const decrement = (call: CallOf<'decrement'>) => {
    const { value: by, min } = call.body;
    const step = {
      attribute: call.params.attribute,
      by,
      down: true,
      bound: min ?? undefined,
      ifMatch: call.request.ifMatch,
    };
    return documents.increment(where(call), auditContextOf(call), call.params.documentId, step);
  };
  const remove = (call: CallOf<'delete'>, { ifMatch }: Precondition = {}) =>
    documents.remove(where(call), auditContextOf(call), call.params.documentId, { ifMatch });
  return {
    operations: implement(documentsApi, {
      create: createSome,
      list: async (call) => {
        const { queries, populate } = call.query;
        return pageReply(await documents.printedList(where(call), queries, totalOf(call), populate));
      },
      get: async (call) => {
        const { queries, populate } = call.query;
        return (queries.length + populate.length === 0 ? documentReply : selectionReply)(await get(call));
      },
      update: async (call) => documentReply(await update(call, call.request)),
      upsert: async (call) => documentReply(await upsert(call)),
      updateAll: async (call) => {
        const { $permissions: permissions, ...data } = call.body.data;
        const { queries } = call.body;
        return pageReply(await documents.updateAll(where(call), auditContextOf(call), queries, { data, permissions }));
      },
      upsertAll: async (call) =>
        pageReply(await documents.upsertAll(where(call), auditContextOf(call), call.body.documents)),
      deleteAll: async (call) =>
        pageReply(await documents.removeAll(where(call), auditContextOf(call), call.body.queries)),
      increment: async (call) => documentReply(await increment(call)),
      decrement: async (call) => documentReply(await decrement(call)),
      delete: async (call) => {
        await remove(call, call.request);
      },
    }),
    /** The same for callers within the process, without routes. */
    valueOperations: implement(documentValuesApi, {
      create,
      list: (call) => documents.list(where(call), call.query.queries, totalOf(call), call.query.populate),
      get,
      update: (call) => update(call),
      delete: (call) => remove(call),
    }),
  };
}
