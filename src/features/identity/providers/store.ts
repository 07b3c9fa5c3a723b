import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bool, instant, table, text } from '#src/platform/db/table.js';

/** Identity providers of projects; the configuration is sealed. */
export const providers = table('providers', {
  projectId: text,
  key: text,
  kind: text,
  name: text,
  enabled: bool,
  config: text,
  createdAt: instant,
  updatedAt: instant,
});

/** The sealed column of configurations. */
export const sealedProviders: SealedColumn = {
  table: providers.name,
  column: 'config',
  key: 'key',
  order: ['project_id', 'key'],
  before: (key) => `providers|${key}|config`,
};

/** A provider as stored. */
export type ProviderRow = ReturnType<typeof providers.decode>;

/** SQL over identity providers. */
export function createProviderStore(sql: Sql) {
  const { knex } = sql;
  const one = (projectId: string, key: string) => knex(providers.name).where({ project_id: projectId, key });
  return {
    find: sql.prepare<{ projectId: string; key: string }>((k, p) =>
      k(providers.name).where({ project_id: p.projectId, key: p.key }).select(providers.select(sql)),
    ),
    list: (projectId: string): Query =>
      sql.compile(
        knex(providers.name)
          .where({ project_id: projectId })
          .orderBy(['created_at', 'key'])
          .select(providers.select(sql)),
      ),
    count: (projectId: string): Query =>
      sql.compile(knex(providers.name).where({ project_id: projectId }).count({ count: '*' })),
    /** Locks the project, so that no other unit adds providers until this one ends. */
    holdProject: (projectId: string): Query =>
      sql.compile(knex('projects').where({ id: projectId }).forUpdate().select('id')),
    /** Returns no row if the key is taken. */
    insert: (row: ProviderRow): Query =>
      sql.compile(knex(providers.name).insert(providers.encode(row)).onConflict().ignore().returning('key')),
    update: (projectId: string, key: string, change: Partial<ProviderRow>): Query =>
      sql.compile(one(projectId, key).update(providers.encodeSome(change))),
    remove: (projectId: string, key: string): Query => sql.compile(one(projectId, key).delete()),
  };
}
