// The sealer: every entry gets its number once, whichever process gives it and in whatever order entries become visible.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { databaseUnderTest, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { rowsOf, runSql } from '../harness/database.js';
import { startSealed, startUnsealed } from './setup.js';

/** Numbers from 1 on without a gap, no entry left, and a chain that verifies. */
async function assertSealed(target: TestAppliance): Promise<number> {
  await target.appliance.features.audit.seal();
  const numbers = (await rowsOf(target, 'audit_entries')).map(({ seq }) => Number(seq)).sort((a, b) => a - b);
  assert.deepEqual(
    numbers,
    numbers.map((_, at) => at + 1),
  );
  const verdict = await target.appliance.features.audit.verify();
  assert.deepEqual([verdict.findings[0], verdict.entries, verdict.waiting], [undefined, numbers.length, 0]);
  return numbers.length;
}

test('a server seals new entries within a second', async () => {
  const target = await startAppliance({ ticking: true });
  await aLoggedInUser(target);
  const until = performance.now() + 60_000;
  const waiting = async () => (await runSql(target, 'select count(*) as n from audit_entries where seq is null'))[0]?.n;
  while (Number(await waiting()) > 0 && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(Number(await waiting()), 0);
});

test('two processes that record and seal at once leave one chain', async () => {
  const first = await startAppliance();
  const second = await first.startSibling();
  const sealAll = async (target: TestAppliance) => {
    for (let times = 0; times < 10; times++) await target.appliance.features.audit.seal();
  };
  await Promise.all([
    ...[first, second, first, second].map(sealAll),
    ...[first, second, first, second].map((target) => aLoggedInUser(target)),
  ]);
  assert.ok((await assertSealed(first)) >= 10);
});

test('an entry that becomes visible after later ones is sealed after them, and none is skipped', async () => {
  const target = await startSealed();
  const last = await target.appliance.features.audit.headSeq();
  // Its id is lower than that of every sealed entry, as of a unit of work that was slow to commit.
  const row = ['0', target.project.id, '2030-01-01T00:00:00.000Z', 'operator', 'slow', 'limitsReset', 'limits', 'slow'];
  const values = [...row, '{"counters":0}'];
  const mac = target.appliance.runtime.sealing.auditMac(JSON.stringify(values), String(row[2]));
  await runSql(
    target,
    'insert into audit_entries (id, project_id, at, actor_kind, actor_id, action, resource, request_id, data, mac) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    [...values, mac],
  );
  assert.equal(await assertSealed(target), last + 1);
  assert.equal(Number((await runSql(target, "select seq from audit_entries where id = '0'"))[0]?.seq), last + 1);
});

test('a batch is sealed whole or not at all', async () => {
  const target = await startUnsealed();
  await target.appliance.features.audit.seal();
  const { driver, sql } = target.appliance.runtime;
  const before = (await rowsOf(target, 'audit_heads'))[0];
  await aLoggedInUser(target);
  // What a process that dies in the middle leaves: a transaction without its commit.
  await assert.rejects(
    driver.transact(async (connection) => {
      await connection.run(sql.text("update audit_entries set seq = 100, hash = 'x' where seq is null", []));
      throw new Error('killed');
    }, performance.now() + 5000),
    /killed|unique|DatabaseError/i,
  );
  assert.deepEqual((await rowsOf(target, 'audit_heads'))[0], before);
  await assertSealed(target);
});

test('a former holder that was stalled cannot move the head', async () => {
  const target = await startSealed();
  const { db, sql } = target.appliance.runtime;
  const [head] = await rowsOf(target, 'audit_heads');
  await aLoggedInUser(target);
  await target.appliance.features.audit.seal();
  const by = { projectId: null, actor: { kind: 'service', id: 'audit' }, requestId: '' };
  const moved = await db.work(by, (unit) =>
    unit.run(sql.text("update audit_heads set hash = 'stale' where name = 'current' and seq = ?", [Number(head?.seq)])),
  );
  assert.equal(moved, 0);
  await assertSealed(target);
});

test('while one process seals, another goes on without waiting', {
  skip: databaseUnderTest === 'sqlite' && 'SQLite has one writer',
}, async () => {
  const target = await startSealed();
  const sibling = await target.startSibling();
  const { driver, sql } = sibling.appliance.runtime;
  await driver.transact(async (connection) => {
    // A server looks once when it starts; where the head stands is known only from here on.
    const [head] = await connection.all(sql.text("select seq from audit_heads where name = 'current' for update", []));
    await aLoggedInUser(target);
    await target.appliance.features.audit.seal();
    assert.equal(await target.appliance.features.audit.headSeq(), Number(head?.seq));
    return { value: undefined, inserts: [] };
  }, performance.now() + 5000);
  await assertSealed(target);
});

test('a large log that was never sealed is brought along while requests are answered', async () => {
  const target = await startAppliance();
  const { db } = target.appliance.runtime;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'many' }, requestId: 'many' };
  for (let units = 0; units < 12; units++)
    await db.work(by, async (unit) => {
      for (let times = 0; times < 200; times++)
        unit.record('limitsReset', { resource: 'limits', payload: { counters: times } });
    });
  const sealing = target.appliance.features.audit.seal();
  await aLoggedInUser(target);
  await sealing;
  assert.ok((await assertSealed(target)) > 2400);
});

test('the clock has no say in the order', async () => {
  const target = await startSealed();
  target.clock.advance(-86_400_000 * 30);
  await aLoggedInUser(target);
  await target.appliance.features.audit.seal();
  target.clock.advance(86_400_000 * 400);
  await aLoggedInUser(target);
  await assertSealed(target);
});

test('the measurements tell how far the chain lies behind', async () => {
  const target = await startSealed();
  /** A measurement, in whole numbers. */
  const measured = async (name: string) => {
    const text = await (await fetch(`${target.origin}/metrics`)).text();
    return Math.floor(Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]));
  };
  const assertSeconds = async (name: string, least: number) => {
    const seconds = await measured(name);
    assert.ok(seconds >= least && seconds < least + 30, `${name} ${seconds}`);
  };
  assert.equal(await measured('svc_audit_unsealed'), 0);
  assert.equal(await measured('svc_audit_oldest_unsealed_seconds'), 0);
  await aServerKey(target);
  target.clock.advance(5000);
  assert.equal(await measured('svc_audit_unsealed'), 1);
  await assertSeconds('svc_audit_oldest_unsealed_seconds', 5);
  await assertSeconds('svc_audit_head_age_seconds', 5);
});
