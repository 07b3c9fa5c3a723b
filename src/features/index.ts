import type { Runtime } from '#src/platform/index.js';
import { createLists } from '#src/platform/list-query/index.js';
import { createAssets } from './assets/index.js';
import type { FindUser } from './data/files/index.js';
import { createData } from './data/index.js';
import { createEventStreams, createEvents, sealedInEvents } from './events/index.js';
import type { FileErasure } from './identity/erasure/index.js';
import { createIdentity, sealedInIdentity } from './identity/index.js';
import { toUser } from './identity/users/index.js';
import { createInstallation, createJobsFeature, sealedInInstallation } from './installation/index.js';
import { createBackupFeature } from './operations/index.js';

export { searchParameter } from '#src/platform/list-query/index.js';
export { bucketsApi } from './data/buckets/index.js';
export type { Attribute, Collection, CollectionSize } from './data/databases/index.js';
export {
  attributesApi,
  attributeTypes,
  changedAttributesApi,
  databasesApi,
  isToOne,
  newAttributesApi,
  type Relation,
  relationsApi,
  shownAttributes,
  shownRelations,
  statedRelations,
  typeNames,
} from './data/databases/index.js';
export { documentsApi } from './data/documents/api.js';
export {
  type AdvisedScan,
  documentShape,
  type ImportedDocument,
  printDocument,
  type TransferPlace,
} from './data/documents/index.js';
export { fileShape } from './data/files/index.js';
export type { AuditEntry } from './events/audit/index.js';
export { BrokenChainError, publicKeyOf, recordedOf, toAuditEntry, verifyExport } from './events/audit/index.js';
export { eventShape, feedApi } from './events/feed/index.js';
export { type ClientConnection, closeCodes } from './events/realtime/index.js';
export {
  type HeaderCheck,
  isSigningSecret,
  type ReceivedDelivery,
  verifyDelivery,
  webhooksApi,
} from './events/webhooks/index.js';
export { hostedErrorAddress } from './identity/hosted-pages/index.js';
export { linkTo } from './identity/one-time-secrets/index.js';
export { toProvider } from './identity/providers/index.js';
export { sessionShape, toSession } from './identity/sessions/index.js';
export type { SigningKeyStatus } from './identity/signing-keys/index.js';
export { membershipShape, membershipsApi, teamShape, teamsApi } from './identity/teams/index.js';
export type { ExportedUser, ImportedIdentity, ImportedUser } from './identity/user-transfer/index.js';
export { labelList, passwordText, preferences, toUser, userShape } from './identity/users/index.js';
export type { ListedMail, ShownMail } from './installation/courier/index.js';
export {
  createTexts,
  lintTexts,
  mailboxSeconds,
  messageNames,
  sampleVariables,
} from './installation/courier/index.js';
export type { JobState } from './installation/jobs/index.js';
export type { LimitCounter, LimitSelection, Limits } from './installation/limits/index.js';
export { followMs, type OtherMasterKey, type RotatedMasterKey } from './installation/master-key/index.js';
export type { ProjectPlatform, Projects } from './installation/projects/index.js';
export { isReferenceOn, toKey, toPlatform, toProject } from './installation/projects/index.js';
export { runningServers, type ServerRow } from './installation/servers/index.js';

export {
  BackupError,
  type BackupHead,
  type BackupPlace,
  backupArchive,
  backupEntries,
  backupKey,
  CopyError,
  copyDatabase,
  copyState,
  createBackups,
  defaultLocation,
  digestDatabase,
  type LoadedBackup,
  type MadeBackup,
  newBackupName,
  openPlace,
  readHead,
  removeRemains,
  restoreBackup,
  type TableDigest,
  UnknownFormatError,
  UnknownSchemaError,
} from './operations/index.js';

/** Every column that holds sealed values. */
export const sealedColumns = [...sealedInIdentity, ...sealedInInstallation, ...sealedInEvents];

/** Builds every area after those it rests on, and last the jobs of all. */
export function createFeatures(runtime: Runtime) {
  const lists = createLists(runtime);
  const installation = createInstallation(runtime);
  const { limits, masterKey, projects, serverKeys, courier, idempotency } = installation;
  const events = createEvents(runtime, { masterKey, projects, lists });
  const identity = createIdentity(runtime, {
    ...installation,
    lists,
    activity: events.activity,
    recorded: events.recorded,
  });
  const data = createData(runtime, { projects, idempotency, lists, ...ofUsers(identity) });
  identity.erasure.withFiles(filesOfUsers(data));
  const streams = createEventStreams(runtime, {
    projects,
    serverKeys,
    feed: events.feed,
    payloads: events.payloads,
    sources: { users: identity.eventReaders, documents: data.documentReaders, files: data.fileReaders },
    printUser: ({ account }) => toUser(account),
  });
  const { backups, ...operations } = createBackupFeature(runtime);
  const areas = [installation, events, identity, data, createAssets(runtime), operations];
  const { jobs } = createJobsFeature(
    runtime,
    [...areas.flatMap((area) => area.jobs), installation.rebinding(sealedColumns)],
    [installation, events, identity].flatMap(({ settles }) => settles),
  );
  return {
    certificate: installation.certificate,
    servers: installation.servers,
    limits,
    masterKey,
    projects,
    serverKeys,
    courier,
    idempotency,
    webhooks: events.webhooks,
    worker: events.worker,
    audit: events.audit,
    refusals: events.refusals,
    feed: events.feed.feed,
    streams,
    ...identity,
    databases: data.databases,
    scans: data.scans,
    transfer: data.transfer,
    buckets: data.buckets,
    files: data.files,
    checkFiles: data.checkFiles,
    fileTransfer: data.fileTransfer,
    backups,
    workers: [...events.workers, courier.worker],
    jobs,
    operations: [...areas, streams].flatMap(({ operations }) => operations),
    /** Operations without routes, which GraphQL calls. */
    valueOperations: data.valueOperations,
  };
}

/** Every feature's services, and the operations of all of them. */
export type Features = ReturnType<typeof createFeatures>;

/** The functions of `data/` that erase what a user has there. */
interface ErasingData extends Pick<FileErasure, 'removeBytes'> {
  forgetUser(...user: Parameters<FileErasure['erase']>): Promise<unknown>;
  readonly files: { readonly eraseOf: FileErasure['erase'] };
}

/** Erases what users have in `data/`. */
function filesOfUsers({ forgetUser, files, removeBytes }: ErasingData): FileErasure {
  return {
    erase: async (by, projectId, userId) => {
      await forgetUser(by, projectId, userId);
      return files.eraseOf(by, projectId, userId);
    },
    removeBytes,
  };
}

/** The functions of users that `data/` needs. */
function ofUsers({ takenIds, eventReaders }: Pick<ReturnType<typeof createIdentity>, 'takenIds' | 'eventReaders'>) {
  const findUser: FindUser = async (project, userId) => {
    const credential = { userId, sessionId: '', jwt: undefined };
    return (await eventReaders(project, [credential])).get(credential);
  };
  return { takenIds, findUser };
}
