import type { Instant } from '#src/contract/shapes.js';
import { toArrays, unnested } from '#src/platform/db/arrays.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import type { Page } from '#src/platform/list-query/index.js';
import { type Attempt, deliveries, deliveryAttempts, type WebhookAddress } from './tables.js';

const columns = Object.values(deliveryAttempts.columns);
const numbers: ReadonlySet<string> = new Set(['attempt', 'status_code', 'ok', 'duration_ms']);
const typed = columns.map((name) => ({ name, type: numbers.has(name) ? 'bigint' : 'text' }) as const);

/** SQL over the attempts of deliveries. */
export function createAttemptStore(sql: Sql) {
  const { knex } = sql;
  const given =
    sql.dialect === 'sqlite'
      ? `select ${columns.map((_, at) => `value ->> ${at}`).join(', ')} from json_each(?)`
      : `select ${columns.join(', ')} from ${unnested(typed, () => '?')}`;
  return {
    /** Writes attempts in one statement, whose text is the same for any number of them. */
    insertAttempts: (attempts: readonly Attempt[]): Query => {
      const rows = attempts.map((attempt) => Object.values(deliveryAttempts.encode(attempt)));
      return sql.text(
        `insert into ${deliveryAttempts.name} (${columns.join(', ')}) ${given}`,
        sql.dialect === 'sqlite' ? [JSON.stringify(rows)] : toArrays(typed, rows),
      );
    },
    /** Attempts, newest first, with where their deliveries stand. */
    attempts: ({ projectId, id }: WebhookAddress, { limit, offset }: Page): Query =>
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
    /** An attempt that failed between two times, if there was one. */
    failedBetween: ({ projectId, id }: WebhookAddress, from: Instant, to: Instant): Query =>
      sql.compile(
        knex(deliveryAttempts.name)
          .where({ project_id: projectId, webhook_id: id, ok: 0 })
          .andWhere('created_at', '>', from)
          .andWhere('created_at', '<', to)
          .limit(1)
          .select('id'),
      ),
    /** Counts attempts, up to a number where that is not 0. */
    countAttempts: ({ projectId, id }: WebhookAddress, upTo: number): Query => {
      const found = knex(deliveryAttempts.name).where({ project_id: projectId, webhook_id: id }).select('id');
      if (upTo > 0) found.limit(upTo);
      return sql.compile(knex(found.as('found')).count({ total: '*' }));
    },
  };
}
