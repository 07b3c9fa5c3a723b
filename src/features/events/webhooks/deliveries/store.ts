import type { Instant } from '#src/contract/shapes.js';
import { toArrays, unnested } from '#src/platform/db/arrays.js';
import { endLease, free, freed, isFree, isLeased } from '#src/platform/db/leased-rows.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/runtime/clock.js';
import { webhooks } from '../model/store.js';
import { createAttemptStore } from './attempt-store.js';
import { createDeliveryClaim } from './claim-store.js';
import { createReplayStore } from './replay-store.js';
import { type Delivery, deliveries, deliveryAttempts, type WebhookAddress } from './tables.js';

/** Columns that identify one claim of a delivery. */
const claimColumns = [
  { name: 'id', type: 'text' },
  { name: 'fence', type: 'bigint' },
] as const;

/** SQL over deliveries and their attempts. */
export function createDeliveryStore(sql: Sql) {
  return {
    ...bind(sql, { insert, lockWebhook, changedAt, settle, settleDelivered, discardSome, removeSome }),
    ...bind(sql, { find, findByEvent, backlog, bringForward, prune }),
    waitingWebhooks: prepareWaitingWebhooks(sql),
    claim: createDeliveryClaim(sql),
    ...createAttemptStore(sql),
    ...createReplayStore(sql),
  };
}

/** SQL over deliveries and their attempts. */
export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

function ofWebhook({ knex }: Sql, { projectId, id }: WebhookAddress) {
  return knex(deliveries.name).where({ project_id: projectId, webhook_id: id });
}

function insert(sql: Sql, row: Delivery): Query {
  return sql.compile(sql.knex(deliveries.name).insert(deliveries.encode(row)));
}

/** Locks a webhook against changes and removal until the end of the unit. Returns no row if it is gone. Lock its deliveries after it. */
function lockWebhook(sql: Sql, { projectId, id }: WebhookAddress): Query {
  const found = sql.knex(webhooks.name).where({ project_id: projectId, id }).select('id');
  // This lock still allows new deliveries that refer to the webhook.
  return sql.compile(found.forNoKeyUpdate());
}

/**
 * Webhooks with due deliveries. Goes from one webhook with waiting deliveries to the next by the index, so that a long queue costs no
 * more than a short one. Finds the earliest due delivery of each webhook that no process has claimed.
 */
function prepareWaitingWebhooks(sql: Sql) {
  const isWaiting = `due_at is not null and ${isFree(':now')}`;
  const firstOf = (which: string) =>
    `(select id from deliveries n where ${isWaiting} and ${which} order by n.project_id, n.webhook_id, n.due_at limit 1)`;
  // SQLite uses only the first column of a row comparison with an index. Postgres needs the row comparison: with two conditions it may
  // underestimate the rows and sort all of them.
  const next =
    sql.dialect === 'sqlite'
      ? `coalesce(${firstOf('n.project_id = w.project_id and n.webhook_id > w.webhook_id')}, ${firstOf('n.project_id > w.project_id')})`
      : firstOf('(n.project_id, n.webhook_id) > (w.project_id, w.webhook_id)');
  return sql.prepare<{ now: Instant }>((k, p) =>
    k.raw(
      `with recursive waiting (project_id, webhook_id, due_at) as (
          select project_id, webhook_id, due_at from deliveries where id = (
            select id from deliveries where ${isWaiting} order by project_id, webhook_id, due_at limit 1)
          union all
          select d.project_id, d.webhook_id, d.due_at from waiting w join deliveries d on d.id = ${next}
        )
        select :row from waiting w join webhooks on webhooks.project_id = w.project_id and webhooks.id = w.webhook_id
        where w.due_at <= :now`,
      { row: webhooks.select(sql), now: p.now },
    ),
  );
}

/** Last change of each webhook. */
function changedAt(sql: Sql, some: readonly WebhookAddress[]): Query {
  return sql.text(
    `select project_id, id, updated_at from webhooks
          where (project_id, id) in (select value ->> 0, value ->> 1 from ${sql.words.eachInJson('given')})`,
    [JSON.stringify(some.map(({ projectId, id }) => [projectId, id]))],
  );
}

/** Ends the lease of a delivery. Changes no row if the delivery has ended, or if another process has claimed it since. */
function settle(sql: Sql, { id, fence }: Pick<Delivery, 'id' | 'fence'>, change: Partial<Delivery>): Query {
  return endLease(sql, deliveries, { id, fence, state: 'delivering' }, change);
}

/** Ends leases of successful deliveries; skips those that ended or were claimed by another process since. Returns the ids of the others. */
function settleDelivered(sql: Sql, some: readonly Pick<Delivery, 'id' | 'fence'>[], now: Instant): Query {
  const rows = some.map(({ id, fence }) => [id, fence]);
  const set = `update deliveries set state = 'delivered', attempt = attempt + 1, due_at = null, ${freed}, updated_at = ?`;
  const isGiven =
    "deliveries.id = given.id and deliveries.fence = given.fence and deliveries.state = 'delivering' returning deliveries.id";
  if (sql.dialect === 'sqlite') {
    const given = '(select value ->> 0 as id, value ->> 1 as fence from json_each(?)) as given';
    return sql.text(`${set} from ${given} where ${isGiven}`, [now, JSON.stringify(rows)]);
  }
  const [ids = null, fences = null] = toArrays(claimColumns, rows);
  // Repeats the ids: planned as a join alone, the statement would read all of a small table.
  return sql.text(
    `${set} from ${unnested(claimColumns, () => '?')} where deliveries.id = any(cast(? as text[])) and ${isGiven}`,
    [now, ids, fences, ids],
  );
}

/** Discards waiting deliveries of a webhook. Rechecks that it is disabled. Running deliveries end by themselves. */
function discardSome(sql: Sql, webhook: WebhookAddress, now: Instant, limit: number): Query {
  const { knex } = sql;
  const waits = (rows: ReturnType<typeof ofWebhook>) =>
    rows.whereNotNull('due_at').andWhere(knex.raw(isFree('?'), [now]));
  // Updates by id: otherwise SQLite would read everything that waits for the webhook.
  return sql.compile(
    waits(knex(deliveries.name))
      .whereIn('id', waits(ofWebhook(sql, webhook)).orderBy('due_at').limit(limit).select('id'))
      .whereExists(
        knex(webhooks.name).where({ project_id: webhook.projectId, id: webhook.id, enabled: 0 }).select('id'),
      )
      .update({ ...free, state: 'discarded', due_at: null, updated_at: now }),
  );
}

/** Deletes the oldest deliveries of a webhook: only ended ones, or all. */
function removeSome(sql: Sql, webhook: WebhookAddress, which: 'ended' | 'all', limit: number): Query {
  const oldest = ofWebhook(sql, webhook).orderBy('created_at').limit(limit).select('id');
  if (which === 'ended') oldest.whereNull('due_at');
  return sql.compile(sql.knex(deliveries.name).whereIn('id', oldest).delete());
}

/** A delivery by its id or the id of one of its attempts. */
function find(sql: Sql, webhook: WebhookAddress, id: string): Query {
  const byAttempt = sql.knex(deliveryAttempts.name).where({ id }).select('delivery_id');
  return sql.compile(
    ofWebhook(sql, webhook)
      .andWhere((or) => or.where({ id }).orWhereIn('id', byAttempt))
      .select(deliveries.select(sql)),
  );
}

/** The delivery of an event. */
function findByEvent(sql: Sql, webhook: WebhookAddress, eventId: string): Query {
  return sql.compile(ofWebhook(sql, webhook).andWhere({ event_id: eventId }).select(deliveries.select(sql)));
}

/** Waiting deliveries: their number, the oldest creation time, and the oldest due time among webhooks that do not fail. */
function backlog(sql: Sql, now: Instant): Query {
  return sql.text(
    `select count(*) as waiting, min(created_at) as oldest, (
          select min((
            select due_at from deliveries where deliveries.project_id = webhooks.project_id
              and deliveries.webhook_id = webhooks.id and due_at <= ? and ${isFree('?')} order by due_at limit 1))
          from webhooks where attempts = 0) as due
        from deliveries where due_at is not null`,
    [now, now],
  );
}

/** Makes deliveries due that were delayed or claimed before the clock was set back, instead of waiting until it has caught up. */
function bringForward(sql: Sql, now: Instant, limit: number): Query {
  const { knex } = sql;
  const put = knex(deliveries.name)
    .whereNotNull('due_at')
    .andWhere((either) => either.where('due_at', '>', now).orWhere(knex.raw(isLeased('?'), [now])))
    .andWhere('updated_at', '>', instantOf(latestPast(millisecondsOf(now))));
  return sql.compile(
    knex(deliveries.name)
      .whereIn('id', put.limit(limit).select('id'))
      // Checks again: a delivery may have ended while this statement waited for its lock.
      .whereNotNull('due_at')
      .update({ ...free, due_at: now, updated_at: now }),
  );
}

/** Deletes ended deliveries older than a time, with their attempts. */
function prune(sql: Sql, webhook: WebhookAddress, before: Instant, limit: number): Query {
  const old = ofWebhook(sql, webhook).whereNull('due_at').andWhere('created_at', '<', before);
  return sql.compile(
    sql
      .knex(deliveries.name)
      .whereIn('id', old.orderBy('created_at').limit(limit).select('id'))
      // Checks again: a delivery may have been replayed while this statement waited for its lock.
      .whereNull('due_at')
      .delete(),
  );
}
