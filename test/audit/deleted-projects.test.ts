// Ids of deleted projects are never given again: who got one would read the log of the project before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { rowsOf, runSql } from '../harness/database.js';
import { startSealed, tamper } from './setup.js';

const by = (projectId: string) => ({ projectId, actor: { kind: 'operator', id: 'cli' }, requestId: 'test' });

const create = ({ appliance: { runtime, features } }: TestAppliance, id: string) =>
  runtime.db.work(by(id), (unit) => features.projects.create(unit, { id, name: 'Shop' }));

const remove = ({ appliance: { features } }: TestAppliance, id: string) => features.projects.remove(by(id), id);

const isTaken = { type: 'project_id_taken', status: 409 };

test('the id of a deleted project is refused, and the next one of its name is proposed', async () => {
  const target = await startAppliance();
  const { runtime, features } = target.appliance;
  await create(target, 'shop');
  await assert.rejects(create(target, 'shop'), { type: 'project_already_exists' });
  assert.equal(await features.projects.wasDeleted(runtime.db, 'shop'), false);
  await remove(target, 'shop');
  assert.equal(await features.projects.wasDeleted(runtime.db, 'shop'), true);
  await assert.rejects(create(target, 'shop'), isTaken);
  assert.deepEqual(await rowsOf(target, 'projects').then((rows) => rows.filter(({ id }) => id === 'shop')), []);
  assert.equal(await features.projects.proposeId(runtime.db, 'Shop'), 'shop-2');
  await create(target, 'shop-2');
  assert.equal(await features.projects.proposeId(runtime.db, 'Shop'), 'shop-3');
  assert.equal(await features.projects.proposeId(runtime.db, 'Café Größe & Co'), 'cafe-grosse-co');
});

test('it stays refused when the log has lost its entries', async () => {
  const target = await startSealed();
  await create(target, 'shop');
  await remove(target, 'shop');
  await tamper(target, 'delete from audit_subjects', 'delete from audit_entries');
  await assert.rejects(create(target, 'shop'), isTaken);
});

test('projects that an earlier version deleted are known by the log', async () => {
  const target = await startAppliance();
  const { migrator } = target.appliance.runtime;
  await create(target, 'shop');
  await create(target, 'deletion-recorded');
  await create(target, 'again');
  for (const id of ['shop', 'deletion-recorded', 'again']) await remove(target, id);
  while ((await migrator.down()) !== '0038_deleted_projects');
  // The earlier version gave ids again. And of one project retention has left the deletion only.
  await runSql(
    target,
    "insert into projects (id, name, settings, data_key, created_at, updated_at) select 'again', name, settings, data_key, created_at, updated_at from projects where id = 'main'",
  );
  const ofLost = "project_id = 'deletion-recorded' and action <> 'projectDeleted'";
  await tamper(target, `delete from audit_entries where ${ofLost}`);
  await migrator.up();
  const known = (await rowsOf(target, 'deleted_projects')).map(({ id }) => id).sort();
  assert.deepEqual(known, ['deletion-recorded', 'shop']);
  for (const id of known) await assert.rejects(create(target, String(id)), isTaken);
  await remove(target, 'again');
  await assert.rejects(create(target, 'again'), isTaken);
});

test('no caller gets the id while another process deletes the project', async () => {
  const first = await startAppliance();
  const second = await first.startSibling();
  for (let round = 0; round < 10; round++) {
    const id = `shop-${round}`;
    await create(first, id);
    const outcomes = await Promise.allSettled([
      remove(first, id),
      ...Array.from({ length: 4 }, (_, at) => create(at % 2 === 0 ? first : second, id)),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', ...Array.from({ length: 4 }, () => 'rejected')],
    );
    for (const outcome of outcomes.slice(1))
      if (outcome.status === 'rejected')
        assert.ok(['project_already_exists', 'project_id_taken'].includes(outcome.reason.type), outcome.reason);
    await assert.rejects(create(second, id), isTaken);
  }
});
