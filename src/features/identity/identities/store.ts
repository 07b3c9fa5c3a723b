import { soughtAddress } from '#src/contract/email-address.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { instant, nullable, table, text } from '#src/platform/db/table.js';
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
  const { knex } = sql;
  const { name } = identities;
  const one = (projectId: string, id: string) => knex(name).where({ project_id: projectId, id });
  const ofUser = (projectId: string, userId: string) => knex(name).where({ project_id: projectId, user_id: userId });
  return {
    rows: (projectId: string, userId: string | undefined) =>
      userId === undefined ? knex(name).where({ project_id: projectId }) : ofUser(projectId, userId),
    columns: () => identities.select(sql),
    find: (projectId: string, id: string): Query => sql.compile(one(projectId, id).select(identities.select(sql))),
    findByUid: (projectId: string, provider: string, providerUid: string): Query =>
      sql.compile(
        knex(name).where({ project_id: projectId, provider, provider_uid: providerUid }).select(identities.select(sql)),
      ),
    ofUser: (projectId: string, userId: string): Query =>
      sql.compile(ofUser(projectId, userId).orderBy(['created_at', 'id']).select(identities.select(sql))),
    anyOf: (projectId: string, userId: string): Query => sql.compile(ofUser(projectId, userId).limit(1).select('id')),
    countOf: (projectId: string, userId: string): Query => sql.compile(ofUser(projectId, userId).count({ count: '*' })),
    countAt: (projectId: string, provider: string): Query =>
      sql.compile(knex(name).where({ project_id: projectId, provider }).count({ count: '*' })),
    /** Returns no row if the account at the provider is already linked. Waits for a concurrent insert of the same account. */
    insert: (row: IdentityRow): Query =>
      sql.compile(
        knex(name)
          .insert(identities.encode(row))
          .onConflict(['project_id', 'provider', 'provider_uid'])
          .ignore()
          .returning('id'),
      ),
    update: (projectId: string, id: string, change: Partial<IdentityRow>): Query =>
      sql.compile(one(projectId, id).update(identities.encodeSome(change))),
    /** `update` that applies only if the stored tokens are still `before`: a concurrent refresh may have replaced them. */
    replaceTokens: (projectId: string, id: string, before: string, change: Partial<IdentityRow>): Query =>
      sql.compile(one(projectId, id).where({ tokens: before }).update(identities.encodeSome(change))),
    remove: (projectId: string, id: string): Query => sql.compile(one(projectId, id).delete()),
  };
}
