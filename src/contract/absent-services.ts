/**
 * What Appwrite's SDKs can call and the service does not have, by path below the base: `*` is any one segment, and what follows belongs to it.
 * A path that is served with the method of the request is served, whatever stands here.
 */
const absent: readonly (readonly [path: string, name: string])[] = [
  ['/account/consents', 'the consents of Account'],
  ['/account/recovery/otp', 'recoveries by a code'],
  ['/account/sessions/id-token', 'logins by an ID token'],
  ['/account/targets', 'the push targets of Account'],
  ['/account/verifications/email/otp', 'verifications of e-mail addresses by a code'],
  ['/activities', 'Activities'],
  ['/apps', 'Apps'],
  ['/avatars', 'Avatars'],
  ['/backups', 'Backups'],
  ['/databases/*/collections/*/attributes', 'attributes of this type'],
  ['/documentsdb', 'DocumentsDB'],
  ['/functions', 'Functions'],
  ['/locale', 'Locale'],
  ['/messaging', 'Messaging'],
  ['/oauth2', 'Oauth2'],
  ['/organization', 'Organization'],
  ['/presences', 'Presences'],
  ['/project', 'this part of Project'],
  ['/proxy', 'Proxy'],
  ['/reports', 'Advisor'],
  ['/sites', 'Sites'],
  ['/tablesdb/specifications', 'the specifications of TablesDB'],
  ['/tablesdb/*/tables/*/columns', 'columns of this type'],
  ['/tablesdb/*/failovers', 'the failovers of TablesDB'],
  ['/tablesdb/*/replicas', 'the replicas of TablesDB'],
  ['/tablesdb/*/status', 'the status of TablesDB'],
  ['/teams/*/installations', 'the installations of Teams'],
  ['/vectorsdb', 'VectorsDB'],
];

/** Paths that others share, whatever their method: an attribute of any name, or a session of any id, is read there. */
const absentPosts = [
  /^\/account\/sessions\/id-token$/,
  /^\/databases\/[^/]+\/collections\/[^/]+\/attributes\/(?:point|line|polygon)$/,
  /^\/tablesdb\/[^/]+\/tables\/[^/]+\/columns\/(?:point|line|polygon)$/,
];

const patterns = absent.map(([path, name]) => ({
  pattern: new RegExp(`^${path.replaceAll('*', '[^/]+')}(?=/|$)`),
  name,
}));

/** Whether a POST to a path, which has other methods, is to what the service does not have. */
export function isAbsentPost(path: string): boolean {
  return absentPosts.some((pattern) => pattern.test(path));
}

/** The name of what a path below the base belongs to, where the service does not have it; else undefined. */
export function absentService(path: string): string | undefined {
  return patterns.find(({ pattern }) => pattern.test(path))?.name;
}
