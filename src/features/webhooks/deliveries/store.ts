import type { Page } from '#src/contract/paging.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bool, integer, nullable, table, text } from '#src/platform/db/table.js';
import { type Webhook, webhooks } from '../store.js';

/** What has become of a delivery. */
export type DeliveryState = 'pending' | 'delivering' | 'delivered' | 'retrying' | 'dead' | 'discarded';

/** An event on its way to a webhook. */
export const deliveries = table<{
  readonly id: string;
  readonly projectId: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly event: string;
  readonly state: string;
  readonly attempt: number;
  readonly dueAt: Instant | null;
  readonly owner: string | null;
  readonly fence: number;
  readonly replayed: boolean;
  readonly body: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}>('deliveries', {
  id: text,
  projectId: text,
  webhookId: text,
  eventId: text,
  event: text,
  state: text,
  attempt: integer,
  dueAt: nullable(text),
  owner: nullable(text),
  fence: integer,
  replayed: bool,
  body: text,
  createdAt: text,
  updatedAt: text,
});

/** One try of a delivery, and what came of it. */
export const deliveryAttempts = table('delivery_attempts', {
  id: text,
  projectId: text,
  webhookId: text,
  deliveryId: text,
  eventId: text,
  event: text,
  attempt: integer,
  state: text,
  statusCode: integer,
  ok: bool,
  error: text,
  durationMs: integer,
  nextAttemptAt: nullable(text),
  response: text,
  createdAt: text,
});

/** A delivery. */
export type Delivery = ReturnType<typeof deliveries.decode>;
/** An attempt. */
export type Attempt = ReturnType<typeof deliveryAttempts.decode>;

/** The address of a webhook. */
type Of = Pick<Webhook, 'projectId' | 'id'>;

/** Which deliveries are sent once more. */
export type ReplaySelection = { readonly event: string } | { readonly since: Instant };

/** SQL over deliveries and their attempts. */
export function createDeliveryStore(sql: Sql) {
  const { knex } = sql;
  const of = ({ projectId, id }: Of) => knex(deliveries.name).where({ project_id: projectId, webhook_id: id });
  const begunAnew = (now: Instant) => ({
    ...{ state: 'pending', attempt: 0, due_at: now, owner: null, replayed: 1, updated_at: now },
    fence: knex.raw('fence + 1'),
  });
  const skipLocked = sql.dialect === 'postgres' ? 'for update skip locked' : '';
  return {
    insert: (row: Delivery): Query => sql.compile(knex(deliveries.name).insert(deliveries.encode(row))),
    insertAttempt: (row: Attempt): Query =>
      sql.compile(knex(deliveryAttempts.name).insert(deliveryAttempts.encode(row))),

    /**
     * The webhooks for which something is due. Goes from one webhook that something waits for to the next by the index, so that a long
     * queue of one costs no more than a short one.
     */
    waitingWebhooks: sql.prepare<{ now: Instant }>((k, p) =>
      k.raw(
        `with recursive waiting (project_id, webhook_id) as (
          select project_id, webhook_id from deliveries where id = (
            select id from deliveries where due_at is not null order by project_id, webhook_id, due_at limit 1)
          union all
          select d.project_id, d.webhook_id from waiting w join deliveries d on d.id = coalesce(
            (select id from deliveries n where due_at is not null and n.project_id = w.project_id
              and n.webhook_id > w.webhook_id order by n.webhook_id, n.due_at limit 1),
            (select id from deliveries n where due_at is not null and n.project_id > w.project_id
              order by n.project_id, n.webhook_id, n.due_at limit 1))
        )
        select ? from waiting w join webhooks on webhooks.project_id = w.project_id and webhooks.id = w.webhook_id
        where exists (select 1 from deliveries d
          where d.project_id = w.project_id and d.webhook_id = w.webhook_id and d.due_at <= ?)`,
        [webhooks.select(sql), p.now],
      ),
    ),
    /** Takes what is due longest: nobody else does until the lease is over, and the fence tells who came later. */
    claim: sql.prepare<{ projectId: string; id: string; now: Instant; until: Instant; owner: string; most: number }>(
      (k, p) =>
        k.raw(
          `with due as materialized (
            select id from deliveries where project_id = ? and webhook_id = ? and due_at <= ?
            order by due_at limit ? ${skipLocked})
          update deliveries set state = 'delivering', fence = fence + 1, owner = ?, due_at = ?, updated_at = ?
          where id in (select id from due) returning ?`,
          [p.projectId, p.id, p.now, p.most, p.owner, p.until, p.now, deliveries.select(sql)],
        ),
    ),
    /** Ends an attempt; changes nothing where somebody else has claimed the delivery since. */
    finish: (
      { id, fence }: Pick<Delivery, 'id' | 'fence'>,
      change: Pick<Delivery, 'state' | 'attempt' | 'dueAt' | 'updatedAt'>,
    ): Query =>
      sql.compile(
        knex(deliveries.name)
          .where({ id, fence })
          .update({ ...deliveries.encodeSome(change), owner: null }),
      ),
    /** Gives up what waits for a webhook; what is under way is left to whoever has it. */
    discard: (webhook: Of, now: Instant): Query =>
      sql.compile(
        of(webhook)
          .whereNotNull('due_at')
          .andWhere((or) => or.whereNot('state', 'delivering').orWhere('due_at', '<=', now))
          .update({ state: 'discarded', due_at: null, owner: null, updated_at: now }),
      ),

    /** A delivery by its id or by that of one of its attempts. */
    find: (webhook: Of, id: string): Query =>
      sql.compile(
        of(webhook)
          .andWhere((or) =>
            or.where({ id }).orWhereIn('id', knex(deliveryAttempts.name).where({ id }).select('delivery_id')),
          )
          .select(deliveries.select(sql)),
      ),
    /** Begins a delivery anew unless it is waiting for its first attempt, or under way. */
    replay: (id: string, now: Instant): Query =>
      sql.compile(
        knex(deliveries.name).where({ id }).whereNotIn('state', ['pending', 'delivering']).update(begunAnew(now)),
      ),
    /** Begins some deliveries anew: of one event, or those since a time that were given up. */
    replaySome: (webhook: Of, selection: ReplaySelection, now: Instant, most: number): Query => {
      const chosen = of(webhook).orderBy('created_at').limit(most).select('id');
      if ('event' in selection) {
        chosen.where({ event_id: selection.event }).whereNotIn('state', ['pending', 'delivering']);
      } else chosen.where('created_at', '>=', selection.since).whereIn('state', ['dead', 'discarded']);
      return sql.compile(knex(deliveries.name).whereIn('id', chosen).update(begunAnew(now)));
    },
    hasEvent: (webhook: Of, eventId: string): Query =>
      sql.compile(of(webhook).andWhere({ event_id: eventId }).select('id')),

    /** Attempts, newest first, with where their deliveries stand. */
    attempts: ({ projectId, id }: Of, { limit, offset }: Page): Query =>
      sql.compile(
        knex(deliveryAttempts.name)
          .join(deliveries.name, 'deliveries.id', 'delivery_attempts.delivery_id')
          .where({ 'delivery_attempts.project_id': projectId, 'delivery_attempts.webhook_id': id })
          .orderBy([
            { column: 'delivery_attempts.created_at', order: 'desc' },
            { column: 'delivery_attempts.id', order: 'desc' },
          ])
          .limit(limit)
          .offset(offset)
          .select(
            deliveryAttempts.select(sql),
            'deliveries.attempt as last',
            'deliveries.state as state',
            'deliveries.due_at as due',
          ),
      ),
    /** Counts attempts, up to a number where that is not 0. */
    countAttempts: ({ projectId, id }: Of, upTo: number): Query => {
      const found = knex(deliveryAttempts.name).where({ project_id: projectId, webhook_id: id }).select('id');
      if (upTo > 0) found.limit(upTo);
      return sql.compile(knex(found.as('found')).count({ total: '*' }));
    },
    /** What waits for webhooks: how many, and since when. */
    backlog: (): Query =>
      sql.text('select count(*) as waiting, min(created_at) as oldest from deliveries where due_at is not null', []),
    /** Removes some of what has ended and is older than a time, with its attempts. */
    prune: (webhook: Of, before: Instant, most: number): Query =>
      sql.compile(
        knex(deliveries.name)
          .whereIn(
            'id',
            of(webhook)
              .whereNull('due_at')
              .andWhere('created_at', '<', before)
              .orderBy('created_at')
              .limit(most)
              .select('id'),
          )
          .delete(),
      ),
  };
}

/** The store of deliveries. */
export type DeliveryStore = ReturnType<typeof createDeliveryStore>;
