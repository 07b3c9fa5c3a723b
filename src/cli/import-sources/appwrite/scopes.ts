/** Scopes by the last word of the path of a list. */
const scopes: Readonly<Record<string, string>> = {
  users: 'users.read',
  identities: 'users.read',
  teams: 'teams.read',
  memberships: 'teams.read',
  databases: 'databases.read',
  tablesdb: 'databases.read',
  collections: 'collections.read',
  tables: 'tables.read',
  documents: 'documents.read',
  rows: 'rows.read',
  buckets: 'buckets.read',
  files: 'files.read',
  webhooks: 'webhooks.read',
  functions: 'functions.read',
  sites: 'sites.read',
  providers: 'providers.read',
  topics: 'topics.read',
  messages: 'messages.read',
};

/** The scope that a key needs for a list. */
export function scopeOf(path: string): string {
  return scopes[path.split('/').at(-1) ?? ''] ?? 'of this list';
}

/** The scopes of a key that reads everything that is imported. */
export const importScopes =
  'users.read, teams.read, databases.read, collections.read, attributes.read, indexes.read, documents.read, buckets.read, files.read and webhooks.read';
