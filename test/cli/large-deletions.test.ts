// Deletions in steps: killed at any moment, they leave nothing visible, and the same command or the job finishes them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fill } from '../documents/filled.js';
import { createRandom } from '../documents/random.js';
import { databaseUnderTest } from '../harness/appliance.js';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const isLarge = process.env.SVC_TEST_LARGE === '1';
const [users, documents, files] = isLarge ? [300_000, 500_000, 100_000] : [3000, 2500, 2000];
const at = '2026-01-01T00:00:00.000+00:00';
const random = createRandom(Number(process.env.SVC_TEST_SEED ?? Date.now()));

let place: Installation;
before(async () => {
  place = await install();
  await project('other');
});
after(() => place.dispose());

const numbers = (count: number): string =>
  databaseUnderTest === 'sqlite'
    ? `(with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n) as n`
    : `generate_series(1, ${count}) as n (i)`;
const count = async (from: string): Promise<number> =>
  Number((await place.sql(`select count(*) as count from ${from}`))[0]?.count);
/** Copies the one row of a table, with other values in some columns. */
async function copy(table: string, where: string, times: number, values: Readonly<Record<string, string>>) {
  const [row] = await place.sql(`select * from ${table} where ${where}`);
  const names = Object.keys(row ?? {});
  const list = names.map((name) => values[name] ?? `model.${name}`).join(', ');
  await place.sql(
    `insert into ${table} (${names.join(', ')}) select ${list} from ${table} as model cross join ${numbers(times)} where model.${where}`,
  );
}

/** A project with a user, a collection with a fulltext index and a document, and a bucket with a file. */
async function project(id: string): Promise<void> {
  const [inProject, inDatabase] = [
    ['--project', id],
    ['--project', id, '--database', 'db'],
  ];
  const made: readonly (readonly [readonly string[], string?])[] = [
    [['project', 'create', 'Shop', '--id', id]],
    [
      ['user', 'create', '--id', 'model', '--email', 'a@example.com', '--password-stdin', ...inProject],
      'tall-green-bicycle',
    ],
    [['database', 'create', 'Db', '--id', 'db', ...inProject]],
    [['collection', 'create', 'Posts', '--id', `${id}-posts`, '--permission', 'read("any")', ...inDatabase]],
    [['collection', 'add-attribute', `${id}-posts`, 'title', '--type', 'string', '--size', '100', ...inDatabase]],
    [['collection', 'add-index', `${id}-posts`, 'words', '--type', 'fulltext', '--attributes', 'title', ...inDatabase]],
    [['bucket', 'create', 'Files', '--id', 'files', ...inProject]],
  ];
  for (const [args, input] of made) await place.json(args, input);
  await place.json(
    ['document', 'import', '-', '--project', id, '--database', 'db', '--collection', `${id}-posts`],
    '{"$id":"model","title":"model","$permissions":["read(\\"user:model\\")"]}\n',
  );
  await place.sql(
    `insert into files (bucket_key, id, project_id, name, permissions, creator, mime_type, signature, digest, size_original, size_actual,
       chunks_total, chunks_uploaded, compression, encryption, created_at, updated_at, completed_at)
     select key, 'model', project_id, 'f', '[]', '', 'text/plain', '', '', 1, 1, 1, 1, 'none', ${databaseUnderTest === 'sqlite' ? '0' : 'encryption'}, '${at}', '${at}', '${at}'
       from buckets where project_id = '${id}'`,
  );
}

/** Fills a project with thousands of rows. Returns the number of its collection. */
async function filled(id: string): Promise<number> {
  await project(id);
  const where = `project_id = '${id}'`;
  await copy('users', where, users, { id: "'u' || i", email: "'u' || i || '@example.com'" });
  await copy('files', where, files, { id: "'f' || i" });
  await place.sql(
    `insert into file_objects (key, project_id, bucket_key, file_id, number, size, stored_size, state, changed_at)
       select project_id || id, project_id, bucket_key, id, 0, 1, 1, 'stored', '${at}' from files where ${where}`,
  );
  await fill((text) => place.sql(text), databaseUnderTest, `${id}-posts`, documents, { a_1: "'title ' || i" });
  const [row] = await place.sql(`select number from collections where id = '${id}-posts'`);
  return Number(row?.number);
}

/** Runs a command in a process of its own and kills it some time after a state is reached. False if it had ended. */
async function killed(args: readonly string[], isReached: () => Promise<boolean>, longestMs: number): Promise<boolean> {
  const child = spawn(process.execPath, [join(place.dir, 'bin/svc'), ...args], {
    cwd: place.dir,
    env: place.env,
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  while (child.exitCode === null && !(await isReached())) await sleep(5);
  await sleep(random.below(longestMs));
  child.kill('SIGKILL');
  await ended;
  return child.signalCode === 'SIGKILL';
}

const tables = async (): Promise<string[]> =>
  (
    await place.sql(
      databaseUnderTest === 'sqlite'
        ? "select name from sqlite_schema where type = 'table'"
        : 'select tablename as name from pg_tables where schemaname = current_schema()',
    )
  ).map(({ name }) => String(name));
const withProjectColumn = async (): Promise<string[]> =>
  (
    await place.sql(
      databaseUnderTest === 'sqlite'
        ? "select s.name from sqlite_schema s join pragma_table_info(s.name) i where s.type = 'table' and i.name = 'project_id'"
        : "select table_name as name from information_schema.columns where table_schema = current_schema() and column_name = 'project_id'",
    )
  ).map(({ name }) => String(name));

/** Compares what is left of a project with what may be: its audit entries, and the objects whose bytes a job removes. */
async function assertGone(id: string, number: number): Promise<void> {
  for (const table of await withProjectColumn()) {
    if (table === 'audit_entries') continue;
    const kept = table === 'file_objects' ? " and state = 'stored'" : '';
    assert.equal(await count(`${table} where project_id = '${id}'${kept}`), 0, table);
  }
  const ofCollection = new RegExp(`^(removed_)?[drw]_${number}(_|$)`);
  assert.deepEqual(
    (await tables()).filter((name) => ofCollection.test(name)),
    [],
  );
  assert.equal(await count(`file_objects where project_id = '${id}' and state = 'removed'`), files + 1);
  assert.equal(await count(`audit_entries where project_id = '${id}' and action = 'projectDeleted'`), 1);
  assert.equal(await count(`collection_counts where number = ${number}`), 0);
}

test('a project whose deletion is killed answers 404 and keeps its id, and the same command finishes', async () => {
  const number = await filled('big');
  const remove = ['project', 'delete', 'big', '--confirm', 'big'];
  const hasBegun = async () => (await count(`project_removals where project_id = 'big'`)) > 0;
  let kills = 0;
  for (let round = 0; round < 3; round++) if (await killed(remove, hasBegun, 60)) kills += 1;
  assert.ok(kills > 0);
  if (await hasBegun()) {
    assert.equal((await place.svc(['project', 'show', 'big'])).code, 3);
    assert.equal((await place.svc(['project', 'create', 'Big', '--id', 'big'])).code, 5);
    assert.ok(!(await place.svc(['project', 'list'])).out.includes('big'));
    const { code, err } = await place.svc(remove);
    assert.equal(code, 0, err);
  }
  await assertGone('big', number);
  assert.equal((await place.svc(remove)).code, 3);
  assert.equal(await count(`users where project_id = 'other'`), 1);
});

test('the job finishes a deletion that was killed', async () => {
  const number = await filled('left');
  const hasBegun = async () => (await count(`project_removals where project_id = 'left'`)) > 0;
  await killed(['project', 'delete', 'left', '--confirm', 'left'], hasBegun, 30);
  await place.sql(`update project_removals set worked_at = '${at}'`);
  await place.json(['cron', 'run', 'projects.remove']);
  await assertGone('left', number);
});

test('a large collection is gone at once, its rows step by step, and a backup in between has none of them', async () => {
  const number = await filled('shelf');
  const inDatabase = ['--project', 'shelf', '--database', 'db'];
  const remove = ['collection', 'delete', 'shelf-posts', '--confirm', 'shelf-posts', ...inDatabase];
  const isGone = async () => (await count(`collections where id = 'shelf-posts'`)) === 0;
  await killed(remove, isGone, 30);
  assert.equal((await place.svc(['collection', 'show', 'shelf-posts', ...inDatabase])).code, 3);
  const [entry] = await place.sql(
    `select data from audit_entries where action = 'collectionDeleted' and resource like '%shelf-posts'`,
  );
  assert.match(String(entry?.data), new RegExp(`"documents":${documents + 1}\\b`));
  await place.json(['collection', 'create', 'Posts', '--id', 'shelf-posts', ...inDatabase]);
  // The files of this test have no bytes.
  await place.sql("delete from file_objects where project_id = 'shelf'");
  await place.json(['backup', 'create', 'between.tar']);
  assert.equal((await place.svc(['backup', 'verify', 'between.tar'])).code, 0);
  await place.json(['cron', 'run', 'collections.remove']);
  assert.deepEqual(
    (await tables()).filter((name) => name.startsWith('removed_') || name === `d_${number}`),
    [],
  );
});
