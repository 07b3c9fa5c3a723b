import { absentParam, Failure } from '#src/contract/errors.js';
import { auditContextOf, type Call, implement, type Operation, readFactsOf } from '#src/contract/operation.js';
import { createTableLocks } from '#src/platform/db/table-locks.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Idempotency } from '../../installation/index.js';
import type { Databases } from '../databases/index.js';
import { type CollectionContext, createCollections, joinRequests } from './access/collections.js';
import { createRowWrites } from './access/rows.js';
import type { Documents, Precondition } from './access/service.js';
import { documentsApi, documentValuesApi } from './api.js';
import { createBulkChanges } from './changes/bulk.js';
import { createChanges } from './changes/index.js';
import { createDocumentWrites } from './changes/writes.js';
import { documentReply, pageReply, selectionReply } from './model/view.js';
import { createDocumentReads } from './reads/reads.js';
import { createDocumentsOfUnit, type DocumentsOfUnit } from './reads/within.js';
import { createLinkStore } from './relations/link-store.js';
import { createRelease } from './relations/removal.js';
import { createRelate } from './relations/writes.js';
import { createScans } from './scans/index.js';
import { createDocumentReaders } from './store/readers.js';
import { createDocumentStore } from './store/store.js';
import { createTransfer } from './transfer/index.js';

export { documentShape, documentValuesApi, documentWriteErrors } from './api.js';
export type { DocumentPage, StoredDocument } from './model/document.js';
export { printDocument } from './model/serializer.js';
export type { DocumentsOfUnit, NamedChange } from './reads/within.js';
export type { AdvisedScan } from './scans/index.js';
export { SchemaChanged } from './store/errors.js';
export type { ImportedDocument, TransferPlace } from './transfer/index.js';

/** Part of a call that handlers read. It does not depend on the reply. */
type CallOf<K extends keyof typeof documentsApi> = Pick<Call<(typeof documentsApi)[K]>, keyof Call>;

/** Creates the feature for documents of collections. */
export function createDocumentsFeature(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'config' | 'log' | 'metrics' | 'budgets'>,
  databases: Databases,
  idempotency: Idempotency,
) {
  const store = createDocumentStore(runtime.sql, runtime.config.answerMaxBytes);
  const scans = createScans(runtime, databases);
  const links = createLinkStore(runtime.sql);
  const tables = createTableLocks(runtime.sql);
  const relationDeps = { databases, store, links };
  const relations = {
    relate: createRelate(relationDeps),
    release: createRelease(relationDeps),
  };
  const rowWrites = createRowWrites(runtime.sql, store);
  const changes = createChanges(runtime, store, { rowWrites, tables, ...relations });
  const bulk = createBulkChanges({ store, rowWrites, changes, tables });
  const collections = createCollections(runtime, databases, joinRequests(runtime, store, rowWrites));
  const documents: Documents = {
    ...createDocumentReads(runtime, collections, store, scans.watch),
    ...createDocumentWrites(runtime, collections, { changes, bulk, store }, idempotency),
  };
  return {
    /** Reprints documents that were printed in an earlier format. */
    reprint: store.reprint,
    scans,
    transfer: createTransfer(runtime, databases, { collections, store, rowWrites, changes, tables, links }),
    /** Finds out who may read documents now. */
    readers: createDocumentReaders(runtime, databases, store),
    ...implementDocuments(documents),
    /** The same operations as parts of a unit of work. */
    within: (unit: Unit): DocumentsOfUnit => {
      const ofUnit = createDocumentsOfUnit(runtime, unit, { databases, store, changes, bulk, idempotency, tables });
      const { lock, mayChange, tagOf } = ofUnit;
      return { lock, mayChange, tagOf, operations: implementDocuments(ofUnit.documents).operations };
    },
  };
}

/** Implements the operations on documents. */
function implementDocuments(documents: Documents) {
  return {
    operations: implement(documentsApi, {
      create: (call) => createSome(documents, call),
      list: async (call) => {
        const { queries, populate } = call.query;
        return pageReply(await documents.printedList(contextOf(call), queries, call.query.total, populate));
      },
      get: async (call) => {
        const { queries, populate } = call.query;
        return (queries.length + populate.length === 0 ? documentReply : selectionReply)(await get(documents, call));
      },
      update: async (call) => documentReply(await update(documents, call, call.request)),
      upsert: async (call) => {
        const input = { ...call.body, ifMatch: call.request.ifMatch };
        const { documentId } = call.params;
        return documentReply(await documents.upsert(contextOf(call), auditContextOf(call), documentId, input));
      },
      updateAll: async (call) => {
        const { $permissions: permissions, ...data } = call.body.data;
        const input = { data, permissions };
        return pageReply(await documents.updateAll(contextOf(call), auditContextOf(call), call.body.queries, input));
      },
      upsertAll: async (call) =>
        pageReply(await documents.upsertAll(contextOf(call), auditContextOf(call), call.body.documents)),
      deleteAll: async (call) =>
        pageReply(await documents.removeAll(contextOf(call), auditContextOf(call), call.body.queries)),
      increment: async (call) => documentReply(await increment(documents, call, false, call.body.max)),
      decrement: async (call) => documentReply(await increment(documents, call, true, call.body.min)),
      delete: async (call) => {
        await remove(documents, call, call.request);
      },
    }).map((operation) => {
      const { method } = operation.declaration;
      return method === 'GET' ? operation : { ...operation, repeat: repeatOf(documents, method) };
    }),
    /** The same for callers within the process, without routes. */
    valueOperations: implement(documentValuesApi, {
      create: (call) => create(documents, call),
      list: (call) => documents.list(contextOf(call), call.query.queries, call.query.total, call.query.populate),
      get: (call) => get(documents, call),
      update: (call) => update(documents, call),
      delete: (call) => remove(documents, call),
    }),
  };
}

function contextOf({ project, actor, params, request }: Omit<CallOf<'create'>, 'query' | 'body'>): CollectionContext {
  const { databaseId, collectionId } = params;
  return { project, actor, databaseId, collectionId, ...readFactsOf(request) };
}

async function createSome(documents: Documents, call: CallOf<'create'>) {
  const { documentId, documents: given, data, permissions } = call.body;
  if (given === undefined) {
    if (documentId === undefined) throw absentParam('documentId');
    return documentReply(await create(documents, { ...call, body: { documentId, data, permissions } }));
  }
  if (call.actor.kind !== 'key')
    throw new Failure('general_unauthorized_scope', {
      message: ({ documents: rows }) => `Only a server key can create several ${rows}.`,
    });
  if (documentId !== undefined || data !== undefined || permissions !== undefined)
    throw new Failure('general_bad_request', {
      message: (terms) =>
        `Send either \`${terms.documents}\`, or \`${terms.documentId}\` with \`data\` and \`permissions\`.`,
    });
  return pageReply(await documents.createAll(contextOf(call), auditContextOf(call), given));
}

type CreateCall = Omit<CallOf<'create'>, 'body'> & { body: Call<typeof documentValuesApi.create>['body'] };

async function create(documents: Documents, call: CreateCall) {
  const { documentId, data, permissions } = call.body;
  if (data === undefined || data === null) throw new Failure('document_missing_data');
  return documents.create(contextOf(call), auditContextOf(call), documentId, { data, permissions });
}

function get(documents: Documents, call: CallOf<'get'>) {
  return documents.get(contextOf(call), call.params.documentId, call.query.queries, call.query.populate);
}

function update(documents: Documents, call: CallOf<'update'>, { ifMatch }: Precondition = {}) {
  return documents.update(contextOf(call), auditContextOf(call), call.params.documentId, { ...call.body, ifMatch });
}

type StepCall = Omit<CallOf<'increment'>, 'body'> & { body: Pick<CallOf<'increment'>['body'], 'value'> };

function increment(documents: Documents, call: StepCall, down: boolean, bound: CallOf<'increment'>['body']['max']) {
  const { attribute, documentId } = call.params;
  const { ifMatch } = call.request;
  const step = { attribute, by: call.body.value, down, bound: bound ?? undefined, ifMatch };
  return documents.increment(contextOf(call), auditContextOf(call), documentId, step);
}

function remove(documents: Documents, call: CallOf<'delete'>, { ifMatch }: Precondition = {}) {
  return documents.remove(contextOf(call), auditContextOf(call), call.params.documentId, { ifMatch });
}

const actions = { POST: 'create', PUT: 'upsert', PATCH: 'update', DELETE: 'delete' } as const;

function repeatOf(documents: Documents, method: keyof typeof actions): NonNullable<Operation['repeat']> {
  return (call, kept) => {
    const change = call as unknown as CallOf<'update'>;
    const { documentId: id } = change.params;
    const isStaged = Boolean(change.body.transactionId);
    return documents.repeated(contextOf(change), { action: actions[method], id, isStaged }, kept);
  };
}
