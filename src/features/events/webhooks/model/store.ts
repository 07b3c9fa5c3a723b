import type { Instant } from '#src/contract/shapes.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Sql } from '#src/platform/db/query.js';
import { bool, instant, integer, jsonText, nullable, table, text } from '#src/platform/db/table.js';
import { raw } from '#src/platform/db/template.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/runtime/clock.js';

/** Webhooks and their subscriptions. Secrets and passwords are sealed. */
export const webhooks = table('webhooks', {
  projectId: text,
  id: text,
  name: text,
  url: text,
  events: jsonText<readonly string[]>(),
  enabled: bool,
  tls: bool,
  authUsername: text,
  authPassword: nullable(text),
  secret: text,
  previousSecret: nullable(text),
  previousUntil: nullable(instant),
  /** Failures since the last success. */
  attempts: integer,
  /** The last failure as text. */
  logs: text,
  failingSince: nullable(instant),
  createdAt: instant,
  updatedAt: instant,
});

const sealedColumn = (column: string, member: string): SealedColumn => ({
  table: webhooks.name,
  column,
  key: 'id',
  order: ['project_id', 'id'],
  before: (id) => `webhooks|${id}|${member}`,
});

/** Columns with sealed secrets and passwords. */
export const sealedWebhooks = {
  secret: sealedColumn('secret', 'secret'),
  previousSecret: sealedColumn('previous_secret', 'previousSecret'),
  authPassword: sealedColumn('auth_password', 'authPassword'),
} as const;

/** A webhook. */
export type Webhook = ReturnType<typeof webhooks.decode>;

/** SQL over webhooks. */
export function createWebhookStore(sql: Sql) {
  const { row: columns } = webhooks;
  return {
    find: (projectId: string, id: string) =>
      sql`select ${columns} from webhooks where project_id = ${projectId} and id = ${id}`,
    count: (projectId: string) => sql`select count(*) as total from webhooks where project_id = ${projectId}`,
    rows: (projectId: string) => ({ from: raw('webhooks'), where: sql`project_id = ${projectId}` }),
    ofProject: (projectId: string) => sql`select ${columns} from webhooks where project_id = ${projectId}`,
    /** Webhooks of every project. */
    all: () => sql`select ${columns} from webhooks`,
    /**
     * Webhooks of all projects that have failed since a time or longer, and those disabled by failures. A success, and enabling or disabling
     * by a call, reset `failing_since`.
     */
    failing: (before: Instant, limit: number) => sql`
      select ${columns} from webhooks where (failing_since <= ${before} or enabled = 0) and failing_since is not null
      order by enabled, project_id, id limit ${limit}`,
    insert: (row: Webhook) => sql`${webhooks.insert(row)} on conflict do nothing returning id`,
    update: (projectId: string, id: string, change: Partial<Webhook>) => sql`
      update webhooks set ${webhooks.set(change)} where project_id = ${projectId} and id = ${id} returning ${columns}`,
    remove: (projectId: string, id: string) => sql`delete from webhooks where project_id = ${projectId} and id = ${id}`,
    /** Counts a failure. A time of failure in the future is from before the clock was set back. */
    markFailing: (projectId: string, id: string, logs: string, now: Instant) => sql`
      update webhooks set attempts = attempts + 1, logs = ${logs}, failing_since =
        case when enabled = 0 or failing_since <= ${instantOf(latestPast(millisecondsOf(now)))}
          then failing_since else ${now} end
      where project_id = ${projectId} and id = ${id} returning ${columns}`,
    /** Resets the failures of webhooks that succeeded. Skips those without failures. */
    markWorking: (succeeded: readonly { readonly projectId: string; readonly webhookId: string }[]) => {
      const ids = [...new Set(succeeded.map(({ projectId, webhookId }) => JSON.stringify([projectId, webhookId])))];
      const given = raw(sql.words.eachInJson('given'), [`[${ids.join(',')}]`]);
      return sql`
        update webhooks set attempts = 0, failing_since = null where failing_since is not null
          and (project_id, id) in (select value ->> 0, value ->> 1 from ${given}) returning project_id, id`;
    },
  };
}

/** SQL over webhooks. */
export type WebhookStore = ReturnType<typeof createWebhookStore>;
