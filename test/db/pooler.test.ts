// PgBouncer in both modes, as its package comes: everything works, the limits hold, and nothing is left behind on its connections.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aBackend } from '../documents/setup.js';
import { aLoggedInUser } from '../harness/actors.js';
import { databaseUnderTest, freshDatabase, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { install } from '../harness/cli.js';
import { runSql } from '../harness/database.js';
import { lacksPgBouncer, startPgBouncer } from '../harness/pgbouncer.js';
import { after } from '../harness/runner.js';
import { asOwner, lock } from './moods.js';

const skip = databaseUnderTest === 'sqlite' ? 'there is no server to pool' : lacksPgBouncer;

const show = async ({ appliance }: TestAppliance, name: string) => {
  const query = { sql: `select current_setting('${name}') as value`, values: [] };
  const { driver } = appliance.runtime;
  const [[alone], [within]] = [await driver.read(query), await driver.snapshot((connection) => connection.all(query))];
  return [alone?.value, within?.value];
};

for (const mode of ['session', 'transaction'] as const)
  test(`${mode} mode: changes, lists and schema changes side by side; the limits hold`, { skip }, async () => {
    const databaseUrl = await freshDatabase('');
    const pooler = await startPgBouncer(databaseUrl, mode);
    after(() => pooler.stop());
    const target = await startAppliance({ databaseUrl: pooler.urlOf(databaseUrl) });
    assert.match(await target.appliance.runtime.driver.describe(), /through a connection pooler$/);

    const backend = await aBackend(target);
    const { documents, attributes, id } = await backend.collection({ attributes: { n: { type: 'integer' } } });
    const create = (n: number) => backend.key.post(documents, { documentId: `n${n}`, data: { n } });
    const list = () =>
      backend.key.get(`${documents}?queries[]=${encodeURIComponent('{"method":"limit","values":[200]}')}`);
    const { client } = await aLoggedInUser(target);
    await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        (await create(n)).expect(201);
        (await list()).expect(200);
        (await client.get('/account')).expect(200);
      }),
    );
    (await backend.key.post(`${attributes}/string`, { key: 'more', size: 20, required: false })).expect(202);
    (await backend.key.patch(`${documents}/n1`, { data: { more: 'text' } })).expect(200);
    assert.equal((await list()).expect(200).list('documents').length, 60);

    assert.deepEqual(await show(target, 'statement_timeout'), ['10s', '10s']);
    assert.deepEqual(await show(target, 'lock_timeout'), ['3s', '3s']);
    await asOwner(
      pooler.urlOf(databaseUrl),
      `do $$ begin if current_setting('statement_timeout') <> '0' then raise exception 'left behind'; end if; end $$`,
    );

    const [row] = await runSql(target, 'select number from collections where id = ?', [id]);
    const held = await lock(databaseUrl, `d_${row?.number}`);
    const waiting = await create(100);
    await held.release();
    waiting.refused(503, 'general_unavailable');
    (await create(101)).expect(201);
    assert.doesNotMatch(target.log(), /"event":"(request\.failed|process\.failed|database\.away)"/);
  });

test('a pooler that mixes up prepared statements: they are given up, and nobody notices', { skip }, async () => {
  const databaseUrl = await freshDatabase('');
  const pooler = await startPgBouncer(databaseUrl, 'transaction');
  after(() => pooler.stop());
  const settings = { SVC_PG_PREPARED: 'on' };
  const target = await startAppliance({ databaseUrl: pooler.urlOf(databaseUrl), settings });
  const { client } = await aLoggedInUser(target);
  // Which connection of the pooler a statement meets is chance: go on until one met the statement of another.
  const unprepared = /"event":"database\.unprepared"/;
  for (let round = 0; round < 5 || (round < 100 && !unprepared.test(target.log())); round++) {
    const answers = await Promise.all(Array.from({ length: 40 }, () => client.get('/account')));
    for (const answer of answers) answer.expect(200);
    (await client.patch('/account/name', { name: `Name ${round}` })).expect(200);
  }
  assert.match(target.log(), unprepared);
  assert.doesNotMatch(target.log(), /"event":"(request|audit)\.failed"/);
});

test('commands and the server start through it, and events reach a reader of the feed', { skip }, async () => {
  const databaseUrl = await freshDatabase('');
  const pooler = await startPgBouncer(databaseUrl, 'transaction');
  const place = await install({ init: false });
  after(async () => {
    await place.dispose();
    await pooler.stop();
  });
  place.env.SVC_DATABASE_URL = pooler.urlOf(databaseUrl);
  await place.json(['init', '--yes', '--project', 'Shop', '--project-id', 'shop']);
  const scopes = ['--name', 'test', '--scopes', 'all'];
  const { secret } = await place.json<{ secret: string }>(['apikey', 'create', '--project', 'shop', ...scopes]);
  const { url } = await place.serve();
  const headers = { 'X-Service-Project': 'shop', 'X-Service-Key': secret };
  const events = fetch(`${url}/events?wait=20`, { headers });
  const guest = { 'X-Service-Project': 'shop' };
  assert.equal((await fetch(`${url}/account/sessions/anonymous`, { method: 'POST', headers: guest })).status, 201);
  const { events: seen } = (await (await events).json()) as { events: { type: string }[] };
  assert.deepEqual(seen[0]?.type, 'sessionCreated');
});
