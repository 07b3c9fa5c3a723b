import { webhookLimits } from '#src/contract/limits.js';
import { isFree, leased, type RowLease } from '#src/platform/db/leased-rows.js';
import type { Query, Sql, Value } from '#src/platform/db/query.js';
import { deliveries, type WebhookAddress } from './tables.js';

/** Quota of a webhook in one claim: the number of deliveries, and the bytes of long bodies. */
export interface Share {
  readonly webhook: WebhookAddress;
  readonly limit: number;
  readonly longBytes: number;
}

const names = ['shares', 'largest', 'longBytes', 'owner', 'now', 'until'] as const;

/**
 * SQL that claims the deliveries of several webhooks that are due longest, with the data of their events. Bodies are in memory from the
 * claim on, so the bytes of long ones are limited, per webhook and in total. The limit on the number of deliveries bounds short ones. The
 * first body that exceeds the bytes is still claimed.
 */
export function createDeliveryClaim(sql: Sql) {
  const { eachInJson, isOneOfQuery, skipLocked } = sql.words;
  const due = `from deliveries where deliveries.project_id = shares.project_id and deliveries.webhook_id = shares.webhook_id
    and due_at <= :now and ${isFree(':now')} order by due_at limit`;
  const bytes = `case when bytes > ${webhookLimits.longBytes} then bytes else 0 end as bytes`;
  // A lateral join limits each webhook separately. Without it the largest limit is used, and then the excess is removed.
  const oldest = sql.facts.hasLateralJoins
    ? `select due.*, shares.place, shares.long_bytes from shares
        cross join lateral (select id, due_at, ${bytes} ${due} shares.most${skipLocked}) as due`
    : `select * from (select taken.id, taken.due_at, ${bytes}, shares.place, shares.long_bytes, shares.most,
          row_number() over (partition by shares.place order by taken.due_at) as number
        from shares cross join deliveries as taken on taken.id in (select id ${due} :largest)) where number <= most`;
  const before = (of = '') => `sum(bytes) over (${of} order by due_at, id) - bytes as before`;
  const claim = sql.prepare<Readonly<Record<(typeof names)[number], Value>>>((k, p) =>
    k.raw(
      `with shares as materialized (
        select value ->> 0 as project_id, value ->> 1 as webhook_id, cast(value ->> 2 as integer) as most,
          cast(value ->> 3 as integer) as long_bytes, value ->> 4 as place from ${eachInJson('given', ':shares')}),
      oldest as materialized (${oldest}),
      own as (select * from (select oldest.*, ${before('partition by place')} from oldest) as one where bytes = 0 or before < long_bytes),
      taken as (select id from (select id, bytes, ${before()} from own) as one where bytes = 0 or before < :longBytes)
      update deliveries set state = 'delivering', updated_at = :now, ${leased} where id ${isOneOfQuery('select id from taken')}
        returning :row, (select data from events where events.id = deliveries.event_id) as data`,
      { ...Object.fromEntries(names.map((name) => [name, p[name]])), row: deliveries.select(sql) },
    ),
  );
  return (shares: readonly Share[], longBytes: number, { owner, now, until }: RowLease): Query =>
    claim({
      shares: JSON.stringify(
        shares.map(({ webhook, limit, longBytes: own }, at) => [webhook.projectId, webhook.id, limit, own, at]),
      ),
      largest: Math.max(...shares.map(({ limit }) => limit)),
      longBytes,
      owner,
      now,
      until,
    });
}
