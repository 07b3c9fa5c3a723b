import type { Declaration } from '#src/contract/declaration.js';

/** The tags of the description with title and description, in the order of the API reference. */
const tags: readonly (readonly [name: string, title: string, description: string])[] = [
  ['account', 'Account', 'The user who is logged in: profile, verification, second factor.'],
  ['sessions', 'Login and sessions', 'Login by every method, and sessions of the user.'],
  ['users', 'Users', 'User management by server keys.'],
  ['teams', 'Teams', 'Teams, members and invitations.'],
  ['databases', 'Databases and documents', 'Databases, collections and their documents.'],
  ['tablesdb', 'TablesDB', 'The same databases with the names of tables, columns and rows.'],
  ['storage', 'Files', 'Buckets and files.'],
  ['tokens', 'File tokens', 'Tokens that open a file to callers without permission.'],
  ['graphql', 'GraphQL', 'Documents by GraphQL.'],
  ['events', 'Events', 'What has happened in the project, in pages and as a stream.'],
  ['webhooks', 'Webhooks', 'Events that the service sends to your server.'],
  ['avatars', 'Avatars', 'Pictures that are drawn on request.'],
  ['locale', 'Locale', 'Countries, currencies and languages.'],
  ['audit', 'Audit log', 'The changes of the project.'],
  ['project', 'Platforms', 'Web pages and apps that may call the service.'],
  ['projects', 'Signing keys', 'The keys that verify JWTs of the project.'],
  ['pages', 'Pages for users', 'The pages to sign up and to sign in.'],
  ['operations', 'Operations', 'Health, measurements and this description.'],
];

/** The tags of these operations. A tag that the list does not have comes last. */
export function tagsOf(declarations: readonly Declaration[]): Record<string, unknown>[] {
  const used = new Set(declarations.map(tagOf));
  const listed = tags
    .filter(([name]) => used.has(name))
    .map(([name, title, description]) => ({ name, 'x-displayName': title, description }));
  const known = new Set(tags.map(([name]) => name));
  return [...listed, ...[...used].filter((name) => !known.has(name)).map((name) => ({ name }))];
}

/** The tag of an operation: its own, but logins and sessions of an account have one of theirs. */
export function tagOf({ tag, path }: Declaration): string {
  return tag === 'account' && /^\/account\/(?:sessions|tokens|webauthn|jwts?)\b/.test(path) ? 'sessions' : tag;
}
