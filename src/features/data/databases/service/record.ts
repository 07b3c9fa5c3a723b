import type { CollectionDdl } from '#src/platform/db/collection-ddl.js';
import type { LinkDdl } from '#src/platform/db/link-tables.js';
import type { TableLocks } from '#src/platform/db/table-locks.js';
import type { Runtime } from '#src/platform/index.js';
import type { Collection } from '../schema.js';
import type { DatabaseStore } from '../store.js';

/** What the parts of the service use. */
export interface SchemaDeps extends Pick<Runtime, 'random'> {
  readonly store: DatabaseStore;
  readonly ddl: CollectionDdl;
  readonly links: LinkDdl;
  readonly tables: TableLocks;
}

/** What is recorded of an attribute or an index. */
export function recordOfPart(collection: Collection, part: 'attributes' | 'indexes', key: string) {
  return { resource: `${recordOf(collection).resource}/${part}/${key}`, payload: { key } };
}

/** What is recorded of a collection. */
export function recordOf({ databaseId, id, name }: Collection) {
  return { resource: `databases/${databaseId}/collections/${id}`, payload: { name } };
}
