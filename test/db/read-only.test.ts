// The database answers and takes no writes: writers are told to come again, readers are served, jobs are quiet, and all of it mends itself.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, copyFileSync, mkdtempSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { aLoggedInUser, aPerson, aServerKey, signUpBody } from '../harness/actors.js';
import { databaseUnderTest, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { hour } from '../harness/clock.js';
import { runSql } from '../harness/database.js';
import { createDatabase, startPostgres } from '../harness/postgres.js';
import { asOwner, failOver, holds, onWriter, promote } from './moods.js';

/** A way to take no writes, and how it ends. */
interface Mood {
  readonly name: string;
  readonly code: string;
  /** A database of its own, where the way concerns the whole server. */
  database?(): Promise<string>;
  begin(target: TestAppliance): Promise<void>;
  end(target: TestAppliance): Promise<void>;
}

/** A file system of a few megabytes; undefined where this user may not mount one. */
function mountSmallDisk(): string | undefined {
  const place = mkdtempSync(join(tmpdir(), 'svc-disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', place]);
  test.after(() => {
    if (status === 0) spawnSync('umount', ['-l', place]);
    rmSync(place, { recursive: true, force: true });
  });
  return status === 0 ? place : undefined;
}

function fill(place: string): void {
  const file = openSync(join(place, 'filler'), 'w');
  try {
    for (;;) writeSync(file, Buffer.alloc(4096));
  } catch {
    // There is no more room, which is what was wanted.
  } finally {
    closeSync(file);
  }
}

const own = databaseUnderTest === 'postgres' ? await startPostgres() : undefined;
test.after(() => own?.stop());
const alterSystem = async (command: string): Promise<void> => {
  const url = new URL(own?.url ?? '');
  url.username = 'postgres';
  await asOwner(url.href, `alter system ${command}`, 'select pg_reload_conf()');
};

const fileOf = ({ databaseUrl }: TestAppliance) => databaseUrl.slice('sqlite:'.length);
const smallDisk = databaseUnderTest === 'sqlite' ? mountSmallDisk() : undefined;
const onSqlite: readonly Mood[] = [
  {
    name: 'full',
    code: 'SQLITE_FULL',
    begin: (target) => onWriter(target, 'max_page_count = 1'),
    end: (target) => onWriter(target, 'max_page_count = 1000000'),
  },
  {
    name: 'a full disk',
    code: 'SQLITE_FULL',
    database: async () => `sqlite:${join(smallDisk ?? '', `${randomUUID()}.db`)}`,
    begin: async () => fill(smallDisk ?? ''),
    end: async () => rmSync(join(smallDisk ?? '', 'filler')),
  },
  {
    name: 'a file that is moved away',
    code: 'SQLITE_READONLY_DBMOVED',
    begin: async (target) => renameSync(fileOf(target), `${fileOf(target)}.away`),
    end: async (target) => renameSync(`${fileOf(target)}.away`, fileOf(target)),
  },
];
const onPostgres: readonly Mood[] = [
  {
    name: 'default_transaction_read_only',
    code: '25006',
    database: () => createDatabase(own?.url ?? '', randomUUID()),
    begin: () => alterSystem('set default_transaction_read_only = on'),
    end: () => alterSystem('reset default_transaction_read_only'),
  },
  {
    name: 'a failover',
    code: '25006',
    begin: ({ databaseUrl }) => failOver(databaseUrl),
    end: ({ databaseUrl }) => promote(databaseUrl),
  },
];

/** Signs somebody up whose row needs a page of its own. */
const write = (client: Client) => client.post('/account', { ...signUpBody(aPerson()), name: 'x'.repeat(128) });
const linesOf = (target: TestAppliance, event: string) =>
  target
    .log()
    .split('\n')
    .filter((line) => line.includes(`"event":"${event}"`));
const writable = async (guest: Client) => {
  const ready = (await guest.get('//readyz')).expect(200).body.checks;
  const gauge = /^svc_db_writable (\d)$/m.exec((await guest.get('//metrics')).text)?.[1];
  return { ready, gauge };
};

for (const mood of databaseUnderTest === 'sqlite' ? onSqlite : onPostgres) {
  const skip = mood.name === 'a full disk' && smallDisk === undefined && 'this user may not mount a disk';
  test(`${mood.name}: writers get 503 with Retry-After, readers are served, and it ends by itself`, {
    skip,
  }, async () => {
    const databaseUrl = await mood.database?.();
    const target = await startAppliance(databaseUrl === undefined ? {} : { databaseUrl });
    const guest = createClient(target);
    const { client: user } = await aLoggedInUser(target);
    const { client: key } = await aServerKey(target);
    assert.deepEqual(await writable(guest), { ready: { database: 'ok', writable: true }, gauge: '1' });
    // The time of the last use would have to be kept.
    target.clock.advance(2 * hour);

    await mood.begin(target);
    // A write on a connection that was cut returns Retry-After 1.
    await holds(async () => (await write(guest)).headers.get('Retry-After') === '5', 10_000);
    for (let count = 0; count < 20; count++) {
      const refused = (await write(guest)).refused(503, 'general_unavailable');
      assert.equal(refused.headers.get('Retry-After'), '5');
      assert.doesNotMatch(refused.text, /insert|select|sqlite|read-only|disk/i);
    }
    (await user.get('/account')).expect(200);
    (await user.get('/account/sessions')).expect(200);
    (await key.get('/users')).expect(200);
    assert.deepEqual(await writable(guest), { ready: { database: 'ok', writable: false }, gauge: '0' });
    assert.match((await guest.get('//metrics')).text, /^svc_db_up 1$/m);
    assert.equal(linesOf(target, 'database.not-writable').length, 1);
    assert.match(linesOf(target, 'database.not-writable')[0] ?? '', new RegExp(`"code":"${mood.code}"`));

    await mood.end(target);
    // A connection from before would refuse for ever: none may be left.
    await holds(async () => (await write(guest)).status === 201, 5000);
    const answers = await Promise.all(Array.from({ length: 30 }, () => write(guest)));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
    if (databaseUnderTest === 'sqlite') await sleep(10_000);
    (await write(guest)).expect(201);
    assert.deepEqual(await writable(guest), { ready: { database: 'ok', writable: true }, gauge: '1' });
    assert.equal(linesOf(target, 'database.writable').length, 1);
    assert.doesNotMatch(target.log(), /"event":"(request\.failed|process\.failed|graphql\.failed)"/);
  });

  test(`${mood.name}: jobs neither loop nor flood the log, and go on afterwards`, { skip }, async () => {
    const databaseUrl = await mood.database?.();
    const target = await startAppliance(databaseUrl === undefined ? {} : { databaseUrl });
    const { jobs, worker, courier } = target.appliance.features;
    await jobs.sweep();
    // An event that nobody has given a number yet.
    await worker.stop();
    await aLoggedInUser(target);
    await mood.begin(target);
    await holds(async () => (await write(createClient(target))).status === 503, 10_000);
    worker.start();
    target.clock.advance(25 * hour);
    const before = cpu();
    for (let count = 0; count < 20; count++) {
      worker.nudge();
      courier.worker.nudge();
      await jobs.sweep();
      await sleep(100);
    }
    assert.ok(cpu() - before < 1.5, 'the jobs keep the processor busy');
    const lines = ['cron.unavailable', 'cron.failed', 'webhooks.failed', 'courier.failed'].map((event) => [
      event,
      linesOf(target, event).length,
    ]);
    const counts = Object.fromEntries(lines) as Record<string, number>;
    assert.ok(counts['cron.unavailable'] !== undefined && counts['cron.unavailable'] <= jobs.names.length);
    assert.equal(counts['cron.failed'], 0);
    assert.ok((counts['webhooks.failed'] ?? 0) + (counts['courier.failed'] ?? 0) <= 2, JSON.stringify(counts));

    await mood.end(target);
    await holds(async () => (await write(createClient(target))).status === 201, 5000);
    target.clock.advance(25 * hour);
    await jobs.sweep();
    const failing = (await jobs.list()).filter(({ lease, lastError }) => lease === 'database' && lastError !== null);
    assert.deepEqual(failing, []);
    worker.nudge();
    await holds(
      async () => (await runSql(target, 'select id from events where dispatched_at is null')).length === 0,
      5000,
    );
  });
}

for (const [name, replace] of [
  ['the file', (file: string) => renameSync(`${file}.backup`, file)],
  ['its log', (file: string) => rmSync(`${file}-wal`)],
] as const) {
  test(`nothing is acknowledged that is lost when ${name} is replaced under a running server`, {
    skip: databaseUnderTest !== 'sqlite' && 'another database',
  }, async () => {
    const target = await startAppliance();
    const guest = createClient(target);
    (await write(guest)).expect(201);
    const file = fileOf(target);
    copyFileSync(file, `${file}.backup`);
    replace(file);
    for (let count = 0; count < 3; count++) (await write(guest)).refused(503, 'general_unavailable');
    assert.deepEqual(await writable(guest), { ready: { database: 'ok', writable: false }, gauge: '0' });
    assert.match(linesOf(target, 'database.not-writable').join(), /"code":"SQLITE_READONLY_DBMOVED"/);
  });
}

/** Seconds of processor time that this process has used. */
function cpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
