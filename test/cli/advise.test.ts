// From a slow query to the command that makes it fast, beside a server that runs.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fill } from '../documents/filled.js';
import { queryString } from '../documents/setup.js';
import { type Installation, install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';

type Json = Record<string, unknown>;
const scope = ['--project', 'shop', '--database', 'blog'];
const count = 300_000;
let place: Installation;
let server: Server;
let headers: Record<string, string>;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const made = ['apikey', 'create', '--project', 'shop', '--name', 'test', '--scopes', 'all'];
  const { secret } = await place.json<{ secret: string }>(made);
  headers = { 'X-Service-Project': 'shop', 'X-Service-Key': secret, 'Content-Type': 'application/json' };
  await place.json(['database', 'create', 'Blog', '--project', 'shop', '--id', 'blog']);
  await place.json(['collection', 'create', 'Posts', ...scope, '--id', 'posts']);
  const add = (key: string, ...type: string[]) =>
    place.json(['collection', 'add-attribute', 'posts', key, ...scope, '--type', ...type]);
  await add('author', 'string', '--size', '40');
  await add('rank', 'integer');
  server = await place.serve();
  const answer = await fetch(`${server.url}/databases/blog/collections/posts/documents`, {
    ...{ method: 'POST', headers },
    body: JSON.stringify({ documentId: 'model', data: { author: 'model' } }),
  });
  assert.equal(answer.status, 201);
  const dialect = process.env.SVC_TEST_DATABASE === 'postgres' ? 'postgres' : 'sqlite';
  await fill((text) => place.sql(text), dialect, 'posts', count, { a_1: "'author' || (i % 5000)", a_2: 'i' });
});
after(() => place.dispose());

/** The shortest of some lists of one author, by rank, in milliseconds. */
async function listMs(rounds: number): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const queries = [
      { method: 'equal', attribute: 'author', values: [`author${round}`] },
      { method: 'orderDesc', attribute: 'rank' },
    ];
    const started = performance.now();
    const answer = await fetch(
      `${server.url}/databases/blog/collections/posts/documents${queryString(queries, { total: 'exact' })}`,
      { headers },
    );
    const { total, documents } = (await answer.json()) as { total: number; documents: unknown[] };
    times.push(performance.now() - started);
    assert.deepEqual([total, documents.length], [count / 5000, 25]);
  }
  return Math.min(...times);
}

test('advise names the index that a slow query lacks, and its command makes the query fast', async () => {
  const sentence = 'No slow query lacks an index, as far as the servers have noticed.\n';
  assert.equal((await place.svc(['collection', 'advise'])).out, sentence);
  const slow = await listMs(5);
  let scans: Json[] = [];
  for (const end = performance.now() + 30_000; scans.length === 0 && performance.now() < end; await sleep(1000))
    ({ scans } = await place.json<{ scans: Json[] }>(['collection', 'advise', 'posts', ...scope]));
  const [scan] = scans;
  assert.equal(scan?.list, 'author = … order by rank desc', `a list took ${slow} ms`);
  const { out } = await place.svc(['collection', 'advise', '--project', 'shop']);
  assert.match(out, /^COLLECTION +QUERY +COUNT +AVERAGE +LONGEST +LAST +ADVICE\n/);
  const [, command = ''] = /^shop\/blog\/posts .* ms +\S+Z +(svc collection add-index .*)$/m.exec(out) ?? [];
  assert.equal(command, scan?.command);

  const { code, err } = await place.shell(command);
  assert.equal(code, 0, err);
  // Short ones are delayed more by whatever else the machine does.
  const fast = await listMs(30);
  assert.ok(fast * 5 < slow, `${slow} ms, then ${fast} ms`);
  assert.equal((await place.svc(['collection', 'advise', ...scope])).out, sentence);
});

test('show prints how many documents a collection has, and the bytes of its tables and indexes', async () => {
  const show = () => place.json<{ rows: number; bytes: number }>(['collection', 'show', 'posts', ...scope]);
  const one = await show();
  assert.equal(one.rows, count + 1);
  assert.ok(one.bytes > count * 100 && one.bytes < count * 2000, `${one.bytes} bytes`);
  await place.json(['collection', 'add-index', 'posts', 'more', ...scope, '--attributes', 'author']);
  const more = (await show()).bytes - one.bytes;
  assert.ok(more > count * 5 && more < count * 100, `an index of ${more} bytes`);
});

test('the arguments must name existing things', async () => {
  const table: [number, string, string[]][] = [
    [2, 'usage_invalid', ['--database', 'blog']],
    [2, 'usage_invalid', ['posts', '--project', 'shop']],
    [3, 'project_not_found', ['--project', 'none']],
    [3, 'database_not_found', ['--project', 'shop', '--database', 'none']],
    [3, 'collection_not_found', ['none', ...scope]],
  ];
  for (const [code, type, args] of table) {
    const run = await place.svc(['collection', 'advise', ...args, '--json']);
    assert.deepEqual([run.code, JSON.parse(run.err).error.type, run.out], [code, type, ''], args.join(' '));
  }
});
