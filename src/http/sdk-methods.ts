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

const webServices = ['Account', 'Avatars', 'Databases', 'Locale', 'Storage', 'TablesDB', 'Teams'];

/** What methods are about, by the part of an id before the dot: `documents.update` is `updateDocument`. Others have only a verb. */
const nouns: Readonly<Record<string, string>> = {
  buckets: 'Bucket',
  documents: 'Document',
  files: 'File',
  platforms: 'Platform',
  rows: 'Row',
};

/** Verbs of operations on several objects, with those of the SDKs. */
const pluralVerbs: Readonly<Record<string, string>> = {
  deleteAll: 'delete',
  list: 'list',
  updateAll: 'update',
  upsertAll: 'upsert',
};

/** Methods that have another name. */
const renamed: Readonly<Record<string, string>> = {
  'account.createEmailSession': 'createEmailPasswordSession',
  'account.createJwt': 'createJWT',
  'documents.decrement': 'decrementDocumentAttribute',
  'documents.increment': 'incrementDocumentAttribute',
  'files.download': 'getFileDownload',
  'files.preview': 'getFilePreview',
  'files.view': 'getFileView',
  'platforms.create': 'createWebPlatform',
  'platforms.update': 'updateWebPlatform',
  'rows.decrement': 'decrementRowColumn',
  'rows.increment': 'incrementRowColumn',
  'users.createMd5User': 'createMD5User',
  'users.createPhpassUser': 'createPHPassUser',
  'users.createShaUser': 'createSHAUser',
};

function methodOf(area: string, verb: string): string {
  const noun = nouns[area];
  if (noun === undefined) return verb;
  const plural = pluralVerbs[verb];
  return plural === undefined ? `${verb}${noun}` : `${plural}${noun}s`;
}

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
  const all: readonly Sdk[] = isForUsers && webServices.includes(service) ? ['web', 'node'] : ['node'];
  return { service, method: renamed[id] ?? methodOf(area, verb), sdks: all.filter((sdk) => lacking[id] !== sdk) };
}
