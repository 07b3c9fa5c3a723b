// What a document of usual size takes on disk besides its JSON, with its audit row and its event in the feed, and without the event once that is
// pruned. Postgres keeps the version of an event from before it got its number until the next vacuum: what the second half adds is counted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { numbered } from '../feed/sse.js';
import { aLoggedInUser } from '../harness/actors.js';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { runSql } from '../harness/database.js';
import { aBackend } from './setup.js';

const documents = 3_000;
/** Bytes on disk for each byte of JSON: what was measured, 3.9 and 2.4 on SQLite, 4.5 and 2.9 on Postgres, and a tenth. */
const most = { sqlite: { all: 4.3, pruned: 2.7 }, postgres: { all: 5, pruned: 3.2 } }[databaseUnderTest];

const target = await startAppliance();

async function bytesOf(pattern: string): Promise<number> {
  const [row] =
    databaseUnderTest === 'sqlite'
      ? await runSql(
          target,
          "select sum(pgsize) as bytes from sqlite_master cross join dbstat on dbstat.name = sqlite_master.name where aggregate = 1 and tbl_name in ('d_1', 'r_1', 'audit_entries', 'audit_subjects', 'events') and tbl_name like ?",
          [pattern],
        )
      : await runSql(
          target,
          "select sum(pg_total_relation_size(oid)) as bytes from pg_class where relname in ('d_1', 'r_1', 'audit_entries', 'audit_subjects', 'events') and relname like ?",
          [pattern],
        );
  return Number(row?.bytes);
}

test('a document takes a few times its JSON on disk', async () => {
  const { collection } = await aBackend(target);
  const text = { type: 'string', size: 300 };
  const made = await collection({
    documentSecurity: true,
    permissions: ['create("users")'],
    attributes: { title: text, author: text, views: { type: 'integer' } },
  });
  const { client } = await aLoggedInUser(target);
  let json = 0;
  const create = async (): Promise<void> => {
    for (let at = 0; at < documents; at += 50) {
      const data = {
        title: `What article number ${at} has to say about its subject`,
        author: `author${at}`,
        views: at,
      };
      const some = Array.from({ length: 50 }, () => client.post(made.documents, { documentId: 'unique()', data }));
      for (const answer of await Promise.all(some)) json = JSON.stringify(answer.expect(201).body).length;
    }
    await target.appliance.features.jobs.run('webhooks.deliver');
    // Whoever gives the numbers, all have to be given before the vacuum.
    await numbered(target);
    if (databaseUnderTest === 'postgres') await runSql(target, 'vacuum');
  };
  const grown = async () => ({ all: await bytesOf('%'), events: await bytesOf('events') });
  await create();
  let [all, pruned] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // A vacuum leaves what a transaction beside it may still see, and then there is less room for the next documents.
  for (let round = 0; round < 3 && !(all <= most.all && pruned <= most.pruned); round++) {
    const before = await grown();
    await create();
    const after = await grown();
    all = (after.all - before.all) / documents / json;
    pruned = all - (after.events - before.events) / documents / json;
  }
  assert.ok(json > 380 && json < 480, `${json}`);
  assert.ok(all > 1.5 && all <= most.all, `${all} times ${json} bytes with the event`);
  assert.ok(pruned > 1 && pruned <= most.pruned, `${pruned} times ${json} bytes without the event`);
});
