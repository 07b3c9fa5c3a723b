// Units of work: all or nothing, and nobody waits for anything but SQL inside.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '#src/contract/errors.js';
import { createEventOutbox } from '#src/features/events/outbox/index.js';
import { createMessageStore } from '#src/features/installation/courier/model/store.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Unit } from '#src/platform/db/unit.js';
import { databaseUnderTest } from '../harness/appliance.js';
import { startRuntime, statement } from '../harness/platform.js';
import { startReceiver } from '../harness/receiver.js';

const receiver = await startReceiver();
const { runtime } = await startRuntime();
const { db, hashing } = runtime;
createEventOutbox(runtime);
const messages = createMessageStore(runtime.sql);
await runtime.migrator.up();
for (const sql of [
  'create table probe (id text not null primary key, n bigint)',
  'create table child (id text not null primary key, parent text references probe (id) deferrable initially deferred)',
])
  await db.all(statement(runtime, sql));

const idle = { message: 'a unit of work awaited something other than SQL' };
const by = { projectId: null, actor: { kind: 'operator', id: 'test' }, requestId: 'test' };
const insert = (unit: Unit, id: string, n = 0) =>
  unit.run(statement(runtime, 'insert into probe (id, n) values (?, ?)', [id, n]));
const orphan = (unit: Unit, id: string) =>
  unit.run(statement(runtime, 'insert into child (id, parent) values (?, ?)', [id, 'nobody']));
const audit = (unit: Unit, id: string) =>
  unit.record('projectCreated', { resource: `probe/${id}`, payload: { name: id } });
const note = (unit: Unit, id: string) => {
  audit(unit, id);
  messages.append(unit, {
    id: randomUUID(),
    projectId: 'probe',
    userId: null,
    template: id,
    channel: 'email',
    locale: 'en',
    recipient: 'x',
    sealed: 'x',
    state: 'kept',
    expire: null,
  });
};
/** What of a unit is in the database: its row and its audit row. */
async function leftBy(id: string): Promise<number[]> {
  const count = async (sql: string) => Number((await db.one(statement(runtime, sql, [id])))?.n);
  return [
    await count('select count(*) as n from probe where id = ?'),
    await count(`select count(*) as n from audit_entries where resource = 'probe/' || cast(? as text)`),
  ];
}

test('all writes and records of a unit are there when it resolves', async () => {
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

test('a unit that refuses keeps its writes, wherever in it the refusal is thrown', async () => {
  const seen: string[] = [];
  const count = async (unit: Unit) => {
    await insert(unit, 'kept');
    audit(unit, 'kept');
    throw unit.refuse('general_rate_limit_exceeded', { retryAfter: 7 });
  };
  const refused = db.work(by, async (unit) => {
    unit.afterCommit(() => seen.push('committed'));
    // What expects a Failure of its own lets the refusal pass.
    await count(unit).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
    });
  });
  await assert.rejects(refused, (error) => error instanceof Failure && error.retryAfter === 7 && error.status === 429);
  assert.deepEqual(await leftBy('kept'), [1, 1]);
  assert.deepEqual(seen, ['committed']);
});

const caught: [string, (unit: Unit) => Promise<unknown>][] = [
  ['goes on', async () => 'a success that is none'],
  ['throws a Failure of its own', async () => Promise.reject(new Failure('user_not_found'))],
  ['throws an error of its own', async () => Promise.reject(new Error('no'))],
];
for (const [name, then] of caught) {
  test(`a unit that catches its refusal and ${name} is a defect and leaves nothing, and others go on`, async () => {
    const [id, other] = [randomUUID(), randomUUID()];
    const catching = db.work(by, async (unit) => {
      await insert(unit, id);
      note(unit, id);
      try {
        throw unit.refuse('user_invalid_credentials');
      } catch {
        return then(unit);
      }
    });
    const going = db.work(by, async (unit) => insert(unit, other));
    await assert.rejects(catching, { name: 'CaughtRefusalError', message: /user_invalid_credentials/ });
    await going;
    assert.deepEqual(
      [await leftBy(id), await leftBy(other)],
      [
        [0, 0],
        [1, 0],
      ],
    );
  });
}

test('a unit that runs again after a conflict knows nothing of the refusal before it', async () => {
  const conflict = () => new DatabaseError('conflict', '40001');
  let tries = 0;
  const refused = db.work(by, async (unit) => {
    await insert(unit, 'refused again');
    audit(unit, 'refused again');
    tries += 1;
    if (tries === 1) throw conflict();
    throw unit.refuse('user_invalid_credentials');
  });
  await assert.rejects(refused, { type: 'user_invalid_credentials' });
  assert.deepEqual([tries, ...(await leftBy('refused again'))], [2, 1, 1]);
  const value = await db.work(by, async (unit) => {
    await insert(unit, 'refused before');
    tries += 1;
    if (tries > 3) return 'done';
    try {
      throw unit.refuse('user_invalid_credentials');
    } catch {
      throw conflict();
    }
  });
  assert.deepEqual([value, tries, ...(await leftBy('refused before'))], ['done', 4, 1, 0]);
});

test('work scheduled for after a commit is not run after a rollback', async () => {
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
  ['a hash', () => hashing.hash('password', null)],
  ['the network', () => fetch(receiver.origin)],
  ['the database itself, past the unit', () => db.one(statement(runtime, 'select 1 as one'))],
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
        if (index % 10 === 4) throw unit.refuse('user_blocked');
      }),
    ),
  );
  for (const [index, id] of units.entries()) {
    const stands = index % 5 === 0 || index % 5 === 4;
    const outcome = outcomes[index];
    assert.equal(outcome?.status, stands && index % 10 !== 4 ? 'fulfilled' : 'rejected', id);
    if (index % 10 === 4) assert.equal(outcome?.status === 'rejected' && outcome.reason.type, 'user_blocked', id);
    assert.deepEqual(await leftBy(id), stands ? [1, 1] : [0, 0], id);
  }
});

test('a unit that runs again runs its after-commit work once', async () => {
  const told: string[] = [];
  const units = Array.from({ length: 6 }, (_, index) => `told-${index}`);
  await Promise.allSettled(
    units.map((id, index) =>
      db.work(by, async (unit) => {
        await insert(unit, id);
        unit.afterCommit(() => told.push(id));
        if (index === 4) throw new Error('no');
      }),
    ),
  );
  assert.deepEqual(
    told.sort(),
    units.filter((_, index) => index !== 4),
  );
});

test('if the commit itself fails, no caller gets a false success', async () => {
  const units = Array.from({ length: 12 }, (_, index) => `commit-${index}`);
  const outcomes = await Promise.allSettled(
    units.map((id, index) =>
      db.work(by, async (unit) => {
        await insert(unit, id);
        if (index === 5) await orphan(unit, id);
      }),
    ),
  );
  for (const [index, id] of units.entries()) {
    assert.equal(outcomes[index]?.status, index === 5 ? 'rejected' : 'fulfilled', id);
    assert.deepEqual(await leftBy(id), index === 5 ? [0, 0] : [1, 0], id);
  }
  await db.work(by, async (unit) => insert(unit, 'after a failed commit'));
  assert.deepEqual(await leftBy('after a failed commit'), [1, 0]);
});

test('of many concurrent units, only the one with a dangling reference fails', async () => {
  const numbers = { table: 'event_sequences', columns: ['project_id', 'last'], numbers: new Set(['last']) };
  const units = Array.from({ length: 12 }, (_, index) => `append-${index}`);
  const outcomes = await Promise.allSettled(
    units.map((id, index) =>
      db.work(by, async (unit) => {
        await insert(unit, id);
        if (index === 5) unit.append(numbers, ['no such project', 0]);
      }),
    ),
  );
  for (const [index, id] of units.entries()) {
    assert.equal(outcomes[index]?.status, index === 5 ? 'rejected' : 'fulfilled', id);
    assert.deepEqual(await leftBy(id), index === 5 ? [0, 0] : [1, 0], id);
  }
});

test('a unit finds the rows that units of the same commit have left before it', async () => {
  if (databaseUnderTest === 'postgres') return;
  const ids = Array.from({ length: 12 }, (_, index) => `left-before-${index}`);
  const changed = await Promise.all(
    ids.flatMap((id) => [
      db.work(by, async ({ append }) => append({ table: 'probe', columns: ['id', 'n'] }, [id, 0])),
      db.work(by, (unit) => unit.run(statement(runtime, 'update probe set n = 1 where id = ?', [id]))),
    ]),
  );
  assert.deepEqual(
    changed,
    ids.flatMap(() => [undefined, 1]),
  );
});

test('a snapshot sees one state, however long it looks', async () => {
  const count = 'select count(*) as n from probe';
  const [first, second] = await db.snapshot(async (snapshot) => {
    const before = await snapshot.one(statement(runtime, count));
    await db.work(by, async (unit) => insert(unit, crypto.randomUUID()));
    return [before, await snapshot.one(statement(runtime, count))];
  });
  assert.deepEqual(first, second);
  assert.notDeepEqual(await db.one(statement(runtime, count)), first);
});

test('of many units that all succeed or refuse each is kept once', async () => {
  const units = Array.from({ length: 40 }, (_, index) => `refusing-${index}`);
  const outcomes = await Promise.allSettled(
    units.map((id, index) =>
      db.work(by, async (unit) => {
        await insert(unit, id);
        audit(unit, id);
        if (index % 2 === 1) throw unit.refuse('user_invalid_token');
      }),
    ),
  );
  for (const [index, id] of units.entries()) {
    assert.equal(outcomes[index]?.status, index % 2 === 1 ? 'rejected' : 'fulfilled', id);
    assert.deepEqual(await leftBy(id), [1, 1], id);
  }
});

test('units that block each other are run again until both are done', async () => {
  if (databaseUnderTest === 'sqlite') return;
  for (const id of ['left', 'right']) await db.work(by, async (unit) => insert(unit, id));
  const touch = (unit: Unit, id: string) =>
    unit.run(statement(runtime, 'update probe set n = n + 1 where id = ?', [id]));
  const both = async (...ids: string[]) =>
    db.work(by, async (unit) => {
      for (const id of ids) {
        await touch(unit, id);
        await unit.one(statement(runtime, 'select pg_sleep(0.2)'));
      }
      if (ids[0] === 'right') throw unit.refuse('user_blocked');
    });
  const [, refused] = await Promise.allSettled([both('left', 'right'), both('right', 'left')]);
  assert.equal(refused.status === 'rejected' && refused.reason.type, 'user_blocked');
  const rows = await db.all(statement(runtime, "select n from probe where id in ('left', 'right')"));
  assert.deepEqual(
    rows.map(({ n }) => Number(n)),
    [2, 2],
  );
});
