import { Failure } from '#src/contract/errors.js';
import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import type { Databases } from '../databases/index.js';
import { documentsApi, documentValuesApi } from './api.js';
import { createCollections, type Where } from './collections.js';
import { createReads } from './reads.js';
import { createScans } from './scans/index.js';
import type { Documents } from './service.js';
import { createDocumentStore } from './store.js';
import { documentReply, pageReply } from './view.js';
import { createWrites } from './writes.js';

export { documentValuesApi } from './api.js';
export type { DocumentPage, StoredDocument } from './document.js';
export type { AdvisedScan } from './scans/index.js';

/** What a handler reads of a call, whichever way the operation replies. */
type CallOf<K extends keyof typeof documentsApi> = Pick<Call<(typeof documentsApi)[K]>, keyof Call>;

/** Documents of collections. */
export function createDocumentsFeature(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'config' | 'log' | 'metrics'>,
  databases: Databases,
) {
  const store = createDocumentStore(runtime.sql);
  const collections = createCollections(runtime, databases, store);
  const scans = createScans(runtime, databases);
  const documents: Documents = {
    ...createReads(runtime, collections, store, scans.watch),
    ...createWrites(runtime, collections, store),
  };
  const where = ({ project, actor, params, request }: Omit<CallOf<'create'>, 'query' | 'body'>): Where => ({
    project,
    actor,
    databaseId: params.databaseId,
    collectionId: params.collectionId,
    reading: request.reading,
    room: request.answer,
  });
  const totalOf = ({ query: { total } }: CallOf<'list'>) => (total === 'exact' ? total : total === 'true');
  const create = async (call: CallOf<'create'>) => {
    const { documentId, data, permissions } = call.body;
    if (data === undefined || data === null) throw new Failure('document_missing_data');
    return documents.create(where(call), auditContextOf(call), documentId, { data, permissions });
  };
  const get = (call: CallOf<'get'>) => documents.get(where(call), call.params.documentId, call.query.queries);
  const update = (call: CallOf<'update'>) =>
    documents.update(where(call), auditContextOf(call), call.params.documentId, call.body);
  const remove = (call: CallOf<'delete'>) =>
    documents.remove(where(call), auditContextOf(call), call.params.documentId);
  return {
    /** Prints documents that were printed in an earlier form. */
    reprint: store.reprint,
    scans,
    operations: implement(documentsApi, {
      create: async (call) => documentReply(await create(call)),
      list: async (call) => pageReply(await documents.printedList(where(call), call.query.queries, totalOf(call))),
      get: async (call) => documentReply(await get(call)),
      update: async (call) => documentReply(await update(call)),
      delete: async (call) => {
        await remove(call);
      },
    }),
    /** The same for callers within the process, without routes. */
    valueOperations: implement(documentValuesApi, {
      create,
      list: (call) => documents.list(where(call), call.query.queries, totalOf(call)),
      get,
      update,
      delete: remove,
    }),
  };
}
