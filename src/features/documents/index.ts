import type { WireActor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { by, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { RawJson } from '#src/contract/raw-json.js';
import type { Platform } from '#src/platform/index.js';
import type { Databases } from '../databases/index.js';
import { documentsApi } from './api.js';
import { createCollections, type Where } from './collections.js';
import { createDocuments } from './service.js';
import { createDocumentStore } from './store.js';

export { documentsApi } from './api.js';
export { pageOf, partsOf } from './parts.js';

/** Documents of collections. */
export function createDocumentsFeature(
  platform: Pick<Platform, 'db' | 'sql' | 'random' | 'config'>,
  databases: Databases,
) {
  const store = createDocumentStore(platform.sql);
  const documents = createDocuments(platform, createCollections(platform, databases, store), store);
  const where = (call: {
    project: Project;
    actor: WireActor;
    params: { databaseId: string; collectionId: string };
  }): Where => ({
    project: call.project,
    actor: call.actor,
    ...call.params,
  });
  const operations = implement(documentsApi, {
    create: async (call) => {
      const { documentId, data, permissions } = call.body;
      if (data === undefined || data === null) throw new Failure('document_missing_data');
      return new RawJson(await documents.create(where(call), by(call), documentId, { data, permissions }));
    },
    list: async (call) => {
      const asked = call.query.total === 'exact' ? 'exact' : call.query.total === 'true';
      const { total, documents: printed } = await documents.list(where(call), call.query.queries, asked);
      return new RawJson([`{"total":${total},"documents":[`, printed, ']}']);
    },
    get: async (call) => new RawJson(await documents.get(where(call), call.params.documentId, call.query.queries)),
    update: async (call) =>
      new RawJson(await documents.update(where(call), by(call), call.params.documentId, call.body)),
    delete: async (call) => new RawJson(await documents.remove(where(call), by(call), call.params.documentId)),
  });
  return { operations };
}
