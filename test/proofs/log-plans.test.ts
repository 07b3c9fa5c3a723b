// Reading a user's log goes by the indexes: a long audit log costs what a short one does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createActivityStore } from '#src/features/events/activity/store.js';
import type { Query } from '#src/platform/db/query.js';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { runSql } from '../harness/database.js';

const target = await startAppliance();
const { db, sql } = target.appliance.runtime;
const rows = 30_000;
const [first, source] =
  databaseUnderTest === 'sqlite'
    ? [`with recursive g (x) as (select 1 union all select x + 1 from g where x < ${rows}) select`, 'from g']
    : ['select', `from generate_series(1, ${rows}) as g (x)`];

test('neither a page nor a count nor the logins read rows of others', async () => {
  const columns = 'id, project_id, at, actor_kind, actor_id, action, resource, request_id, data, mac';
  const at = "'2026-01-01T00:00:00.000Z'";
  const values = `'e' || x, 'main', ${at}, 'user', 'u' || (x % 1000), 'accountNameChanged', 'users/u' || (x % 1000), '', '{}', ''`;
  await runSql(target, `insert into audit_entries (${columns}) ${first} ${values} ${source}`);
  if (databaseUnderTest === 'postgres') await runSql(target, 'analyze');
  const store = createActivityStore(sql);
  const whose = { projectId: 'main', userId: 'u7' };
  const queries: Record<string, Query> = {
    list: store.list(whose, 25, 0),
    count: store.count(whose, 1000),
    logins: store.logins(whose, 200),
  };
  for (const [name, query] of Object.entries(queries)) {
    const explain = databaseUnderTest === 'sqlite' ? 'explain query plan' : 'explain';
    const plan = await db.all({ ...query, sql: `${explain} ${query.sql}` });
    const text = plan.map((row) => String(row.detail ?? row['QUERY PLAN'])).join('\n');
    assert.doesNotMatch(text, /SCAN audit_entries|Seq Scan on audit_entries/, `${name}: ${text}`);
    assert.match(text, /audit_entries_of_user/, `${name}: ${text}`);
    if (name !== 'logins') assert.match(text, /audit_entries_by_user/, `${name}: ${text}`);
  }
});
