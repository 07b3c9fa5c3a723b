import type { CollectionDdl } from '#src/platform/db/collection-ddl.js';
import type { LinkDdl } from '#src/platform/db/link-tables.js';
import type { TableLocks } from '#src/platform/db/table-locks.js';
import type { TableRemoval } from '#src/platform/db/table-removal.js';
import type { Runtime } from '#src/platform/index.js';
import type { Collection } from '../model/schema.js';
import type { DatabaseStore } from '../model/store.js';

/** Dependencies of the parts of the service. */
export interface SchemaDeps extends Pick<Runtime, 'random' | 'sealing'> {
  readonly store: DatabaseStore;
  readonly ddl: CollectionDdl;
  readonly links: LinkDdl;
  readonly tables: TableLocks;
  readonly removal: TableRemoval;
}

/** The audit payload of an attribute or an index. */
export function recordOfPart(collection: Collection, part: 'attributes' | 'indexes', key: string) {
  return { resource: `${collectionRecordOf(collection).resource}/${part}/${key}`, payload: { key } };
}

/** The audit payload of a collection. */
export function collectionRecordOf({ databaseId, id, name }: Collection) {
  return { resource: `databases/${databaseId}/collections/${id}`, payload: { name } };
}
