import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Sql } from '#src/platform/db/query.js';
import { bool, instant, table, text } from '#src/platform/db/table.js';
import { forUpdate } from '#src/platform/db/template.js';

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
  return {
    find: ({ projectId, key }: { projectId: string; key: string }) =>
      sql`select ${providers.row} from providers where project_id = ${projectId} and key = ${key}`,
    list: (projectId: string) =>
      sql`select ${providers.row} from providers where project_id = ${projectId} order by created_at, key`,
    count: (projectId: string) => sql`select count(*) as count from providers where project_id = ${projectId}`,
    /** Locks the project, so that no other unit adds providers until this one ends. */
    holdProject: (projectId: string) => sql`select id from projects where id = ${projectId}${forUpdate}`,
    /** Returns no row if the key is taken. */
    insert: (row: ProviderRow) => sql`${providers.insert(row)} on conflict do nothing returning key`,
    update: (projectId: string, key: string, change: Partial<ProviderRow>) =>
      sql`update providers set ${providers.set(change)} where project_id = ${projectId} and key = ${key}`,
    remove: (projectId: string, key: string) =>
      sql`delete from providers where project_id = ${projectId} and key = ${key}`,
  };
}
