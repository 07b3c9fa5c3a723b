import type { Page } from '#src/contract/paging.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bool, integer, json, nullable, table, text } from '#src/platform/db/table.js';

/** Who is told of which events. Secrets and password are sealed. */
export const webhooks = table('webhooks', {
  projectId: text,
  id: text,
  name: text,
  url: text,
  events: json<readonly string[]>(),
  enabled: bool,
  tls: bool,
  authUsername: text,
  authPassword: nullable(text),
  secret: text,
  previousSecret: nullable(text),
  previousUntil: nullable(text),
  /** Failures since the last success. */
  attempts: integer,
  /** The last failure in words. */
  logs: text,
  failingSince: nullable(text),
  createdAt: text,
  updatedAt: text,
});

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
    list: (projectId: string, { limit, offset }: Page): Query =>
      sql.compile(
        knex(webhooks.name)
          .where({ project_id: projectId })
          .orderBy(['created_at', 'id'])
          .limit(limit)
          .offset(offset)
          .select(returned),
      ),
    /** Of every project. */
    all: (): Query => sql.compile(knex(webhooks.name).select(returned)),
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
            failing_since: knex.raw('coalesce(failing_since, ?)', [now]),
          })
          .returning(returned),
      ),
    /** Forgets failures, if there were any. */
    markWorking: (projectId: string, id: string): Query =>
      sql.compile(one(projectId, id).whereNotNull('failing_since').update({ attempts: 0, failing_since: null })),
  };
}

/** The store of webhooks. */
export type WebhookStore = ReturnType<typeof createWebhookStore>;
