import { webhookLimits } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import { isFree, leased, type RowLease } from '#src/platform/db/leased-rows.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { raw, skipLocked } from '#src/platform/db/template.js';
import { deliveries, type WebhookAddress } from './tables.js';

/** Quota of a webhook in one claim: the number of deliveries, and the bytes of long bodies. */
export interface Share {
  readonly webhook: WebhookAddress;
  readonly limit: number;
  readonly longBytes: number;
}

const bytes = raw(`case when bytes > ${webhookLimits.longBytes} then bytes else 0 end as bytes`);
const before = (of = '') => raw(`sum(bytes) over (${of} order by due_at, id) - bytes as before`);

/**
 * SQL that claims the deliveries of several webhooks that are due longest, with the data of their events. Bodies are in memory from the
 * claim on, so the bytes of long ones are limited, per webhook and in total. The limit on the number of deliveries bounds short ones. The
 * first body that exceeds the bytes is still claimed.
 */
export function createDeliveryClaim(sql: Sql) {
  const isTaken = raw(sql.words.isOneOfQuery('select id from taken'));
  return (shares: readonly Share[], longBytes: number, lease: RowLease): Query => {
    const given = raw(sql.words.eachInJson('given'), [
      JSON.stringify(
        shares.map(({ webhook, limit, longBytes: own }, at) => [webhook.projectId, webhook.id, limit, own, at]),
      ),
    ]);
    return sql`
      with shares as materialized (
        select value ->> 0 as project_id, value ->> 1 as webhook_id, cast(value ->> 2 as integer) as most,
          cast(value ->> 3 as integer) as long_bytes, value ->> 4 as place from ${given}),
      oldest as materialized (${oldest(sql, shares, lease.now)}),
      own as (select * from (select oldest.*, ${before('partition by place')} from oldest) as one
        where bytes = 0 or before < long_bytes),
      taken as (select id from (select id, bytes, ${before()} from own) as one where bytes = 0 or before < ${longBytes})
      update deliveries set state = 'delivering', updated_at = ${lease.now}, ${leased(lease)} where id ${isTaken}
      returning ${deliveries.row}, (select data from events where events.id = deliveries.event_id) as data`;
  };
}

/** The due deliveries of each webhook within its limit. */
function oldest(sql: Sql, shares: readonly Share[], now: Instant) {
  const due = sql`
    from deliveries where deliveries.project_id = shares.project_id and deliveries.webhook_id = shares.webhook_id
      and due_at <= ${now} and ${isFree(now)} order by due_at limit`;
  // A lateral join limits each webhook separately. Without it the largest limit is used, and then the excess is removed.
  if (sql.facts.hasLateralJoins)
    return sql`
      select due.*, shares.place, shares.long_bytes from shares
      cross join lateral (select id, due_at, ${bytes} ${due} shares.most${skipLocked}) as due`;
  return sql`
    select * from (select taken.id, taken.due_at, ${bytes}, shares.place, shares.long_bytes, shares.most,
        row_number() over (partition by shares.place order by taken.due_at) as number
      from shares cross join deliveries as taken
        on taken.id in (select id ${due} ${Math.max(...shares.map(({ limit }) => limit))})) where number <= most`;
}
