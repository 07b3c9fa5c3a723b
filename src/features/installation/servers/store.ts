import type { Instant } from '#src/contract/shapes.js';
import type { Claim } from '#src/platform/admission/shared-limiter.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bigint, instant, jsonText, nullable, table, text } from '#src/platform/db/table.js';

/** Servers that use the database. */
export const servers = table('servers', {
  id: text,
  host: text,
  pid: bigint,
  version: text,
  /** The file that holds its master key; null if it is in the environment. */
  keyFile: nullable(text),
  startedAt: instant,
  seenAt: instant,
  /** Its claims on rate limits; null for a version that announces none. */
  claims: nullable(jsonText<readonly Claim[]>()),
});

/** A server that uses the database. */
export type ServerRow = ReturnType<typeof servers.decode>;

/** SQL over the servers. */
export type ServerStore = ReturnType<typeof createServerStore>;

/** Creates the SQL over the servers. */
export function createServerStore(sql: Sql) {
  const { knex } = sql;
  return {
    list: (): Query => sql.compile(knex(servers.name).orderBy('started_at').select(servers.select(sql))),
    others: (id: string): Query =>
      sql.compile(knex(servers.name).whereNot({ id }).whereNotNull('claims').select(servers.select(sql))),
    put: (row: ServerRow): Query =>
      sql.compile(knex(servers.name).insert(servers.encode(row)).onConflict(['id']).merge(['seen_at', 'claims'])),
    remove: (id: string, goneBefore: Instant): Query =>
      sql.compile(knex(servers.name).where({ id }).orWhere('seen_at', '<', goneBefore).delete()),
  };
}
