import type { Instant } from '#src/contract/shapes.js';
import type { Claim } from '#src/platform/admission/shared-limiter.js';
import type { Sql } from '#src/platform/db/query.js';
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
  return {
    list: () => sql`select ${servers.row} from servers order by started_at`,
    others: (id: string) => sql`select ${servers.row} from servers where id <> ${id} and claims is not null`,
    put: (row: ServerRow) => sql`
      ${servers.insert(row)} on conflict (id) do update set seen_at = excluded.seen_at, claims = excluded.claims`,
    remove: (id: string, goneBefore: Instant) => sql`delete from servers where id = ${id} or seen_at < ${goneBefore}`,
  };
}
