/**
 * Paths of Appwrite's SDKs that the service does not support, below the base URL: `*` is any one segment, and deeper paths are included. A
 * path with an operation for the method of the request is still served.
 */
const absent: readonly (readonly [path: string, name: string])[] = [
  ['/account/consents', 'the consents of Account'],
  ['/account/recovery/otp', 'recoveries by a code'],
  ['/account/sessions/id-token', 'logins by an ID token'],
  ['/account/targets', 'the push targets of Account'],
  ['/account/verifications/email/otp', 'verifications of email addresses by a code'],
  ['/activities', 'Activities'],
  ['/apps', 'Apps'],
  ['/avatars/favicon', 'icons of other sites'],
  ['/avatars/image', 'images of other sites'],
  ['/avatars/photo', 'photos of users'],
  ['/avatars/screenshots', 'screenshots'],
  ['/backups', 'Backups'],
  ['/databases/*/collections/*/attributes', 'attributes of this type'],
  ['/documentsdb', 'DocumentsDB'],
  ['/functions', 'Functions'],
  ['/health', 'this part of Health'],
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

/** POST paths that match routes with another method, because an attribute key or a session id may have any name. */
const absentPosts = [
  /^\/account\/sessions\/id-token$/,
  /^\/databases\/[^/]+\/collections\/[^/]+\/attributes\/(?:point|line|polygon)$/,
  /^\/tablesdb\/[^/]+\/tables\/[^/]+\/columns\/(?:point|line|polygon)$/,
];

const patterns = absent.map(([path, name]) => ({
  pattern: new RegExp(`^${path.replaceAll('*', '[^/]+')}(?=/|$)`),
  name,
}));

/** True for a POST to an unsupported path that has routes with other methods. */
export function isAbsentPost(path: string): boolean {
  return absentPosts.some((pattern) => pattern.test(path));
}

/** The name of the unsupported service or feature at a path below the base URL; else undefined. */
export function absentService(path: string): string | undefined {
  return patterns.find(({ pattern }) => pattern.test(path))?.name;
}
