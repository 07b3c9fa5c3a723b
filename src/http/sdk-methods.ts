import type { Declaration } from '#src/contract/declaration.js';

/** An SDK by its platform. */
export type Sdk = 'web' | 'node';

/** A method of Appwrite's SDKs that calls an operation. */
export interface SdkMethod {
  readonly service: string;
  readonly method: string;
  /** The SDKs that have it. */
  readonly sdks: readonly Sdk[];
}

/** Services of the SDKs by the part of an operation's id before the dot. */
const services: Readonly<Record<string, string>> = {
  account: 'Account',
  avatars: 'Avatars',
  buckets: 'Storage',
  databases: 'Databases',
  documents: 'Databases',
  files: 'Storage',
  locale: 'Locale',
  platforms: 'Project',
  rows: 'TablesDB',
  tablesdb: 'TablesDB',
  teams: 'Teams',
  tokens: 'Tokens',
  users: 'Users',
  webhooks: 'Webhooks',
};

const webServices: ReadonlySet<string> = new Set([
  ...['Account', 'Avatars', 'Databases', 'Locale', 'Storage', 'TablesDB', 'Teams'],
]);

/** Methods that are not called as their operation. */
const renamed: Readonly<Record<string, string>> = {
  'account.createEmailSession': 'createEmailPasswordSession',
  'account.createJwt': 'createJWT',
  'buckets.create': 'createBucket',
  'buckets.delete': 'deleteBucket',
  'buckets.get': 'getBucket',
  'buckets.list': 'listBuckets',
  'buckets.update': 'updateBucket',
  'documents.create': 'createDocument',
  'documents.decrement': 'decrementDocumentAttribute',
  'documents.delete': 'deleteDocument',
  'documents.deleteAll': 'deleteDocuments',
  'documents.get': 'getDocument',
  'documents.increment': 'incrementDocumentAttribute',
  'documents.list': 'listDocuments',
  'documents.update': 'updateDocument',
  'documents.updateAll': 'updateDocuments',
  'documents.upsert': 'upsertDocument',
  'documents.upsertAll': 'upsertDocuments',
  'files.create': 'createFile',
  'files.delete': 'deleteFile',
  'files.download': 'getFileDownload',
  'files.get': 'getFile',
  'files.list': 'listFiles',
  'files.preview': 'getFilePreview',
  'files.update': 'updateFile',
  'files.view': 'getFileView',
  'platforms.create': 'createWebPlatform',
  'platforms.createAndroid': 'createAndroidPlatform',
  'platforms.createApple': 'createApplePlatform',
  'platforms.createLinux': 'createLinuxPlatform',
  'platforms.createWindows': 'createWindowsPlatform',
  'platforms.get': 'getPlatform',
  'platforms.delete': 'deletePlatform',
  'platforms.list': 'listPlatforms',
  'platforms.update': 'updateWebPlatform',
  'platforms.updateAndroid': 'updateAndroidPlatform',
  'platforms.updateApple': 'updateApplePlatform',
  'platforms.updateLinux': 'updateLinuxPlatform',
  'platforms.updateWindows': 'updateWindowsPlatform',
  'rows.create': 'createRow',
  'rows.decrement': 'decrementRowColumn',
  'rows.delete': 'deleteRow',
  'rows.deleteAll': 'deleteRows',
  'rows.get': 'getRow',
  'rows.increment': 'incrementRowColumn',
  'rows.list': 'listRows',
  'rows.update': 'updateRow',
  'rows.updateAll': 'updateRows',
  'rows.upsert': 'upsertRow',
  'rows.upsertAll': 'upsertRows',
  'users.createMd5User': 'createMD5User',
  'users.createPhpassUser': 'createPHPassUser',
  'users.createShaUser': 'createSHAUser',
};

/** Operations of these services that the SDKs do not have. */
const absent: ReadonlySet<string> = new Set([
  'account.completeOAuth2',
  'account.completePostedOAuth2',
  'account.completeSaml',
  'account.confirmTotp',
  'account.createPasskey',
  'account.createPasskeyLogin',
  'account.createPasskeyRegistration',
  'account.createPasskeySession',
  'account.createSamlSession',
  'account.createTotp',
  'account.delete',
  'account.deleteEmailVerification',
  'account.deletePasskey',
  'account.getSamlMetadata',
  'account.listPasskeys',
  'account.updateMfa',
  'account.updatePasskey',
  'users.deletePasskey',
  'users.listPasskeys',
  'webhooks.listDeliveries',
  'webhooks.replayDelivery',
  'webhooks.rotateSecret',
  'webhooks.test',
]);

/** Methods that one SDK does not have, although the rule below says so. */
const lacking: Readonly<Record<string, Sdk>> = { 'account.createOAuth2Session': 'node', 'account.listLogs': 'web' };

/** The method of the SDKs that calls this operation; undefined if there is none. */
export function sdkMethodOf({ id, access: { auth } }: Pick<Declaration, 'id' | 'access'>): SdkMethod | undefined {
  const [area = '', verb = ''] = id.split('.');
  const service = services[area];
  if (service === undefined || absent.has(id)) return undefined;
  const isForUsers = auth.includes('user') || auth.includes('guest');
  const all: readonly Sdk[] = isForUsers && webServices.has(service) ? ['web', 'node'] : ['node'];
  return { service, method: renamed[id] ?? verb, sdks: all.filter((sdk) => lacking[id] !== sdk) };
}
