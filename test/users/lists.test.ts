// Lists of users: queries, cursors, search and totals, the same on both databases.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Query } from 'node-appwrite';
import type { ErrorType } from '#src/contract/errors.js';
import { aServerKey } from '../harness/actors.js';
import type { Answer } from '../harness/client.js';
import { managed } from './setup.js';

const { key, target } = await managed();
const people: [id: string, name: string, more?: Record<string, unknown>][] = [
  ['ada', 'Ada Müller', { email: 'ada_1@mail.example', phone: '+14155550001' }],
  ['Bob', 'bob 100%', { email: 'bob@mail.example' }],
  ['carl', 'Carl ÄRGER', { email: 'carl@other.example', phone: '+14155550003' }],
  ['dora', 'Dora [x]*?\\^$.', {}],
  ['emil', 'émile ada', { email: 'emil@mail.example' }],
  ['fritz', '', { email: 'fritz@mail.example' }],
];
for (const [userId, name, more] of people) {
  (await key.post('/users', { userId, name, ...more })).expect(201);
  target.clock.advance(1000);
}
(await key.put('/users/ada/labels', { labels: ['vip', 'beta'] })).expect(200);
(await key.put('/users/carl/labels', { labels: ['beta'] })).expect(200);
(await key.patch('/users/carl/status', { status: false })).expect(200);
(await key.patch('/users/ada/verification', { emailVerification: true })).expect(200);
const created = (await key.get('/users/carl')).string('$createdAt');

async function list(queries: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const parameters = new URLSearchParams(more);
  for (const [index, query] of queries.entries()) parameters.append(`queries[${index}]`, query);
  return key.get(`/users?${parameters}`);
}
const ids = (answer: Answer) => answer.list('users').map(({ $id }) => $id);

const everybody = ['ada', 'Bob', 'carl', 'dora', 'emil', 'fritz'];
const selections: [name: string, queries: string[], found: string[]][] = [
  ['nothing', [], everybody],
  ['a limit', [Query.limit(2)], ['ada', 'Bob']],
  ['limit and offset', [Query.limit(2), Query.offset(3)], ['dora', 'emil']],
  ['an order by name, by code point', [Query.orderAsc('name')], ['fritz', 'ada', 'carl', 'dora', 'Bob', 'emil']],
  ['an order by id', [Query.orderAsc('$id')], ['Bob', 'ada', 'carl', 'dora', 'emil', 'fritz']],
  ['the newest first', [Query.orderDesc('$createdAt')], everybody.toReversed()],
  ['nulls first ascending', [Query.orderAsc('phone')], ['Bob', 'dora', 'emil', 'fritz', 'ada', 'carl']],
  ['nulls last descending', [Query.orderDesc('phone')], ['carl', 'ada', 'Bob', 'dora', 'emil', 'fritz']],
  ['a cursor', [Query.cursorAfter('Bob'), Query.limit(2)], ['carl', 'dora']],
  ['a cursor in an order', [Query.orderAsc('name'), Query.cursorAfter('dora')], ['Bob', 'emil']],
  ['a cursor among nulls', [Query.orderAsc('phone'), Query.cursorAfter('emil')], ['fritz', 'ada', 'carl']],
  ['a cursor backwards', [Query.cursorBefore('dora'), Query.limit(2)], ['Bob', 'carl']],
  ['equal', [Query.equal('email', ['ada_1@mail.example'])], ['ada']],
  ['equal, an address in another case', [Query.equal('email', ['Ada_1@MAIL.example'])], ['ada']],
  ['equal, one of two', [Query.equal('$id', ['carl', 'ada'])], ['ada', 'carl']],
  ['notEqual', [Query.notEqual('name', 'bob 100%')], ['ada', 'carl', 'dora', 'emil', 'fritz']],
  ['a truth value', [Query.equal('status', [false])], ['carl']],
  ['another', [Query.equal('emailVerification', [true])], ['ada']],
  ['isNull', [Query.isNull('email')], ['dora']],
  ['isNotNull', [Query.isNotNull('phone')], ['ada', 'carl']],
  ['greater than a time', [Query.greaterThan('registration', created)], ['dora', 'emil', 'fritz']],
  ['between times', [Query.between('$createdAt', created, created)], ['carl']],
  [
    'lessThan on text, by code point',
    [Query.lessThan('name', 'a'), Query.greaterThan('name', '')],
    ['ada', 'carl', 'dora'],
  ],
  ['startsWith, in any case', [Query.startsWith('name', 'ada')], ['ada']],
  ['endsWith', [Query.endsWith('name', 'ADA')], ['emil']],
  ['contains, where % is a character', [Query.contains('name', ['%'])], ['Bob']],
  ['contains, where _ is a character', [Query.contains('email', ['_'])], ['ada']],
  ['contains one of two', [Query.contains('email', ['other', 'fritz'])], ['carl', 'fritz']],
  ['a label', [Query.contains('labels', ['beta'])], ['ada', 'carl']],
  ['search in a field', [Query.search('name', 'ADA')], ['ada', 'emil']],
  ['or', [Query.or([Query.equal('$id', ['ada']), Query.equal('status', [false])])], ['ada', 'carl']],
  ['and', [Query.and([Query.contains('labels', ['beta']), Query.equal('status', [true])])], ['ada']],
  ['select, which changes nothing', [Query.select(['name'])], everybody],
];
for (const [name, queries, found] of selections) {
  test(`${name} selects ${found.join(', ')}`, async () => {
    const answer = (await list(queries)).expect(200);
    assert.deepEqual(ids(answer), found);
  });
}

const searches: [search: string, found: string[]][] = [
  ['ada', ['ada', 'emil']],
  ['ADA', ['ada', 'emil']],
  ['müller', ['ada']],
  ['MÜLLER ada', ['ada']],
  ['ärger', ['carl']],
  ['ÉMILE', ['emil']],
  ['%', ['Bob']],
  ['_1@', ['ada']],
  ['[x]', ['dora']],
  ['*?', ['dora']],
  ['\\^$.', ['dora']],
  [']', ['dora']],
  ['x]*', ['dora']],
  ["' or '1'='1", []],
  ['+14155550003', ['carl']],
  ['OTHER.example', ['carl']],
  ['fritz nobody', []],
  ['"ada_1@mail.example"', ['ada']],
  ['"Ada Müller"', ['ada']],
  ['"da M" +1415', ['ada']],
  ['"Müller Ada"', []],
  ['ada "', []],
  ['""', []],
  ['  ', everybody],
  ['🦄', []],
];
for (const [search, found] of searches) {
  test(`searching ${JSON.stringify(search)} finds ${found.join(', ') || 'no user'}`, async () => {
    const answer = (await list([], { search })).expect(200);
    assert.deepEqual([ids(answer), answer.body.total], [found, found.length]);
  });
}

test('the total covers all pages, also after a cursor, and is 0 if not asked for', async () => {
  const totals = async (queries: string[], more?: Record<string, string>) => (await list(queries, more)).body.total;
  assert.equal(await totals([Query.limit(1)]), 6);
  assert.equal(await totals([Query.cursorAfter('dora')]), 6);
  assert.equal(await totals([Query.contains('labels', ['beta']), Query.limit(1)]), 2);
  assert.equal(await totals([Query.limit(1)], { total: 'false' }), 0);
});

test('pages by cursor, there and back, hold everybody once in every order', async () => {
  for (const attribute of ['name', 'phone', 'email', 'status', '$updatedAt', '$id']) {
    for (const order of [Query.orderAsc(attribute), Query.orderDesc(attribute)]) {
      const whole = ids(await list([order]));
      const there: unknown[] = [];
      for (let page = ids(await list([order, Query.limit(2)])); page.length > 0; ) {
        there.push(...page);
        page = ids(await list([order, Query.limit(2), Query.cursorAfter(String(page.at(-1)))]));
      }
      assert.deepEqual(there, whole, order);
      const back = ids(await list([order, Query.cursorBefore(String(whole.at(-1)))]));
      assert.deepEqual(back, whole.slice(0, -1), order);
    }
  }
});

const many = Array.from({ length: 101 }, () => Query.limit(1));
const wrong: [name: string, queries: string[], more?: Record<string, string>, type?: ErrorType][] = [
  ['no JSON', ['limit 1']],
  ['null', ['null']],
  ['an unknown method', [JSON.stringify({ method: 'sleep', values: [1] })]],
  ['an attribute that lists do not show', [Query.equal('passwordHash', ['x'])]],
  ['an attribute of every object', [Query.equal('constructor', ['x'])]],
  ['no attribute', [JSON.stringify({ method: 'orderAsc' })]],
  ['text for a truth value', [Query.equal('status', ['yes'])]],
  ['a number for a text', [Query.equal('name', [1])]],
  ['a time that is none', [Query.greaterThan('$createdAt', 'yesterday')]],
  ['an array as an order', [Query.orderAsc('labels')]],
  ['equal on an array', [Query.equal('labels', ['vip'])]],
  ['startsWith on a truth value', [Query.startsWith('status', 't')]],
  ['no limit at all', [Query.limit(0)]],
  ['a limit too high', [Query.limit(5001)]],
  ['a negative offset', [Query.offset(-1)]],
  ['a NUL', [Query.equal('name', ['a\0b'])]],
  ['a lone surrogate', [JSON.stringify({ method: 'equal', attribute: 'name', values: ['\ud800'] })]],
  ['too many queries', many, {}, 'general_query_limit_exceeded'],
  [
    'too many words',
    Array.from({ length: 9 }, () => Query.search('name', 'w '.repeat(56))),
    {},
    'general_query_limit_exceeded',
  ],
  ['a query too long', [Query.equal('name', ['x'.repeat(4096)])]],
  ['a search too long', [], { search: 'x'.repeat(257) }],
  ['a search with a NUL', [], { search: 'a\0' }],
  ['a total that is no word', [], { total: 'maybe' }],
  ['a cursor to nobody', [Query.cursorAfter('nobody')], {}, 'general_cursor_not_found'],
];
for (const [name, queries, more, type = 'general_argument_invalid'] of wrong) {
  test(`${name} is refused`, async () => {
    (await list(queries, more)).refused(400, type);
  });
}

test('users of another project are not there, not even as a cursor', async () => {
  const { client } = await aServerKey(target, { projectId: target.neighbour.id });
  assert.equal((await client.get('/users')).expect(200).body.total, 0);
  (await client.get(`/users?queries[0]=${encodeURIComponent(Query.cursorAfter('ada'))}`)).refused(
    400,
    'general_cursor_not_found',
  );
});
