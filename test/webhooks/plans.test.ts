// Looking for what is due goes by the index: a long queue costs what a short one does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEventStore } from '#src/features/events/webhooks/deliveries/event-store.js';
import { createDeliveryStore } from '#src/features/events/webhooks/deliveries/store.js';
import type { Query } from '#src/platform/db/query.js';
import { databaseUnderTest } from '../harness/appliance.js';
import { runSql } from '../harness/database.js';
import { aKey, aWebhook, startOpen } from './setup.js';

const target = await startOpen();
const { db, sql } = target.appliance.runtime;
const rows = 30_000;
const [first, source] =
  databaseUnderTest === 'sqlite'
    ? [`with recursive g (x) as (select 1 union all select x + 1 from g where x < ${rows}) select`, 'from g']
    : ['select', `from generate_series(1, ${rows}) as g (x)`];

test('neither claiming nor fanning out reads deliveries that are not due', async () => {
  await target.appliance.features.worker.stop();
  const key = await aKey(target);
  const hooks = [await aWebhook(key, 'http://127.0.0.1:9999/'), await aWebhook(key, 'http://127.0.0.1:9999/')];
  const [one, other] = hooks.map(({ id }) => id);
  const later = "'2999-01-01T00:00:00.000Z'";
  const columns =
    'id, project_id, webhook_id, event_id, event, state, attempt, due_at, fence, replayed, sequence, bytes';
  const values = `'d' || x, 'main', case when x % 2 = 0 then '${one}' else '${other}' end, 'e' || x, 'documentCreated', 'retrying', 1, ${later}, 0, 0, x, 2, ${later}, ${later}`;
  await runSql(target, `insert into deliveries (${columns}, created_at, updated_at) ${first} ${values} ${source}`);
  const event = `'e' || x, 'main', 'documentCreated', ${later}, '{}', x, ${later}`;
  await runSql(
    target,
    `insert into events (id, project_id, type, created_at, data, sequence, dispatched_at) ${first} ${event} ${source}`,
  );
  if (databaseUnderTest === 'postgres') await runSql(target, 'analyze');
  const now = new Date().toISOString();
  const store = createDeliveryStore(sql);
  const webhook = { projectId: 'main', id: one ?? '' };
  const queries: Record<string, Query> = {
    webhooks: store.waitingWebhooks({ now }),
    claim: store.claim(
      hooks.map(({ id }) => ({ webhook: { projectId: 'main', id }, limit: 4, longBytes: 1 })),
      1,
      { owner: 'o', now, until: now },
    ),
    projects: createEventStore(sql).waitingProjects(),
    events: createEventStore(sql).numberSome('main', { last: 0, now, limit: 100 }),
    settled: store.settleDelivered([{ id: 'd1', fence: 0 }], now),
    attempts: store.attempts(webhook, { limit: 20, offset: 0 }),
  };
  for (const [name, query] of Object.entries(queries)) {
    const explain = databaseUnderTest === 'sqlite' ? 'explain query plan' : 'explain';
    const plan = await db.all({ ...query, sql: `${explain} ${query.sql}` });
    const text = plan.map((row) => String(row.detail ?? row['QUERY PLAN'])).join('\n');
    // SQLite says SCAN of a walk along an index too; then it names the index.
    assert.doesNotMatch(
      text,
      /SCAN (deliveries|taken|events|n|d)\b(?!.*USING .*INDEX)|Seq Scan on (deliveries|events)/,
      `${name}: ${text}`,
    );
    if (name === 'webhooks' && databaseUnderTest === 'sqlite') {
      // From the queue of one webhook straight to that of the next.
      assert.match(text, /deliveries_due \(project_id=\? AND webhook_id>\?\)/);
    }
  }
});
