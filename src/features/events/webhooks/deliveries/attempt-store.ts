import type { Instant } from '#src/contract/shapes.js';
import type { AppendedTable } from '#src/platform/db/outbox.js';
import type { Sql } from '#src/platform/db/query.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { PageWindow } from '#src/platform/list-query/index.js';
import { type Attempt, deliveryAttempts, type WebhookAddress } from './tables.js';

const appendedAttempts: AppendedTable = {
  table: deliveryAttempts.name,
  columns: Object.values(deliveryAttempts.columns),
  numbers: new Set(['attempt', 'status_code', 'ok', 'duration_ms']),
};

/** SQL over the attempts of deliveries. */
export function createAttemptStore(sql: Sql) {
  return {
    /** Inserts an attempt with the commit of the unit. */
    appendAttempt: ({ append }: Pick<Unit, 'append'>, attempt: Attempt): void =>
      append(appendedAttempts, Object.values(deliveryAttempts.encode(attempt))),
    /** Attempts, newest first, with the current state of their deliveries. */
    attempts: ({ projectId, id }: WebhookAddress, { limit, offset }: PageWindow) => sql`
      select ${deliveryAttempts.row}, deliveries.attempt as last, deliveries.state as state, deliveries.due_at as due,
        deliveries.test as test
      from delivery_attempts join deliveries on deliveries.id = delivery_attempts.delivery_id
      where delivery_attempts.project_id = ${projectId} and delivery_attempts.webhook_id = ${id}
      order by delivery_attempts.created_at desc, delivery_attempts.id desc limit ${limit} offset ${offset}`,
    /** A failed attempt between two times, if there is one. */
    failedBetween: ({ projectId, id }: WebhookAddress, from: Instant, to: Instant) => sql`
      select id from delivery_attempts where project_id = ${projectId} and webhook_id = ${id} and ok = 0
        and created_at > ${from} and created_at < ${to} limit 1`,
    /** Counts attempts, up to a limit. A limit of 0 means no limit. */
    countAttempts: ({ projectId, id }: WebhookAddress, upTo: number) => sql`
      select count(*) as total from (
        select id from delivery_attempts where project_id = ${projectId} and webhook_id = ${id}
        ${upTo > 0 && sql`limit ${upTo}`}) as found`,
  };
}
