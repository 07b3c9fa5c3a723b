import type { Instant } from '#src/contract/shapes.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/clock.js';
import { toArrays, unnested } from '#src/platform/db/arrays.js';
import { createLeaseEnd, free, isFree } from '#src/platform/db/leased-rows.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { webhooks } from '../store.js';
import { createAttemptStore } from './attempt-store.js';
import { createDeliveryClaim } from './claim-store.js';
import { createReplayStore } from './replay-store.js';
import { type Delivery, deliveries, deliveryAttempts, type WebhookAddress } from './tables.js';

/** What tells one claim of a delivery from those after it. */
const claimColumns = [
  { name: 'id', type: 'text' },
  { name: 'fence', type: 'bigint' },
] as const;

/** SQL over deliveries and their attempts. */
export function createDeliveryStore(sql: Sql) {
  const { knex } = sql;
  const isWaiting = `due_at is not null and ${isFree(':now')}`;
  const firstOf = (which: string) =>
    `(select id from deliveries n where ${isWaiting} and ${which} order by n.project_id, n.webhook_id, n.due_at limit 1)`;
  // SQLite takes only the first column of a row comparison to the index; of two columns Postgres may expect so few rows that it sorts them all.
  const next =
    sql.dialect === 'sqlite'
      ? `coalesce(${firstOf('n.project_id = w.project_id and n.webhook_id > w.webhook_id')}, ${firstOf('n.project_id > w.project_id')})`
      : firstOf('(n.project_id, n.webhook_id) > (w.project_id, w.webhook_id)');
  const of = ({ projectId, id }: WebhookAddress) =>
    knex(deliveries.name).where({ project_id: projectId, webhook_id: id });
  return {
    insert: (row: Delivery): Query => sql.compile(knex(deliveries.name).insert(deliveries.encode(row))),
    /** Keeps a webhook from being changed or removed until the unit ends; no row where it is gone. Its deliveries are locked after it. */
    lockWebhook: ({ projectId, id }: WebhookAddress): Query => {
      const found = knex(webhooks.name).where({ project_id: projectId, id }).select('id');
      // Events go on becoming deliveries of it meanwhile.
      return sql.compile(sql.dialect === 'sqlite' ? found : found.forNoKeyUpdate());
    },

    /**
     * The webhooks for which something is due. Goes from one webhook that something waits for to the next by the index, so that a long
     * queue of one costs no more than a short one. What it finds of each webhook is due first of what nobody works on.
     */
    waitingWebhooks: sql.prepare<{ now: Instant }>((k, p) =>
      k.raw(
        `with recursive waiting (project_id, webhook_id, due_at) as (
          select project_id, webhook_id, due_at from deliveries where id = (
            select id from deliveries where ${isWaiting} order by project_id, webhook_id, due_at limit 1)
          union all
          select d.project_id, d.webhook_id, d.due_at from waiting w join deliveries d on d.id = ${next}
        )
        select :row from waiting w join webhooks on webhooks.project_id = w.project_id and webhooks.id = w.webhook_id
        where w.due_at <= :now`,
        { row: webhooks.select(sql), now: p.now } as never,
      ),
    ),
    claim: createDeliveryClaim(sql),
    /** When webhooks were changed last. */
    changedAt: (some: readonly WebhookAddress[]): Query => {
      const given = sql.dialect === 'sqlite' ? 'json_each(?)' : 'json_array_elements(cast(? as json))';
      return sql.text(
        `select project_id, id, updated_at from webhooks
          where (project_id, id) in (select value ->> 0, value ->> 1 from ${given})`,
        [JSON.stringify(some.map(({ projectId, id }) => [projectId, id]))],
      );
    },
    settle: createLeaseEnd(sql, deliveries, 'delivering'),
    /** Ends leases with a success, except where another process has claimed the delivery since, or it was done before; returns the ids of the others. */
    settleDelivered: (some: readonly Pick<Delivery, 'id' | 'fence'>[], now: Instant): Query => {
      const rows = some.map(({ id, fence }) => [id, fence]);
      const set = `update deliveries set state = 'delivered', attempt = attempt + 1, due_at = null, owner = null, lease_until = null, updated_at = ?`;
      const isGiven =
        "deliveries.id = given.id and deliveries.fence = given.fence and deliveries.state = 'delivering' returning deliveries.id";
      if (sql.dialect === 'sqlite') {
        const given = '(select value ->> 0 as id, value ->> 1 as fence from json_each(?)) as given';
        return sql.text(`${set} from ${given} where ${isGiven}`, [now, JSON.stringify(rows)]);
      }
      const [ids = null, fences = null] = toArrays(claimColumns, rows);
      // The ids once more: planned as a join alone, it reads all of a small table.
      return sql.text(
        `${set} from ${unnested(claimColumns, () => '?')} where deliveries.id = any(cast(? as text[])) and ${isGiven}`,
        [now, ids, fences, ids],
      );
    },
    ...createAttemptStore(sql),
    ...createReplayStore(sql),
    /** Gives up some of what waits for a webhook that is disabled, whatever was seen of it before; what is under way ends by itself. */
    discardSome: (webhook: WebhookAddress, now: Instant, limit: number): Query => {
      const waits = (rows: ReturnType<typeof of>) => rows.whereNotNull('due_at').andWhere(knex.raw(isFree('?'), [now]));
      // By their ids alone: SQLite would look at everything that waits for the webhook.
      return sql.compile(
        waits(knex(deliveries.name))
          .whereIn('id', waits(of(webhook)).orderBy('due_at').limit(limit).select('id'))
          .whereExists(
            knex(webhooks.name).where({ project_id: webhook.projectId, id: webhook.id, enabled: 0 }).select('id'),
          )
          .update({ ...free, state: 'discarded', due_at: null, updated_at: now }),
      );
    },
    /** Removes the oldest deliveries of a webhook, those that have ended or all. */
    removeSome: (webhook: WebhookAddress, which: 'ended' | 'all', limit: number): Query => {
      const oldest = of(webhook).orderBy('created_at').limit(limit).select('id');
      if (which === 'ended') oldest.whereNull('due_at');
      return sql.compile(knex(deliveries.name).whereIn('id', oldest).delete());
    },

    /** A delivery by its id or by that of one of its attempts. */
    find: (webhook: WebhookAddress, id: string): Query =>
      sql.compile(
        of(webhook)
          .andWhere((or) =>
            or.where({ id }).orWhereIn('id', knex(deliveryAttempts.name).where({ id }).select('delivery_id')),
          )
          .select(deliveries.select(sql)),
      ),
    /** The delivery of an event. */
    findByEvent: (webhook: WebhookAddress, eventId: string): Query =>
      sql.compile(of(webhook).andWhere({ event_id: eventId }).select(deliveries.select(sql))),

    /** What waits for webhooks: how many, since when, and since when something is due for a webhook that does not fail. */
    backlog: (now: Instant): Query =>
      sql.text(
        `select count(*) as waiting, min(created_at) as oldest, (
          select min((
            select due_at from deliveries where deliveries.project_id = webhooks.project_id
              and deliveries.webhook_id = webhooks.id and due_at <= ? and ${isFree('?')} order by due_at limit 1))
          from webhooks where attempts = 0) as due
        from deliveries where due_at is not null`,
        [now, now],
      ),
    /** Makes some of what waits due now: what was put off or claimed before the clock was set back would wait until it has caught up. */
    bringForward: (now: Instant, limit: number): Query => {
      const put = knex(deliveries.name)
        .whereNotNull('due_at')
        .andWhere((either) => either.where('due_at', '>', now).orWhere('lease_until', '>', now))
        .andWhere('updated_at', '>', instantOf(latestPast(millisecondsOf(now))));
      return sql.compile(
        knex(deliveries.name)
          .whereIn('id', put.limit(limit).select('id'))
          // Once more for what has ended while this waited for it.
          .whereNotNull('due_at')
          .update({ ...free, due_at: now, updated_at: now }),
      );
    },
    /** Removes some of what has ended and is older than a time, with its attempts. */
    prune: (webhook: WebhookAddress, before: Instant, limit: number): Query =>
      sql.compile(
        knex(deliveries.name)
          .whereIn(
            'id',
            of(webhook)
              .whereNull('due_at')
              .andWhere('created_at', '<', before)
              .orderBy('created_at')
              .limit(limit)
              .select('id'),
          )
          // Once more for what was begun anew while this waited for it.
          .whereNull('due_at')
          .delete(),
      ),
  };
}

/** The store of deliveries. */
export type DeliveryStore = ReturnType<typeof createDeliveryStore>;
