import type { Instant } from '#src/contract/shapes.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/clock.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bool, instant, integer, nullable, table, text } from '#src/platform/db/table.js';
import { createLeasedRows } from '#src/platform/leased-queue.js';
import type { Page } from '../../../../platform/list-query/index.js';
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
  /** Made to see whether the receiver answers; never replayed. */
  readonly test: boolean;
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
  dueAt: nullable(instant),
  owner: nullable(text),
  fence: integer,
  replayed: bool,
  test: bool,
  body: text,
  createdAt: instant,
  updatedAt: instant,
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
  nextAttemptAt: nullable(instant),
  response: text,
  createdAt: instant,
});

/** A delivery. */
export type Delivery = ReturnType<typeof deliveries.decode>;
/** An attempt. */
export type Attempt = ReturnType<typeof deliveryAttempts.decode>;

/** The address of a webhook. */
type Of = Pick<Webhook, 'projectId' | 'id'>;

/** Deliveries of events since a time: those that were not delivered, or all that have ended. */
export interface ReplaySelection {
  readonly since: Instant;
  readonly all: boolean;
}

/** Where a walk through deliveries by time stands. */
export interface DeliveryPosition {
  readonly createdAt: Instant;
  readonly id: string;
}

/** What a replay begins anew; what waits for its first attempt or is under way stays as it is. */
const replayable = {
  notDelivered: ['dead', 'discarded', 'retrying'],
  all: ['dead', 'discarded', 'retrying', 'delivered'],
} as const;

/** SQL over deliveries and their attempts. */
export function createDeliveryStore(sql: Sql) {
  const { knex } = sql;
  const of = ({ projectId, id }: Of) => knex(deliveries.name).where({ project_id: projectId, webhook_id: id });
  const begunAnew = (now: Instant) => ({
    state: 'pending',
    attempt: 0,
    due_at: now,
    owner: null,
    replayed: 1,
    updated_at: now,
    fence: knex.raw('fence + 1'),
  });
  const leased = createLeasedRows(sql, deliveries, {
    scope: ['project_id', 'webhook_id'],
    claimed: "state = 'delivering', updated_at = :now",
  });
  return {
    insert: (row: Delivery): Query => sql.compile(knex(deliveries.name).insert(deliveries.encode(row))),
    /** Keeps a webhook from being removed until the unit ends; no row where it is gone. */
    lockWebhook: ({ projectId, id }: Webhook): Query =>
      sql.compile(knex(webhooks.name).where({ project_id: projectId, id }).forUpdate().select('id')),
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
    ...leased,
    /** Gives up what waits for a webhook; what is under way ends by itself. */
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
    /** The delivery of an event. */
    findByEvent: (webhook: Of, eventId: string): Query =>
      sql.compile(of(webhook).andWhere({ event_id: eventId }).select(deliveries.select(sql))),
    /** Begins a delivery anew unless it is a test, waits for its first attempt, or is under way. */
    replay: (id: string, now: Instant): Query =>
      sql.compile(
        knex(deliveries.name)
          .where({ id, test: 0 })
          .whereIn('state', [...replayable.all])
          .update(begunAnew(now)),
      ),
    /** Begins some of the selected deliveries anew, in the order of their events, and returns their positions; tests are never among them. */
    replaySome: (
      webhook: Of,
      { since, until, all }: ReplaySelection & { readonly until: Instant },
      now: Instant,
      limit: number,
      after: DeliveryPosition | undefined,
    ): Query => {
      const states = [...replayable[all ? 'all' : 'notDelivered']];
      const chosen = of(webhook)
        .where({ test: 0 })
        .whereIn('state', states)
        .andWhere('created_at', '>=', after?.createdAt ?? since)
        .andWhere('created_at', '<=', until)
        .orderBy(['created_at', 'id'])
        .limit(limit)
        .select('id');
      // What is begun anew may have ended again before the next step, so the walk goes on behind it.
      if (after !== undefined)
        chosen.andWhere((or) =>
          or
            .where('created_at', '>', after.createdAt)
            .orWhere((same) => same.where('created_at', after.createdAt).andWhere('id', '>', after.id)),
        );
      return sql.compile(
        knex(deliveries.name)
          .whereIn('id', chosen)
          .whereIn('state', states)
          .update(begunAnew(now))
          .returning(['id', 'created_at']),
      );
    },

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
    /** An attempt that failed between two times, if there was one. */
    failedBetween: ({ projectId, id }: Of, from: Instant, to: Instant): Query =>
      sql.compile(
        knex(deliveryAttempts.name)
          .where({ project_id: projectId, webhook_id: id, ok: 0 })
          .andWhere('created_at', '>', from)
          .andWhere('created_at', '<', to)
          .limit(1)
          .select('id'),
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
    /** Makes some of what waits due now: what was put off before the clock was set back would wait until it has caught up. */
    bringForward: (now: Instant, limit: number): Query => {
      const put = knex(deliveries.name)
        .where('due_at', '>', now)
        .andWhere('updated_at', '>', instantOf(latestPast(millisecondsOf(now))));
      return sql.compile(
        knex(deliveries.name).whereIn('id', put.limit(limit).select('id')).update({ due_at: now, updated_at: now }),
      );
    },
    /** Removes some of what has ended and is older than a time, with its attempts. */
    prune: (webhook: Of, before: Instant, limit: number): Query =>
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
          .delete(),
      ),
  };
}

/** The store of deliveries. */
export type DeliveryStore = ReturnType<typeof createDeliveryStore>;
