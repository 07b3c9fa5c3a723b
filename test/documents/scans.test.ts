// Slow lists that no index serves: what servers keep of them, and what they tell.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { day, hour } from '../harness/clock.js';
import { rowsOf, runSql } from '../harness/database.js';
import { fill } from './filled.js';
import { graphqlAnswer } from './graphql.js';
import { aBackend, queryString, type TestCollection } from './setup.js';
import { listBody, longText, slowQueries } from './slow-list.js';

const target = await startAppliance({ settings: { SVC_QUERY_SECONDS: '60' } });
const { key, collection: aCollection } = await aBackend(target);
const posts = await aCollection({
  permissions: ['read("any")'],
  attributes: { author: { type: 'string', size: 40 }, state: { type: 'string', size: 40 }, views: { type: 'integer' } },
});
(await key.post(posts.documents, { documentId: 'model', data: {} })).expect(201);
await fill((text) => runSql(target, text), target.appliance.runtime.sql.dialect, posts.id, 400_000, {
  [attributeColumn(1)]: "'author' || (i % 1000)",
  [attributeColumn(2)]: "'state' || (i % 3)",
  [attributeColumn(3)]: 'i',
});
const sibling = await target.startSibling();

const equal = (attribute: string, ...values: unknown[]) => ({ method: 'equal', attribute, values });
const isNot = (attribute: string, value: unknown) => ({ method: 'notEqual', attribute, values: [value] });
const byViews = { method: 'orderDesc', attribute: 'views' };
const list = (queries: readonly unknown[], of: TestCollection = posts) =>
  key.get(of.documents + queryString(queries, { total: 'exact' }));
const advise = (selection = {}) => target.appliance.features.scans.advise(target.appliance.runtime.db, selection);
async function runJob({ appliance }: TestAppliance, name: string): Promise<void> {
  assert.equal((await appliance.features.jobs.run(name))?.outcome, 'ok');
}
const linesOf = (log: string) =>
  log
    .split('\n')
    .filter((line) => line.includes('"list.scanned"'))
    .map((line) => JSON.parse(line));

test('a slow list is kept without its values, by all processes together, and logged and measured', async () => {
  const markers = ['marker-one', 'marker-two', 'marker-three'];
  for (const marker of markers) (await list([byViews, equal('state', 'state1'), equal('author', marker)])).expect(200);
  const path =
    posts.documents +
    queryString([equal('author', markers[0]), equal('state', 'marker-four'), byViews], { total: 'exact' });
  (await createClient(sibling).get(path)).expect(200);
  assert.deepEqual(await advise(), []);
  for (const one of [target, sibling, target]) await runJob(one, 'scans.save');

  const [scan, ...others] = await advise({ projectId: target.project.id });
  assert.deepEqual(others, []);
  const { averageMs, longestMs, lastAt, ...rest } = scan ?? assert.fail('nothing is kept');
  const at = { projectId: target.project.id, databaseId: posts.databaseId, collectionId: posts.id };
  const command = `svc collection add-index ${posts.id} by-author-state-views --project ${at.projectId} --database ${at.databaseId} --attributes author,state,views:desc`;
  assert.deepEqual(rest, {
    ...{ ...at, list: 'author = … and state = … order by views desc', count: 4, command, note: '' },
    index: [
      { key: 'author', descending: false },
      { key: 'state', descending: false },
      { key: 'views', descending: true },
    ],
  });
  assert.ok(averageMs >= 50 && longestMs >= averageMs && lastAt.endsWith('Z'), `${averageMs} ${longestMs} ${lastAt}`);

  const logged = linesOf(target.log());
  assert.equal(logged.length, 1);
  assert.deepEqual([logged[0].level, logged[0].list, logged[0].advice], ['warn', rest.list, command]);
  const metrics = await (await fetch(`${target.origin}/metrics`)).text();
  assert.match(metrics, /^svc_list_scans_total 3$/m);
  assert.match(metrics, /^svc_list_scan_duration_seconds_count 3$/m);
  const rows = JSON.stringify(await rowsOf(target, 'list_scans'));
  for (const text of [rows, target.log(), sibling.log(), metrics]) assert.doesNotMatch(text, /marker/);
});

test('a shape is logged again after an hour', async () => {
  const before = linesOf(target.log()).length;
  const one = [equal('author', 'author1'), isNot('state', 'x'), byViews];
  await list(one);
  await list(one);
  assert.equal(linesOf(target.log()).length, before + 1);
  target.clock.advance(hour);
  await list(one);
  assert.equal(linesOf(target.log()).length, before + 2);
});

test('lists that an index serves and lists that are fast are not kept', async () => {
  const small = await aCollection({ attributes: { author: { type: 'string', size: 40 } } });
  await runJob(target, 'scans.save');
  const before = (await rowsOf(target, 'list_scans')).length;
  (
    await list([
      { method: 'orderDesc', attribute: '$sequence' },
      { method: 'offset', values: [290_000] },
    ])
  ).expect(200);
  (await list([equal('$id', 'i1', 'i2'), byViews])).expect(200);
  (await list([equal('author', 'x')], small)).expect(200);
  await runJob(target, 'scans.save');
  assert.equal((await rowsOf(target, 'list_scans')).length, before);
});

test('advice follows the schema: keys that change, attributes and collections that go', async () => {
  (await list([equal('author', 'author7'), byViews])).expect(200);
  await runJob(target, 'scans.save');
  const find = async (text: string) => (await advise()).find((scan) => scan.list === text);
  assert.ok(await find('author = … order by views desc'));
  const body = { required: false, default: null, size: 40, newKey: 'writer' };
  (await key.patch(`${posts.attributes}/string/author`, body)).expect(200);
  assert.match((await find('writer = … order by views desc'))?.command ?? '', /--attributes writer,views:desc$/);
  (
    await key.post(posts.indexes, {
      key: 'writers',
      type: 'key',
      attributes: ['writer', 'views'],
      orders: ['ASC', 'DESC'],
    })
  ).expect(202);
  assert.equal(await find('writer = … order by views desc'), undefined);
  (await key.delete(`${posts.indexes}/writers`)).expect(204);
  assert.ok(await find('writer = … order by views desc'));
  (await key.delete(`${posts.attributes}/writer`)).expect(204);
  assert.deepEqual(
    (await advise()).filter((scan) => /writer|author/.test(scan.list)),
    [],
  );
});

test('shapes unused for 30 days are removed, and so are those of deleted collections', async () => {
  (await list([byViews, equal('state', 'state1')])).expect(200);
  await runJob(target, 'scans.save');
  assert.notDeepEqual(await advise(), []);
  target.clock.advance(29 * day);
  (await list([isNot('state', 'state1'), byViews])).expect(200);
  await runJob(target, 'scans.save');
  target.clock.advance(2 * day);
  await runJob(target, 'scans.prune');
  assert.deepEqual(
    (await advise()).map((scan) => scan.list),
    ['state != … order by views desc'],
  );
  (await key.delete(posts.path)).expect(204);
  assert.deepEqual(await advise(), []);
  await runJob(target, 'scans.prune');
  assert.deepEqual(await rowsOf(target, 'list_scans'), []);
});

test('a list that takes too long names the index that would serve it, and nothing that was not asked', async () => {
  const hasty = await startAppliance({ settings: { SVC_BODY_MAX_BYTES: '4194304', SVC_QUERY_SECONDS: '1' } });
  const backend = await aBackend(hasty);
  const { documents, indexes, databaseId, id } = await backend.collection({
    permissions: ['read("any")'],
    attributes: {
      text: { type: 'string', size: 500_000 },
      author: { type: 'string', size: 40 },
      rank: { type: 'integer' },
    },
  });
  for (let at = 0; at < 12; at++)
    (
      await backend.key.post(documents, { documentId: `d${at}`, data: { text: longText, author: 'ada', rank: at } })
    ).expect(201);
  const guest = createClient(hasty);
  const queries = [equal('author', 'ada'), ...slowQueries(490), { method: 'orderDesc', attribute: 'rank' }];
  const message =
    'The query took too long and was cancelled. No index serves the list; an index over author, rank would.';
  const rest = await guest.get(documents + queryString(queries));
  rest.refused(503, 'general_query_timeout');
  assert.equal(rest.body.message, message);
  const { errors } = graphqlAnswer(await guest.post('/graphql', listBody(databaseId, id, queries)));
  assert.deepEqual(
    errors.map((error) => [error.message, error.code]),
    [[message, 503]],
  );
  const after = await guest.get(documents + queryString([...queries, { method: 'cursorAfter', values: ['d1'] }]));
  assert.equal(after.body.message, message);
  assert.match(hasty.log(), /"request.unavailable"/);
  assert.equal(linesOf(hasty.log()).length, 1);

  (
    await backend.key.post(indexes, { key: 'by', type: 'key', attributes: ['author', 'rank'], orders: ['ASC', 'DESC'] })
  ).expect(202);
  for (const some of [queries, slowQueries(490)])
    assert.equal(
      (await guest.get(documents + queryString(some))).body.message,
      'The query took too long and was cancelled.',
    );
});
