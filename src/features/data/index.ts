// The area `data`: storage for applications.

import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Lists } from '#src/platform/list-query/index.js';
import type { Installation } from '../installation/index.js';
import { createBucketsFeature } from './buckets/index.js';
import { createDatabasesFeature } from './databases/index.js';
import { createDocumentsFeature } from './documents/index.js';
import { createFilesFeature, type FindUser } from './files/index.js';
import { createTransactionsFeature } from './transactions/index.js';

export { type CollectionStorage, collections, indexNextWords, storageOf, withUnbuiltWords } from './databases/index.js';

/** Finds out if a user was deleted. */
interface DeletedUsers {
  has(reader: Reader, id: { readonly projectId: string; readonly kind: 'user'; readonly id: string }): Promise<boolean>;
}

/** Creates the features for databases, collections, documents, buckets and files. */
export function createData(
  runtime: Runtime,
  {
    projects,
    idempotency,
    lists,
    takenIds,
    findUser,
  }: Pick<Installation, 'projects' | 'idempotency'> & {
    readonly lists: Lists;
    readonly takenIds: DeletedUsers;
    readonly findUser: FindUser;
  },
) {
  const { databases, empty, removeTables, operations, jobs } = createDatabasesFeature(runtime, lists);
  projects.emptiedBy(async (by, projectId, steps) => {
    await empty(by, projectId);
    await removeTables(by, steps);
  });
  projects.beforeRemoval(async (unit, projectId) => {
    while ((await databases.removeCollections(unit, projectId)) > 0);
  });
  const documents = createDocumentsFeature(runtime, databases, idempotency);
  const transactions = createTransactionsFeature(runtime, { documents, idempotency, lists });
  const ofBuckets = createBucketsFeature(runtime, lists);
  const ofFiles = createFilesFeature(runtime, {
    buckets: ofBuckets.buckets,
    bucketStore: ofBuckets.store,
    lists,
    idempotency,
    isGone: (reader, projectId, id) => takenIds.has(reader, { projectId, kind: 'user', id }),
    findUser,
  });
  projects.emptiedBy(ofFiles.emptyProject);
  return {
    databases: { ...databases, removeTables },
    buckets: ofBuckets.buckets,
    files: ofFiles.files,
    checkFiles: ofFiles.check,
    fileTransfer: ofFiles.transfer,
    removeBytes: ofFiles.removeBytes,
    fileReaders: ofFiles.readers,
    scans: documents.scans,
    transfer: documents.transfer,
    documentReaders: documents.readers,
    /** Deletes staged data of a user from transactions. */
    forgetUser: transactions.forgetUser,
    // Transactions come first: `transactions` would otherwise match as the id of a database.
    operations: [...transactions.operations, ...operations, ...ofBuckets.operations, ...ofFiles.operations],
    valueOperations: documents.valueOperations,
    jobs: [...jobs(documents.reprint), ...documents.scans.jobs, ...transactions.jobs, ...ofFiles.jobs],
  };
}
