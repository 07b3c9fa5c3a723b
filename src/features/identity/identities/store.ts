import { soughtAddress } from '#src/contract/email-address.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Sql } from '#src/platform/db/query.js';
import { instant, nullable, table, text } from '#src/platform/db/table.js';
import { raw } from '#src/platform/db/template.js';
import { commonFields, type ListField } from '#src/platform/list-query/index.js';

/** Users' accounts at identity providers. OAuth tokens are sealed. */
export const identities = table('identities', {
  projectId: text,
  id: text,
  userId: text,
  provider: text,
  providerUid: text,
  providerEmail: text,
  tokens: nullable(text),
  tokenExpires: nullable(instant),
  createdAt: instant,
  updatedAt: instant,
});

/** The sealed column of OAuth tokens. */
export const sealedTokens: SealedColumn = {
  table: identities.name,
  column: 'tokens',
  key: 'id',
  order: ['project_id', 'id'],
  before: (id) => `identities|${id}|tokens`,
};

/** An identity as stored. */
export type IdentityRow = ReturnType<typeof identities.decode>;

/** Attributes that list queries of identities may use. */
export const identityFields = {
  ...commonFields,
  userId: { column: 'user_id', type: 'text' },
  provider: { column: 'provider', type: 'text' },
  providerUid: { column: 'provider_uid', type: 'text' },
  providerEmail: { column: 'provider_email', type: 'text', stored: soughtAddress },
  providerAccessTokenExpiry: { column: 'token_expires', type: 'instant', nullable: true },
} as const satisfies Readonly<Record<string, ListField>>;

/** SQL over identities. */
export function createIdentityStore(sql: Sql) {
  const { row: columns } = identities;
  return {
    rows: (projectId: string, userId: string | undefined) => ({
      from: raw('identities'),
      where: sql`project_id = ${projectId} ${userId !== undefined && sql`and user_id = ${userId}`}`,
    }),
    find: (projectId: string, id: string) =>
      sql`select ${columns} from identities where project_id = ${projectId} and id = ${id}`,
    findByUid: (projectId: string, provider: string, providerUid: string) => sql`
      select ${columns} from identities
      where project_id = ${projectId} and provider = ${provider} and provider_uid = ${providerUid}`,
    ofUser: (projectId: string, userId: string) => sql`
      select ${columns} from identities where project_id = ${projectId} and user_id = ${userId} order by created_at, id`,
    anyOf: (projectId: string, userId: string) =>
      sql`select id from identities where project_id = ${projectId} and user_id = ${userId} limit 1`,
    countOf: (projectId: string, userId: string) =>
      sql`select count(*) as count from identities where project_id = ${projectId} and user_id = ${userId}`,
    countAt: (projectId: string, provider: string) =>
      sql`select count(*) as count from identities where project_id = ${projectId} and provider = ${provider}`,
    /** Returns no row if the account at the provider is already linked. Waits for a concurrent insert of the same account. */
    insert: (row: IdentityRow) =>
      sql`${identities.insert(row)} on conflict (project_id, provider, provider_uid) do nothing returning id`,
    update: (projectId: string, id: string, change: Partial<IdentityRow>) =>
      sql`update identities set ${identities.set(change)} where project_id = ${projectId} and id = ${id}`,
    /** `update` that applies only if the stored tokens are still `before`: a concurrent refresh may have replaced them. */
    replaceTokens: (projectId: string, id: string, before: string, change: Partial<IdentityRow>) => sql`
      update identities set ${identities.set(change)}
      where project_id = ${projectId} and id = ${id} and tokens = ${before}`,
    remove: (projectId: string, id: string) =>
      sql`delete from identities where project_id = ${projectId} and id = ${id}`,
  };
}
