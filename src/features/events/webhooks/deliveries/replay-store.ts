import type { Instant } from '#src/contract/shapes.js';
import { free } from '#src/platform/db/leased-rows.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { deliveries, type WebhookAddress } from './tables.js';

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

const statesOf = (all: boolean) => (all ? replayable.all : replayable.notDelivered);

/** SQL that begins deliveries anew; tests are never among them. */
export function createReplayStore(sql: Sql) {
  const { knex } = sql;
  const begunAnew = (now: Instant) => ({
    state: 'pending',
    attempt: 0,
    due_at: now,
    ...free,
    replayed: 1,
    updated_at: now,
    fence: knex.raw('fence + 1'),
  });
  return {
    /** Begins a delivery anew unless it is a test, waits for its first attempt, or is under way. */
    replay: (id: string, now: Instant): Query =>
      sql.compile(
        knex(deliveries.name)
          .where({ id, test: 0 })
          .whereIn('state', [...replayable.all])
          .update(begunAnew(now)),
      ),
    /** The positions of some of the selected deliveries, in the order of their events; tests are never among them. */
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
      // What is begun anew may have ended again before the next step, so the walk goes on behind it.
      if (after !== undefined)
        chosen.andWhere((or) =>
          or
            .where('created_at', '>', after.createdAt)
            .orWhere((same) => same.where('created_at', after.createdAt).andWhere('id', '>', after.id)),
        );
      return sql.compile(chosen);
    },
    /** Begins deliveries anew that were selected, except those that somebody else has begun or claimed since. */
    replaySome: (ids: readonly string[], all: boolean, now: Instant): Query =>
      sql.compile(
        knex(deliveries.name)
          .where(sql.isOneOf('id', sql.list(ids)))
          .whereIn('state', [...statesOf(all)])
          .update(begunAnew(now)),
      ),
  };
}
