// A fulltext index over many documents: it is built beside those who write and wherever the server is killed, and a search is a look into it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { install, type Server } from '../harness/cli.js';
import { runSql } from '../harness/database.js';
import { after } from '../harness/runner.js';
import { fill } from './filled.js';
import { aBackend, queryString } from './setup.js';

/** Some times as many as are indexed before the request is answered. */
const many = databaseUnderTest === 'sqlite' ? 300_000 : 100_000;
const values = (table: { text: string }) => ({ [table.text]: "'Common, W' || (i % 1000) || ' rare' || i" });
const fulltext = { key: 'words', type: 'fulltext', attributes: ['text'] };
const query = (method: string, words: string) =>
  queryString([
    { method, attribute: 'text', values: [words] },
    { method: 'limit', values: [200] },
  ]);

test('an index over many documents is built while documents are written, and a search is a look into it', async (t) => {
  const target = await startAppliance();
  const { key, collection: aCollection } = await aBackend(target);
  const { documents, indexes } = await aCollection({ attributes: { text: { type: 'string', size: 500 } } });
  (await key.post(documents, { documentId: 'first', data: { text: 'model' } })).expect(201);
  const id = documents.split('/')[4] ?? '';
  await fill((text) => runSql(target, text), databaseUnderTest, id, many, values({ text: 'a_1' }));

  const made = (await key.post(indexes, fulltext)).expect(202).body;
  assert.equal(made.status, 'processing');
  (await key.get(documents + query('search', 'rare1'))).refused(400, 'general_query_invalid');
  let built = false;
  let longestMs = 0;
  const writing = (async () => {
    let at = 0;
    for (; !built || at < 30; at++) {
      const started = performance.now();
      (await key.post(documents, { documentId: `new${at}`, data: { text: `written ${at}` } })).expect(201);
      // One that the build has passed, one that it has yet to come to, and one that goes.
      for (const n of [at + 1, many - at])
        (await key.patch(`${documents}/i${n}`, { data: { text: `changed x${n}` } })).expect(200);
      (await key.delete(`${documents}/i${many / 2 + at}`)).expect(204);
      longestMs = Math.max(longestMs, performance.now() - started);
    }
    return at;
  })();
  assert.equal((await target.appliance.features.jobs.run('indexes.build'))?.outcome, 'ok');
  built = true;
  const written = await writing;
  assert.equal((await key.get(`${indexes}/words`)).expect(200).body.status, 'available');
  t.diagnostic(`${written} rounds of four writes meanwhile, the longest ${Math.round(longestMs)} ms`);
  assert.ok(longestMs < 3000, `${longestMs} ms`);
  const totalOf = async (method: string, words: string) =>
    Number((await key.get(`${documents}${query(method, words)}&total=exact`)).expect(200).body.total);
  assert.equal(await totalOf('search', 'written'), written);
  assert.equal(await totalOf('search', 'changed'), 2 * written);
  assert.equal(await totalOf('search', 'common'), many - 3 * written);
  assert.equal(await totalOf('notSearch', 'COMMON'), 3 * written + 1);
  assert.equal(await totalOf('search', `rare${many / 2}`), 0);
  assert.equal(await totalOf('search', `rare${many / 2 - 1} common`), 1);

  const msOf = async (method: string, words: string) => {
    const times: number[] = [];
    for (let round = 0; round < 5; round++) {
      const started = performance.now();
      (await key.get(`${documents}${query(method, words)}`)).expect(200);
      times.push(performance.now() - started);
    }
    return times.sort((a, b) => a - b)[2] ?? 0;
  };
  const [found, scanned] = [await msOf('search', 'rare777 common'), await msOf('contains', 'rare777 ')];
  t.diagnostic(`a word of ${many} documents: ${found.toFixed(1)} ms; by looking at each: ${scanned.toFixed(1)} ms`);
  assert.ok(found * 3 < scanned, `${found} ms, ${scanned} ms`);
});

test('a build resumes after the server was killed', async () => {
  const place = await install({ init: false });
  after(() => place.dispose());
  const { project, apiKey } = await place.json<{ project: { $id: string }; apiKey: { secret: string } }>([
    ...['init', '--yes', '--project', 'Builds'],
  ]);
  const ask = async ({ url }: Server, method: string, path: string, body?: object) => {
    const headers = {
      'X-Service-Project': project.$id,
      'X-Service-Key': apiKey.secret,
      'Content-Type': 'application/json',
    };
    const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return (await response.json()) as { readonly status?: string; readonly total?: number };
  };
  const base = '/databases/db/collections';
  const documents = `${base}/posts/documents`;
  let server = await place.serve([], { SVC_RATE_LIMIT: 'off' });
  await ask(server, 'POST', '/databases', { databaseId: 'db', name: 'Db' });
  await ask(server, 'POST', base, { collectionId: 'posts', name: 'Posts' });
  await ask(server, 'POST', `${base}/posts/attributes/string`, { key: 'text', size: 500, required: false });
  await ask(server, 'POST', documents, { documentId: 'first', data: { text: 'model' } });
  await fill((text) => place.sql(text), databaseUnderTest, 'posts', many, values({ text: 'a_1' }));
  // In vain where nothing is built.
  const giveUpAt = performance.now() + 60_000;
  const lost = ask(server, 'POST', `${base}/posts/indexes`, fulltext).catch(() => undefined);
  const reached = async () => {
    const [row] = await place.sql("select indexes from collections where id = 'posts'");
    const [index] = JSON.parse(String(row?.indexes));
    return index === undefined ? -1 : (index.builtTo ?? Number.POSITIVE_INFINITY);
  };
  while ((await reached()) < 1000 && performance.now() < giveUpAt) await sleep(5);
  server.signal('SIGKILL');
  await server.ended;
  await lost;
  const before = await reached();
  assert.ok(before < many, String(before));
  server = await place.serve([], { SVC_RATE_LIMIT: 'off' });
  const until = performance.now() + 300_000;
  let status: string | undefined;
  while (status !== 'available' && performance.now() < until) {
    await sleep(200);
    ({ status } = await ask(server, 'GET', `${base}/posts/indexes/words`));
  }
  assert.equal(status, 'available');
  const totals = ['common', 'rare1', `rare${many}`, 'w999', 'model'].map(
    async (word) => (await ask(server, 'GET', `${documents}${query('search', word)}&total=exact`)).total,
  );
  assert.deepEqual(await Promise.all(totals), [many, 1, 1, many / 1000, 1]);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
});
