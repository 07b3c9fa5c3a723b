import type { Instant } from '#src/contract/shapes.js';
import { toArrays, unnested } from '#src/platform/db/arrays.js';
import { endLease, freed, isFree, isLeased } from '#src/platform/db/leased-rows.js';
import { createAppend } from '#src/platform/db/outbox.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { forNoKeyUpdate, raw } from '#src/platform/db/template.js';
import type { PageWindow } from '#src/platform/list-query/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/runtime/clock.js';
import { webhooks } from '../model/store.js';
import { createDeliveryClaim } from './claim-store.js';
import { createReplayStore } from './replay-store.js';
import { type Delivery, deliveries, deliveryAttempts, type WebhookAddress } from './tables.js';

/** Columns that identify one claim of a delivery. */
const claimColumns = [
  { name: 'id', type: 'text' },
  { name: 'fence', type: 'bigint' },
] as const;

const ofWebhook = ({ projectId, id }: WebhookAddress) => raw('project_id = ? and webhook_id = ?', [projectId, id]);

/** SQL over deliveries and their attempts. */
export function createDeliveryStore(sql: Sql) {
  return {
    insert: (row: Delivery) => sql`${deliveries.insert(row)}`,
    /**
     * Locks a webhook against changes and removal until the end of the unit; new deliveries may still refer to it. Returns no row if it is
     * gone. Lock its deliveries after it.
     */
    lockWebhook: ({ projectId, id }: WebhookAddress) =>
      sql`select id from webhooks where project_id = ${projectId} and id = ${id}${forNoKeyUpdate}`,
    /** Ends the lease of a delivery. Changes no row if the delivery has ended, or if another process has claimed it since. */
    settle: ({ id, fence }: Pick<Delivery, 'id' | 'fence'>, change: Partial<Delivery>) =>
      endLease(sql, deliveries, { id, fence, state: 'delivering' }, change),
    /** A delivery by its id or the id of one of its attempts. */
    find: (webhook: WebhookAddress, id: string) => sql`
      select ${deliveries.row} from deliveries where ${ofWebhook(webhook)}
        and (id = ${id} or id in (select delivery_id from delivery_attempts where id = ${id}))`,
    findByEvent: (webhook: WebhookAddress, eventId: string) =>
      sql`select ${deliveries.row} from deliveries where ${ofWebhook(webhook)} and event_id = ${eventId}`,
    /** Deletes the oldest deliveries of a webhook: only ended ones, or all. */
    removeSome: (webhook: WebhookAddress, which: 'ended' | 'all', limit: number) => sql`
      delete from deliveries where id in (
        select id from deliveries where ${ofWebhook(webhook)} ${which === 'ended' && raw('and due_at is null')}
        order by created_at limit ${limit})`,
    ...bind(sql, { waitingWebhooks, changedAt, settleDelivered, discardSome, backlog, bringForward, prune }),
    claim: createDeliveryClaim(sql),
    ...attemptStatements(sql),
    ...createReplayStore(sql),
  };
}

/** SQL over deliveries and their attempts. */
export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

function attemptStatements(sql: Sql) {
  return {
    /** Inserts an attempt with the commit of the unit. */
    appendAttempt: createAppend(deliveryAttempts),
    /** Attempts, newest first, with the current state of their deliveries. */
    attempts: ({ projectId, id }: WebhookAddress, { limit, offset }: PageWindow) => sql`
      select ${deliveryAttempts.row}, deliveries.attempt as last, deliveries.state as state, deliveries.due_at as due,
        deliveries.test as test
      from delivery_attempts join deliveries on deliveries.id = delivery_attempts.delivery_id
      where delivery_attempts.project_id = ${projectId} and delivery_attempts.webhook_id = ${id}
      order by delivery_attempts.created_at desc, delivery_attempts.id desc limit ${limit} offset ${offset}`,
    /** A failed attempt between two times, if there is one. */
    failedBetween: (webhook: WebhookAddress, from: Instant, to: Instant) => sql`
      select id from delivery_attempts where ${ofWebhook(webhook)} and ok = 0 and created_at > ${from} and created_at < ${to}
      limit 1`,
    /** Counts attempts, up to a limit. A limit of 0 means no limit. */
    countAttempts: (webhook: WebhookAddress, upTo: number) => sql`
      select count(*) as total from (
        select id from delivery_attempts where ${ofWebhook(webhook)} ${upTo > 0 && sql`limit ${upTo}`}) as found`,
  };
}

/**
 * Webhooks with due deliveries. Goes from one webhook with waiting deliveries to the next by the index, so that a long queue costs no
 * more than a short one. Finds the earliest due delivery of each webhook that no process has claimed.
 */
function waitingWebhooks(sql: Sql, { now }: { readonly now: Instant }): Query {
  const isWaiting = sql`due_at is not null and ${isFree(now)}`;
  const firstOf = (which: string) =>
    sql`(select id from deliveries n where ${isWaiting} and ${raw(which)} order by n.project_id, n.webhook_id, n.due_at limit 1)`;
  // SQLite uses only the first column of a row comparison with an index. Postgres needs the row comparison: with two conditions it may
  // underestimate the rows and sort all of them.
  const next =
    sql.dialect === 'sqlite'
      ? sql`coalesce(${firstOf('n.project_id = w.project_id and n.webhook_id > w.webhook_id')}, ${firstOf('n.project_id > w.project_id')})`
      : firstOf('(n.project_id, n.webhook_id) > (w.project_id, w.webhook_id)');
  return sql`
    with recursive waiting (project_id, webhook_id, due_at) as (
      select project_id, webhook_id, due_at from deliveries where id = (
        select id from deliveries where ${isWaiting} order by project_id, webhook_id, due_at limit 1)
      union all
      select d.project_id, d.webhook_id, d.due_at from waiting w join deliveries d on d.id = ${next}
    )
    select ${webhooks.row} from waiting w join webhooks on webhooks.project_id = w.project_id and webhooks.id = w.webhook_id
    where w.due_at <= ${now}`;
}

/** Last change of each webhook. */
function changedAt(sql: Sql, some: readonly WebhookAddress[]): Query {
  const given = raw(sql.words.eachInJson('given'), [JSON.stringify(some.map(({ projectId, id }) => [projectId, id]))]);
  return sql`
    select project_id, id, updated_at from webhooks
    where (project_id, id) in (select value ->> 0, value ->> 1 from ${given})`;
}

/** Ends leases of successful deliveries; skips those that ended or were claimed by another process since. Returns the ids of the others. */
function settleDelivered(sql: Sql, some: readonly Pick<Delivery, 'id' | 'fence'>[], now: Instant): Query {
  const rows = some.map(({ id, fence }) => [id, fence]);
  const update = sql`
    update deliveries set state = 'delivered', attempt = attempt + 1, due_at = null, ${freed}, updated_at = ${now}`;
  const isGiven = sql`
    deliveries.id = given.id and deliveries.fence = given.fence and deliveries.state = 'delivering' returning deliveries.id`;
  if (sql.dialect === 'sqlite')
    return sql`
      ${update} from (select value ->> 0 as id, value ->> 1 as fence from json_each(${JSON.stringify(rows)})) as given
      where ${isGiven}`;
  const [ids = null, fences = null] = toArrays(claimColumns, rows);
  const given = raw(
    unnested(claimColumns, () => '?'),
    [ids, fences],
  );
  // Repeats the ids: planned as a join alone, the statement would read all of a small table.
  return sql`${update} from ${given} where deliveries.id = any(cast(${ids} as text[])) and ${isGiven}`;
}

/** Discards waiting deliveries of a webhook. Rechecks that it is disabled. Running deliveries end by themselves. */
function discardSome(sql: Sql, webhook: WebhookAddress, now: Instant, limit: number): Query {
  const isWaiting = sql`due_at is not null and ${isFree(now)}`;
  // Updates by id: otherwise SQLite would read everything that waits for the webhook.
  return sql`
    update deliveries set ${freed}, state = 'discarded', due_at = null, updated_at = ${now}
    where ${isWaiting}
      and id in (select id from deliveries where ${ofWebhook(webhook)} and ${isWaiting} order by due_at limit ${limit})
      and exists (
        select id from webhooks where project_id = ${webhook.projectId} and id = ${webhook.id} and enabled = 0)`;
}

/** Waiting deliveries: their number, the oldest creation time, and the oldest due time among webhooks that do not fail. */
function backlog(sql: Sql, now: Instant): Query {
  return sql`
    select count(*) as waiting, min(created_at) as oldest, (
      select min((
        select due_at from deliveries where deliveries.project_id = webhooks.project_id
          and deliveries.webhook_id = webhooks.id and due_at <= ${now} and ${isFree(now)} order by due_at limit 1))
      from webhooks where attempts = 0) as due
    from deliveries where due_at is not null`;
}

/** Makes deliveries due that were delayed or claimed before the clock was set back, instead of waiting until it has caught up. */
function bringForward(sql: Sql, now: Instant, limit: number): Query {
  // Checks twice that it is due: a delivery may have ended while this statement waited for its lock.
  return sql`
    update deliveries set ${freed}, due_at = ${now}, updated_at = ${now}
    where id in (
      select id from deliveries where due_at is not null and (due_at > ${now} or ${isLeased(now)})
        and updated_at > ${instantOf(latestPast(millisecondsOf(now)))} limit ${limit})
      and due_at is not null`;
}

/** Deletes ended deliveries older than a time, with their attempts. */
function prune(sql: Sql, webhook: WebhookAddress, before: Instant, limit: number): Query {
  // Checks twice that it has ended: a delivery may have been replayed while this statement waited for its lock.
  return sql`
    delete from deliveries where id in (
      select id from deliveries where ${ofWebhook(webhook)} and due_at is null and created_at < ${before}
      order by created_at limit ${limit})
      and due_at is null`;
}
