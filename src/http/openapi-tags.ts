import type { Declaration } from '#src/contract/declaration.js';

/** The tags of the description, in the order of the API reference. */
const tags = [
  {
    name: 'account',
    title: 'Account',
    description: 'The user who is logged in: profile, verification, second factor.',
  },
  { name: 'sessions', title: 'Login and sessions', description: 'Login by every method, and sessions of the user.' },
  { name: 'users', title: 'Users', description: 'User management by server keys.' },
  { name: 'teams', title: 'Teams', description: 'Teams, members and invitations.' },
  { name: 'databases', title: 'Databases and documents', description: 'Databases, collections and their documents.' },
  {
    name: 'tablesdb',
    title: 'TablesDB',
    description: 'The same databases with the names of tables, columns and rows.',
  },
  { name: 'storage', title: 'Files', description: 'Buckets and files.' },
  { name: 'tokens', title: 'File tokens', description: 'Tokens that open a file to callers without permission.' },
  { name: 'graphql', title: 'GraphQL', description: 'Documents by GraphQL.' },
  { name: 'events', title: 'Events', description: 'What has happened in the project, in pages and as a stream.' },
  { name: 'webhooks', title: 'Webhooks', description: 'Events that the service sends to your server.' },
  { name: 'avatars', title: 'Avatars', description: 'Pictures that are drawn on request.' },
  { name: 'locale', title: 'Locale', description: 'Countries, currencies and languages.' },
  { name: 'audit', title: 'Audit log', description: 'The changes of the project.' },
  { name: 'project', title: 'Platforms', description: 'Web pages and apps that may call the service.' },
  { name: 'projects', title: 'Signing keys', description: 'The keys that verify JWTs of the project.' },
  { name: 'pages', title: 'Pages for users', description: 'The pages to sign up and to sign in.' },
  { name: 'operations', title: 'Operations', description: 'Health, measurements and this description.' },
] as const;

/** The tags of these operations. A tag that the list does not have comes last. */
export function tagsOf(declarations: readonly Declaration[]): Record<string, unknown>[] {
  const used = new Set(declarations.map(tagOf));
  const listed = tags
    .filter(({ name }) => used.has(name))
    .map(({ name, title, description }) => ({ name, 'x-displayName': title, description }));
  const known = new Set<string>(tags.map(({ name }) => name));
  return [...listed, ...[...used].filter((name) => !known.has(name)).map((name) => ({ name }))];
}

/** The tag of an operation: its own, but logins and sessions of an account have one of theirs. */
export function tagOf({ tag, path }: Declaration): string {
  return tag === 'account' && /^\/account\/(?:sessions|tokens|webauthn|jwts?)\b/.test(path) ? 'sessions' : tag;
}
