import type { Instant } from '#src/contract/shapes.js';
import { revoked } from '#src/platform/db/leased-rows.js';
import type { Sql } from '#src/platform/db/query.js';
import { oneOf, raw } from '#src/platform/db/template.js';
import type { WebhookAddress } from './tables.js';

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

/** Condition for deliveries that can be replayed: not those that run or wait for their first attempt. */
const isReplayable = raw("state in ('dead', 'discarded', 'retrying', 'delivered')");
/** The same without those that were delivered. */
const isUndelivered = raw("state in ('dead', 'discarded', 'retrying')");

/** SQL that replays deliveries. Tests are never replayed. */
export function createReplayStore(sql: Sql) {
  const begunAnew = (now: Instant) =>
    sql`state = 'pending', attempt = 0, due_at = ${now}, ${revoked}, replayed = 1, updated_at = ${now}`;
  return {
    /** Replays a delivery unless it is a test, running, or waiting for its first attempt. */
    replay: (id: string, now: Instant) =>
      sql`update deliveries set ${begunAnew(now)} where id = ${id} and test = 0 and ${isReplayable}`,
    /** Positions of selected deliveries in the order of their events. Excludes tests. */
    selected: (
      { projectId, id }: WebhookAddress,
      { since, until, all }: ReplaySelection & { readonly until: Instant },
      limit: number,
      after: DeliveryPosition | undefined,
    ) => {
      // Uses a cursor: a replayed delivery may already have ended and match again.
      const isAfter =
        after !== undefined &&
        sql`and (created_at > ${after.createdAt} or (created_at = ${after.createdAt} and id > ${after.id}))`;
      return sql`
        select id, created_at from deliveries
        where project_id = ${projectId} and webhook_id = ${id} and test = 0 and ${all ? isReplayable : isUndelivered}
          and created_at >= ${after?.createdAt ?? since} and created_at <= ${until} ${isAfter}
        order by created_at, id limit ${limit}`;
    },
    /** Replays selected deliveries, except those replayed or claimed by another process since. */
    replaySome: (ids: readonly string[], all: boolean, now: Instant) => sql`
      update deliveries set ${begunAnew(now)} where id ${oneOf(ids)} and ${all ? isReplayable : isUndelivered}`,
  };
}
