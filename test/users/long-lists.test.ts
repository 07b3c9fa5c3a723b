// Lists of more users than a total counts: searches use their index, and what no index serves is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Query } from 'node-appwrite';
import { aServerKey } from '../harness/actors.js';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { runSql } from '../harness/database.js';

const limit = 3;
const target = await startAppliance({ settings: { SVC_TOTAL_LIMIT: String(limit), SVC_RATE_LIMIT: 'off' } });
const { client: key } = await aServerKey(target);
const { client: neighbour } = await aServerKey(target, { projectId: target.neighbour.id });

const people: [id: string, name: string, more?: Record<string, unknown>][] = [
  ['ada', 'Ada Müller', { email: 'ada_1@mail.example', phone: '+14155550001' }],
  ['Bob', 'bob 100%', { email: 'bob@mail.example' }],
  ['carl', 'Carl ÄRGER', { email: 'carl@other.example', phone: '+14155550003' }],
  ['dora', 'Dora [x]*?\\^$."quoted"', {}],
  ['emil', 'émile ada', { email: 'emil@mail.example' }],
  ['fritz', 'Οδυσσέας 王小明', { email: 'fritz@mail.example' }],
  ['greta', 'ſtraße KELVIN', {}],
];
for (const [userId, name, more] of people) {
  (await key.post('/users', { userId, name, ...more })).expect(201);
  target.clock.advance(1000);
}
(await neighbour.post('/users', { userId: 'ada', name: 'Ada of the neighbour' })).expect(201);

const list = (queries: readonly string[], more: Readonly<Record<string, string>> = {}) => {
  const parameters = new URLSearchParams(more);
  for (const [index, query] of queries.entries()) parameters.append(`queries[${index}]`, query);
  return key.get(`/users?${parameters}`);
};
const found = async (search: string, queries: readonly string[] = []) => {
  const answer = (await list(queries, { search })).expect(200);
  return { ids: answer.list('users').map(({ $id }) => $id), total: answer.body.total };
};

const searches: [search: string, found: string[]][] = [
  ['ada', ['ada', 'emil']],
  ['ADA', ['ada', 'emil']],
  ['müller', ['ada']],
  ['MÜLLER ada', ['ada']],
  ['ärger', ['carl']],
  ['ÉMILE', ['emil']],
  ['_1@', ['ada']],
  ['[x]', ['dora']],
  ['\\^$.', ['dora']],
  ['."quo', ['dora']],
  ["' or '1'='1", []],
  ['+14155550003', ['carl']],
  ['OTHER.example', ['carl']],
  ['fritz nobody', []],
  ['"Ada Müller"', ['ada']],
  ['"da M" +1415', ['ada']],
  ['"Müller Ada"', []],
  ['ada 1', ['ada']],
  ['ΟΔΥΣΣΈΑ', ['fritz']],
  ['王小明', ['fritz']],
  ['ſTRAßE', ['greta']],
  ['\u212aelvin', ['greta']],
  ['mail.example', ['ada', 'Bob', 'emil', 'fritz']],
  ['ada_1@mail.exam', ['ada']],
];
for (const [search, ids] of searches) {
  test(`searching ${JSON.stringify(search)} finds ${ids.join(', ') || 'no user'}`, async () => {
    assert.deepEqual(await found(search), { ids, total: Math.min(ids.length, limit) });
  });
}

test('a search without a word of three characters is refused with the reason', async () => {
  for (const search of ['a', '王小', 'x] *?']) {
    const { body } = (await list([], { search })).refused(400, 'general_argument_invalid');
    assert.match(String(body.message), /at least 3 characters, because the list has more than 3 entries/);
  }
  (await neighbour.get('/users?search=a')).expect(200);
  assert.equal((await found('  ')).ids.length, people.length);
});

test('a search goes with conditions, orders and pages', async () => {
  assert.deepEqual((await found('ada', [Query.orderDesc('name')])).ids, ['emil', 'ada']);
  assert.deepEqual((await found('ada', [Query.cursorAfter('ada')])).ids, ['emil']);
  assert.deepEqual((await found('ada', [Query.equal('phone', ['+14155550001'])])).ids, ['ada']);
  assert.deepEqual((await found('mail.example', [Query.limit(2), Query.offset(2)])).ids, ['emil', 'fritz']);
  assert.equal((await list([], { search: 'ada', total: 'false' })).expect(200).body.total, 0);
});

test('the index follows changes and deletions of users', async () => {
  (await key.post('/users', { userId: 'hanna', name: 'Hanna before' })).expect(201);
  assert.deepEqual((await found('HANNA bef')).ids, ['hanna']);
  (await key.patch('/users/hanna/name', { name: 'Johanna after' })).expect(200);
  assert.deepEqual([(await found('before')).ids, (await found('johanna')).ids], [[], ['hanna']]);
  (await key.patch('/users/hanna/email', { email: 'hanna@later.example' })).expect(200);
  assert.deepEqual((await found('@later')).ids, ['hanna']);
  (await key.delete('/users/hanna')).expect(204);
  assert.deepEqual((await found('johanna')).ids, []);
});

test('searches of long lists read the index', async () => {
  if (databaseUnderTest === 'sqlite') {
    assert.deepEqual((await found('emil')).ids, ['emil']);
    // The triggers would do the same for a deleted user.
    await runSql(
      target,
      `delete from users_search where rowid = (select seq from users_numbers where row_id = 'emil')`,
    );
    assert.deepEqual((await found('emil')).ids, []);
    return;
  }
  const [written] = await runSql(target, "select pg_get_functiondef('search_grams'::regproc) as text");
  assert.deepEqual((await found('emil')).ids, ['emil']);
  // Then no row has the grams, and a search that reads the texts of all rows would still find it.
  const header = 'create or replace function search_grams(scope text, variadic texts text[]) returns text[]';
  await runSql(target, `${header} language sql immutable strict parallel safe as $$ select cast('{}' as text[]) $$`);
  await runSql(target, 'reindex index users_search');
  assert.deepEqual((await found('emil')).ids, []);
  await runSql(target, String(written?.text));
  await runSql(target, 'reindex index users_search');
  assert.deepEqual((await found('emil')).ids, ['emil']);
});

test('many matches are read in the order of the list', async () => {
  for (let at = 0; at < 30; at++)
    (await key.post('/users', { userId: `z${at}`, name: `Common ${at % 10}` })).expect(201);
  const { ids, total } = await found('common', [Query.limit(4)]);
  assert.deepEqual([ids, total], [['z0', 'z1', 'z2', 'z3'], limit]);
  const byName = (await found('common', [Query.orderAsc('name'), Query.limit(4)])).ids;
  assert.deepEqual(byName, ['z0', 'z10', 'z20', 'z1']);
});

test('queries that no index serves are refused if the list is long, and so are far offsets', async () => {
  (await list([Query.orderAsc('accessedAt')])).expect(200);
  for (let at = 0; at < 30; at++) (await key.post('/users', { userId: `y${at}`, name: `Later ${at}` })).expect(201);
  const scans = [
    [Query.orderAsc('accessedAt')],
    [Query.contains('labels', ['x'])],
    [Query.equal('status', [false])],
    [Query.startsWith('name', 'A')],
    [Query.orderAsc('name'), Query.equal('mfa', [true])],
    [Query.greaterThan('name', 'A')],
  ];
  for (const queries of scans) {
    const { body } = (await list(queries)).refused(400, 'general_argument_invalid');
    assert.match(String(body.message), /no index serves this query, and the list has more than 60 entries/);
  }
  const served = [
    [],
    [Query.orderDesc('name')],
    [Query.orderAsc('name'), Query.greaterThan('name', 'A')],
    [Query.equal('email', ['ada_1@mail.example']), Query.equal('status', [true])],
    [Query.equal('$id', ['ada']), Query.orderAsc('accessedAt')],
    [Query.greaterThan('$createdAt', '2020-01-01')],
    [Query.orderDesc('registration'), Query.cursorAfter('ada')],
    [Query.offset(5000)],
  ];
  for (const queries of served) (await list(queries)).expect(200);
  const { body } = (await list([Query.offset(5001)])).refused(400, 'general_argument_invalid');
  assert.match(String(body.message), /offset takes at most 5000 here: go on with cursorAfter/);
});
