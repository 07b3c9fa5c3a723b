// A database that the version before has made is opened by this one: while it serves and documents are written, a job brings the collections
// along, and every list is right before, meanwhile and after. Killed in between, it goes on where it was.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { freshDatabase, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { runSql } from '../harness/database.js';
import { schemaOf } from '../harness/platform.js';
import { after } from '../harness/runner.js';
import { aBackend, queryString } from './setup.js';

const documents = 2_300;

/** What the version before leaves: its schema, its tables of collections, its rows. */
async function oldDatabase(databaseUrl: string) {
  const target = await startAppliance({ databaseUrl });
  const { key, collection } = await aBackend(target);
  const user = await aLoggedInUser(target);
  const made = await collection({ documentSecurity: true, attributes: { n: { type: 'integer' } } });
  const empty = await collection({ documentSecurity: true });
  const inOrder: number[] = [];
  for (let at = 0; at < documents; at += 50) {
    if (at % 500 === 0) target.clock.step(-1000);
    const some = Array.from({ length: 50 }, (_, next) => at + next).map((n) =>
      key.post(made.documents, {
        documentId: `d${n}`,
        data: { n },
        permissions: n % 7 === 0 ? [`read("user:${user.id}")`, 'read("users")'] : n % 2 === 0 ? ['read("users")'] : [],
      }),
    );
    for (const answer of await Promise.all(some))
      inOrder[Number(answer.expect(201).string('$sequence'))] = Number(answer.body.n);
  }
  const { migrator } = target.appliance.runtime;
  while ((await migrator.down()) !== '0018_list_order');
  await target.close();
  return { made, empty, session: user.secret, readable: inOrder.filter(isReadable) };
}

/** Which of the documents every user may read. */
const isReadable = (n: number) => n % 7 === 0 || n % 2 === 0;

const partsOf = async ({ appliance }: TestAppliance, number: number) => {
  const own = new RegExp(`\\b([dr])_${number}(?=\\b|_)`, 'g');
  const text = (value: unknown) =>
    String(value)
      .replaceAll(own, '$1_N')
      .replace(/number = \d+|(?<=select |values \()\d+,|(?<=documents_changed\(')\d+/g, 'N')
      .replaceAll('"', '');
  const rows = (await schemaOf(appliance.runtime)).filter((row) => `${row.name} ${row.text}`.search(own) >= 0);
  return rows.map((row) => `${row.type} ${text(row.name)} ${text(row.text)}`).sort();
};

test('collections of the version before are brought along while they are read and written', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-test-layout-'));
  after(() => rmSync(directory, { recursive: true, force: true }));
  const databaseUrl = await freshDatabase(directory);
  const { made, empty, session, readable } = await oldDatabase(databaseUrl);
  const target = await startAppliance({ databaseUrl });
  const { client: key } = await aServerKey(target);
  const reader = createClient(target, { session });
  const query = (...queries: object[]) => `${made.documents}${queryString(queries)}`;
  const newest = { method: 'orderDesc', attribute: '$createdAt' };

  /** What the reader sees never changes meanwhile: all that is written is for others. */
  const expectLists = async (): Promise<void> => {
    const first = (await reader.get(query({ method: 'limit', values: [30] }))).expect(200);
    assert.deepEqual(
      [first.body.total, first.list('documents').map(({ n }) => n)],
      [readable.length, readable.slice(0, 30)],
    );
    const page = (await reader.get(query(newest, { method: 'limit', values: [40] }))).expect(200);
    const times = page.list('documents').map(({ $createdAt }) => String($createdAt));
    assert.deepEqual(times, [...times].sort().reverse());
    assert.equal(page.body.total, readable.length);
    const last = page.list('documents').at(-1);
    const next = await reader.get(query(newest, { method: 'cursorAfter', values: [last?.$id] }));
    const below = next
      .expect(200)
      .list('documents')
      .map(({ $createdAt }) => String($createdAt));
    assert.ok(below.every((time) => time <= (times.at(-1) ?? '')) && below.length === 25);
  };

  let ended = false;
  const others: string[] = [];
  const write = async (): Promise<number> => {
    let written = 0;
    for (; !ended || written < 40; written++) {
      const id = `other${written}`;
      (await key.post(made.documents, { documentId: id, data: { n: -1 }, permissions: ['read("label:x")'] })).expect(
        201,
      );
      if (written % 3 === 0) {
        (await key.delete(`${made.documents}/${id}`)).expect(204);
        continue;
      }
      others.push(id);
      if (written % 5 === 1)
        (await key.patch(`${made.documents}/${id}`, { permissions: ['read("label:y")'] })).expect(200);
    }
    return written;
  };
  const writing = write();
  await expectLists();
  const layouts = async () =>
    (await runSql(target, 'select distinct layout from collections')).map(({ layout }) => Number(layout));
  const { jobs } = target.appliance.features;
  // The server may have begun it at its start, where a slot was missed.
  const upgraded = (async () => {
    while (JSON.stringify(await layouts()) !== '[2]') assert.notEqual(await jobs.run('collections.upgrade'), 'failed');
  })();
  for (let round = 0; round < 5; round++) await expectLists();
  await upgraded;
  await expectLists();
  ended = true;
  await writing;

  await expectLists();
  assert.equal((await key.get(query({ method: 'limit', values: [1] }))).body.total, documents + others.length);
  const { collection } = await aBackend(target);
  await collection({ documentSecurity: true });
  assert.deepEqual(await partsOf(target, 2), await partsOf(target, 3));
  assert.ok((await partsOf(target, 3)).length >= 6);
  const readers = await runSql(
    target,
    'select count(*) as n from r_1 join d_1 on d_1.seq = r_1.seq where r_1.created_at = d_1.created_at',
  );
  const all = await runSql(target, 'select count(*) as n from r_1');
  assert.deepEqual(readers, all);
  assert.equal((await reader.get(empty.documents)).expect(200).body.total, 0);
});

test('a collection is upgraded once, wherever the job was interrupted', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-test-layout-'));
  after(() => rmSync(directory, { recursive: true, force: true }));
  const databaseUrl = await freshDatabase(directory);
  const { made, session, readable } = await oldDatabase(databaseUrl);
  const target = await startAppliance({ databaseUrl });
  const sibling = await target.startSibling();
  // One process has begun and is gone; another goes on.
  const signal = AbortSignal.timeout(30);
  const { jobs } = target.appliance.features;
  await Promise.race([
    jobs.run('collections.upgrade'),
    new Promise((resolve) => signal.addEventListener('abort', resolve)),
  ]);
  await target.drain();
  await sibling.appliance.features.jobs.run('collections.upgrade');
  await sibling.appliance.features.jobs.run('collections.upgrade');
  const reader = createClient(sibling, { session });
  const answer = (await reader.get(`${made.documents}?total=exact`)).expect(200);
  assert.equal(answer.body.total, readable.length);
});
