// Units of work: all or nothing, and nobody waits for anything but SQL inside.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '#src/contract/errors.js';
import type { Unit } from '#src/platform/db/unit.js';
import { databaseUnderTest } from '../harness/appliance.js';
import { startPlatform, statement } from '../harness/platform.js';
import { startReceiver } from '../harness/receiver.js';

const receiver = await startReceiver();
const { platform } = await startPlatform();
const { db, hashing } = platform;
await platform.migrator.up();
for (const sql of [
  'create table probe (id text not null primary key, n bigint)',
  'create table child (id text not null primary key, parent text references probe (id) deferrable initially deferred)',
])
  await db.all(statement(platform, sql));

const idle = { message: 'a unit of work awaited something other than SQL' };
const by = { projectId: null, actor: { kind: 'operator', id: 'test' }, requestId: 'test' };
const insert = (unit: Unit, id: string, n = 0) =>
  unit.run(statement(platform, 'insert into probe (id, n) values (?, ?)', [id, n]));
const orphan = (unit: Unit, id: string) =>
  unit.run(statement(platform, 'insert into child (id, parent) values (?, ?)', [id, 'nobody']));
const note = (unit: Unit, id: string) => {
  unit.record('projectCreated', { resource: `probe/${id}`, payload: { name: id } });
  unit.send({
    ...{ projectId: 'probe', userId: null, template: id, channel: 'email', locale: 'en', recipient: 'x', sealed: 'x' },
    ...{ state: 'kept', expire: null },
  });
};
/** What of a unit is in the database: its row and its audit row. */
async function leftBy(id: string): Promise<number[]> {
  const count = async (sql: string) => Number((await db.one(statement(platform, sql, [id])))?.n);
  return [
    await count('select count(*) as n from probe where id = ?'),
    await count(`select count(*) as n from audit_entries where resource = 'probe/' || cast(? as text)`),
  ];
}

test('what a unit does and records is there when it is resolved', async () => {
  const value = await db.work(by, async (unit) => {
    await insert(unit, 'plain');
    unit.record('projectCreated', { resource: 'probe/plain', payload: { name: 'plain' } });
    return 42;
  });
  assert.equal(value, 42);
  assert.deepEqual(await leftBy('plain'), [1, 1]);
});

test('a unit that throws leaves nothing, whatever it throws', async () => {
  for (const [id, error] of [
    ['error', new Error('no')],
    ['failure', new Failure('user_not_found')],
  ] as const) {
    const thrown = db.work(by, async (unit) => {
      await insert(unit, id);
      note(unit, id);
      throw error;
    });
    await assert.rejects(thrown, error);
    assert.deepEqual(await leftBy(id), [0, 0]);
  }
});

test('a unit that returns a Failure keeps what it did, and refuses', async () => {
  const refused = db.work(by, async (unit) => {
    await insert(unit, 'kept');
    unit.record('projectCreated', { resource: 'probe/kept', payload: { name: 'kept' } });
    return new Failure('user_invalid_credentials');
  });
  await assert.rejects(refused, { type: 'user_invalid_credentials' });
  assert.deepEqual(await leftBy('kept'), [1, 1]);
});

test('what follows a commit follows no rollback', async () => {
  const seen: string[] = [];
  await db.work(by, async (unit) => unit.afterCommit(() => seen.push('committed')));
  const thrown = db.work(by, async (unit) => {
    unit.afterCommit(() => seen.push('rolled back'));
    throw new Error('no');
  });
  await assert.rejects(thrown);
  assert.deepEqual(seen, ['committed']);
});

const waits: [string, () => Promise<unknown>][] = [
  ['a timer', () => sleep(20)],
  ['a timer of nothing', () => new Promise((resolve) => setTimeout(resolve, 0))],
  ['a hash', () => hashing.hash('password')],
  ['the network', () => fetch(receiver.origin)],
  ['the database itself, past the unit', () => db.one(statement(platform, 'select 1 as one'))],
  ['a unit inside', () => db.work(by, async (unit) => insert(unit, crypto.randomUUID()))],
  ['nobody ever', () => new Promise(() => {})],
];
for (const [name, wait] of waits) {
  test(`a unit that waits for ${name} is stopped and undone, and others go on`, async () => {
    const before = crypto.randomUUID();
    const after = crypto.randomUUID();
    const other = crypto.randomUUID();
    const waiting = db.work(by, async (unit) => {
      await insert(unit, before);
      await wait();
      await insert(unit, after);
    });
    const going = db.work(by, async (unit) => insert(unit, other));
    await assert.rejects(waiting, idle);
    await going;
    await sleep(30);
    assert.deepEqual(
      [await leftBy(before), await leftBy(after), await leftBy(other)],
      [
        [0, 0],
        [0, 0],
        [1, 0],
      ],
    );
  });
}

test('a unit that waits before its first statement is stopped too', async () => {
  const waiting = db.work(by, async (unit) => {
    await sleep(5);
    await insert(unit, 'late');
  });
  await assert.rejects(waiting, idle);
  assert.deepEqual(await leftBy('late'), [0, 0]);
});

test('of many units at once each stands or falls alone', async () => {
  await db.work(by, async (unit) => insert(unit, 'taken'));
  const units = Array.from({ length: 40 }, (_, index) => `group-${index}`);
  const outcomes = await Promise.allSettled(
    units.map((id, index) =>
      db.work(by, async (unit) => {
        await insert(unit, id);
        unit.record('projectCreated', { resource: `probe/${id}`, payload: { name: id } });
        if (index % 5 === 1) throw new Error('no');
        if (index % 5 === 2) await insert(unit, 'taken');
        if (index % 5 === 3) await sleep(1);
      }),
    ),
  );
  for (const [index, id] of units.entries()) {
    const stands = index % 5 === 0 || index % 5 === 4;
    assert.equal(outcomes[index]?.status, stands ? 'fulfilled' : 'rejected', id);
    assert.deepEqual(await leftBy(id), stands ? [1, 1] : [0, 0], id);
  }
});

test('where the commit itself fails, nobody is told of a success that is none', async () => {
  const units = Array.from({ length: 12 }, (_, index) => `commit-${index}`);
  const outcomes = await Promise.allSettled(
    units.map((id, index) =>
      db.work(by, async (unit) => {
        await insert(unit, id);
        if (index === 5) await orphan(unit, id);
      }),
    ),
  );
  assert.equal(outcomes[5]?.status, 'rejected');
  for (const [index, id] of units.entries()) {
    const stands = outcomes[index]?.status === 'fulfilled';
    assert.deepEqual(await leftBy(id), stands ? [1, 0] : [0, 0], id);
  }
  await db.work(by, async (unit) => insert(unit, 'after a failed commit'));
  assert.deepEqual(await leftBy('after a failed commit'), [1, 0]);
});

test('a snapshot sees one state, however long it looks', async () => {
  const count = 'select count(*) as n from probe';
  const [first, second] = await db.snapshot(async (snapshot) => {
    const before = await snapshot.one(statement(platform, count));
    await db.work(by, async (unit) => insert(unit, crypto.randomUUID()));
    return [before, await snapshot.one(statement(platform, count))];
  });
  assert.deepEqual(first, second);
  assert.notDeepEqual(await db.one(statement(platform, count)), first);
});

test('units that block each other are run again until both are done', async () => {
  if (databaseUnderTest === 'sqlite') return;
  for (const id of ['left', 'right']) await db.work(by, async (unit) => insert(unit, id));
  const touch = (unit: Unit, id: string) =>
    unit.run(statement(platform, 'update probe set n = n + 1 where id = ?', [id]));
  const both = async (...ids: string[]) =>
    db.work(by, async (unit) => {
      for (const id of ids) {
        await touch(unit, id);
        await unit.one(statement(platform, 'select pg_sleep(0.2)'));
      }
    });
  await Promise.all([both('left', 'right'), both('right', 'left')]);
  const rows = await db.all(statement(platform, "select n from probe where id in ('left', 'right')"));
  assert.deepEqual(
    rows.map(({ n }) => Number(n)),
    [2, 2],
  );
});
