import type { Instant } from '#src/contract/shapes.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bool, instant, integer, jsonText, nullable, table, text } from '#src/platform/db/table.js';
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
  const { knex } = sql;
  const one = (projectId: string, id: string) => knex(webhooks.name).where({ project_id: projectId, id });
  const returned = webhooks.select(sql);
  return {
    find: (projectId: string, id: string): Query => sql.compile(one(projectId, id).select(returned)),
    count: (projectId: string): Query =>
      sql.compile(knex(webhooks.name).where({ project_id: projectId }).count({ total: '*' })),
    rows: (projectId: string) => knex(webhooks.name).where({ project_id: projectId }),
    columns: () => returned,
    ofProject: (projectId: string): Query =>
      sql.compile(knex(webhooks.name).where({ project_id: projectId }).select(returned)),
    /** Webhooks of every project. */
    all: (): Query => sql.compile(knex(webhooks.name).select(returned)),
    /**
     * Webhooks of all projects that have failed since a time or longer, and those disabled by failures. A success, and enabling or disabling
     * by a call, reset `failing_since`.
     */
    failing: (before: Instant, limit: number): Query =>
      sql.compile(
        knex(webhooks.name)
          .where((either) => either.where('failing_since', '<=', before).orWhere({ enabled: 0 }))
          .whereNotNull('failing_since')
          .orderBy(['enabled', 'project_id', 'id'])
          .limit(limit)
          .select(returned),
      ),
    insert: (row: Webhook): Query =>
      sql.compile(knex(webhooks.name).insert(webhooks.encode(row)).onConflict().ignore().returning('id')),
    update: (projectId: string, id: string, change: Partial<Webhook>): Query =>
      sql.compile(one(projectId, id).update(webhooks.encodeSome(change)).returning(returned)),
    remove: (projectId: string, id: string): Query => sql.compile(one(projectId, id).delete()),
    /** Counts a failure. */
    markFailing: (projectId: string, id: string, logs: string, now: Instant): Query =>
      sql.compile(
        one(projectId, id)
          .update({
            attempts: knex.raw('attempts + 1'),
            logs,
            // A time in the future is from before the clock was set back.
            failing_since: knex.raw('case when enabled = 0 or failing_since <= ? then failing_since else ? end', [
              instantOf(latestPast(millisecondsOf(now))),
              now,
            ]),
          })
          .returning(returned),
      ),
    /** Resets the failures of webhooks that succeeded. Skips those without failures. */
    markWorking: (succeeded: readonly { readonly projectId: string; readonly webhookId: string }[]): Query => {
      const ids = [...new Set(succeeded.map(({ projectId, webhookId }) => JSON.stringify([projectId, webhookId])))];
      return sql.text(
        `update webhooks set attempts = 0, failing_since = null where failing_since is not null
          and (project_id, id) in (select value ->> 0, value ->> 1 from ${sql.words.eachInJson('given')}) returning project_id, id`,
        [`[${ids.join(',')}]`],
      );
    },
  };
}

/** SQL over webhooks. */
export type WebhookStore = ReturnType<typeof createWebhookStore>;
