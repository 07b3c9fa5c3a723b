import type { Instant } from '#src/contract/shapes.js';
import { revoked } from '#src/platform/db/leased-rows.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { deliveries, type WebhookAddress } from './tables.js';

/** Selects deliveries of events since a time: undelivered ones, or all that have ended. */
export interface ReplaySelection {
  readonly since: Instant;
  readonly all: boolean;
}

/** Cursor in a list of deliveries ordered by time. */
export interface DeliveryPosition {
  readonly createdAt: Instant;
  readonly id: string;
}

/** States that can be replayed. A delivery that is running or waits for its first attempt cannot. */
const replayable = {
  notDelivered: ['dead', 'discarded', 'retrying'],
  all: ['dead', 'discarded', 'retrying', 'delivered'],
} as const;

const statesOf = (all: boolean) => (all ? replayable.all : replayable.notDelivered);

/** SQL that replays deliveries. Tests are never replayed. */
export function createReplayStore(sql: Sql) {
  const { knex } = sql;
  const begunAnew = (now: Instant) => ({
    state: 'pending',
    attempt: 0,
    due_at: now,
    ...revoked(sql),
    replayed: 1,
    updated_at: now,
  });
  return {
    /** Replays a delivery unless it is a test, running, or waiting for its first attempt. */
    replay: (id: string, now: Instant): Query =>
      sql.compile(
        knex(deliveries.name)
          .where({ id, test: 0 })
          .whereIn('state', [...replayable.all])
          .update(begunAnew(now)),
      ),
    /** Positions of selected deliveries in the order of their events. Excludes tests. */
    selected: (
      webhook: WebhookAddress,
      { since, until, all }: ReplaySelection & { readonly until: Instant },
      limit: number,
      after: DeliveryPosition | undefined,
    ): Query => {
      const chosen = knex(deliveries.name)
        .where({ project_id: webhook.projectId, webhook_id: webhook.id })
        .where({ test: 0 })
        .whereIn('state', [...statesOf(all)])
        .andWhere('created_at', '>=', after?.createdAt ?? since)
        .andWhere('created_at', '<=', until)
        .orderBy(['created_at', 'id'])
        .limit(limit)
        .select('id', 'created_at');
      // Uses a cursor: a replayed delivery may already have ended and match again.
      if (after !== undefined)
        chosen.andWhere((or) =>
          or
            .where('created_at', '>', after.createdAt)
            .orWhere((same) => same.where('created_at', after.createdAt).andWhere('id', '>', after.id)),
        );
      return sql.compile(chosen);
    },
    /** Replays selected deliveries, except those replayed or claimed by another process since. */
    replaySome: (ids: readonly string[], all: boolean, now: Instant): Query =>
      sql.compile(
        knex(deliveries.name)
          .where(sql.isOneOf('id', sql.list(ids)))
          .whereIn('state', [...statesOf(all)])
          .update(begunAnew(now)),
      ),
  };
}
