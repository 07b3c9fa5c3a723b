// Where nearly every document names one role, lists of callers with other roles go by the index of roles: Postgres takes a role that it does not
// know for the average one, and would read the readers of the whole collection for it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { aLoggedInUser } from '../harness/actors.js';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { runSql } from '../harness/database.js';
import { fill } from './filled.js';
import { aBackend, queryString } from './setup.js';

const rows = 5_000;

test('lists read the readers of the roles of their callers only', async () => {
  const target = await startAppliance({ settings: { SVC_TOTAL_LIMIT: '100' } });
  const { key, collection: aCollection } = await aBackend(target);
  const notes = await aCollection({ documentSecurity: true, attributes: { text: { type: 'string', size: 40 } } });
  const model = { documentId: 'model', data: {}, permissions: ['read("users")'] };
  (await key.post(notes.documents, model)).expect(201);
  await fill((text) => runSql(target, text), target.appliance.runtime.sql.dialect, notes.id, rows, {});
  await key
    .post(notes.documents, { documentId: 'open', data: {}, permissions: ['read("any")'] })
    .then((created) => created.expect(201));
  const [found] = await runSql(target, `select number from collections where id = '${notes.id}'`);
  const readers = `r_${found?.number}`;
  await runSql(target, databaseUnderTest === 'postgres' ? `vacuum analyze ${readers}` : 'analyze');

  const newest = queryString([{ method: 'orderDesc', attribute: '$createdAt' }]);
  const lists = async () => {
    for (const [caller, total] of [
      [createClient(target), 1],
      [(await aLoggedInUser(target)).client, 100],
    ] as const)
      for (const queries of ['', newest, queryString([{ method: 'orderDesc', attribute: '$updatedAt' }])]) {
        const { body } = (await caller.get(notes.documents + queries)).expect(200);
        assert.equal(body.total, total);
      }
  };
  await lists();
  if (databaseUnderTest === 'sqlite') return;
  // Postgres counts what a connection has read at most once a second, with its next statement.
  await sleep(1100);
  await lists();
  const [read] = await runSql(
    target,
    `select seq_tup_read as rows from pg_stat_user_tables where relname = '${readers}'`,
  );
  assert.ok(Number(read?.rows) < rows / 10, `${read?.rows} readers were read`);
});

test('a role that was counted to see as many as are counted is counted again where documents have gone since', async () => {
  const target = await startAppliance({ settings: { SVC_TOTAL_LIMIT: '100' } });
  const { key, collection: aCollection } = await aBackend(target);
  const notes = await aCollection({ documentSecurity: true, attributes: { text: { type: 'string', size: 40 } } });
  const model = { documentId: 'model', data: {}, permissions: ['read("users")'] };
  (await key.post(notes.documents, model)).expect(201);
  await fill((text) => runSql(target, text), target.appliance.runtime.sql.dialect, notes.id, 200, {});
  const callers = await Promise.all([aLoggedInUser(target), aLoggedInUser(target), aLoggedInUser(target)]);
  const newest = queryString([{ method: 'orderDesc', attribute: '$createdAt' }]);
  const totals = () =>
    Promise.all(callers.map(async ({ client }) => (await client.get(notes.documents + newest)).expect(200).body.total));
  assert.deepEqual(await totals(), [100, 100, 100]);
  const [found] = await runSql(target, `select number from collections where id = '${notes.id}'`);
  const table = `d_${found?.number}`;
  // As another process would do it, whose changes this one is not told of. The other role comes next after `users`.
  const others = `seq not in (select seq from ${table} order by seq limit 60)`;
  await runSql(target, `update ${table} set permissions = '["read(\\"users/verified\\")"]' where ${others}`);
  assert.deepEqual(await totals(), [60, 60, 60]);
  await runSql(target, `delete from ${table} where ${others}`);
  assert.deepEqual(await totals(), [60, 60, 60]);
});
