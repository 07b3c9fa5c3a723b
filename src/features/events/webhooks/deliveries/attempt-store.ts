import type { Instant } from '#src/contract/shapes.js';
import type { AppendedTable } from '#src/platform/db/outbox.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { PageWindow } from '#src/platform/list-query/index.js';
import { type Attempt, deliveries, deliveryAttempts, type WebhookAddress } from './tables.js';

const appendedAttempts: AppendedTable = {
  table: deliveryAttempts.name,
  columns: Object.values(deliveryAttempts.columns),
  numbers: new Set(['attempt', 'status_code', 'ok', 'duration_ms']),
};

/** SQL over the attempts of deliveries. */
export function createAttemptStore(sql: Sql) {
  const { knex } = sql;
  return {
    /** Inserts an attempt with the commit of the unit. */
    appendAttempt: ({ append }: Pick<Unit, 'append'>, attempt: Attempt): void =>
      append(appendedAttempts, Object.values(deliveryAttempts.encode(attempt))),
    /** Attempts, newest first, with the current state of their deliveries. */
    attempts: ({ projectId, id }: WebhookAddress, { limit, offset }: PageWindow): Query =>
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
            'deliveries.test as test',
          ),
      ),
    /** A failed attempt between two times, if there is one. */
    failedBetween: ({ projectId, id }: WebhookAddress, from: Instant, to: Instant): Query =>
      sql.compile(
        knex(deliveryAttempts.name)
          .where({ project_id: projectId, webhook_id: id, ok: 0 })
          .andWhere('created_at', '>', from)
          .andWhere('created_at', '<', to)
          .limit(1)
          .select('id'),
      ),
    /** Counts attempts, up to a limit. A limit of 0 means no limit. */
    countAttempts: ({ projectId, id }: WebhookAddress, upTo: number): Query => {
      const found = knex(deliveryAttempts.name).where({ project_id: projectId, webhook_id: id }).select('id');
      if (upTo > 0) found.limit(upTo);
      return sql.compile(knex(found.as('found')).count({ total: '*' }));
    },
  };
}
