// Operators of the SDKs: what each makes of a value, what it is refused with, who may use it, and that no change is lost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Condition, Operator } from 'node-appwrite';
import { bulkLimits, schemaLimits } from '#src/contract/limits.js';
import { printJson } from '#src/platform/text/json.js';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { recordedBy } from '../harness/database.js';
import { someCallers } from './callers.js';
import { aBackend } from './setup.js';

const target = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const sibling = await target.startSibling();
const { key, collection: aCollection } = await aBackend(target);
const { secret } = await aServerKey(target);
const [here, there] = [createClient(target, { key: secret }), createClient(sibling, { key: secret })];
const { ada } = await someCallers(target);
const [largest, smallest] = [2n ** 63n - 1n, -(2n ** 63n)];
const attributes = {
  n: { type: 'integer' },
  small: { type: 'integer', min: -9, max: 9 },
  ratio: { type: 'float' },
  flag: { type: 'boolean' },
  at: { type: 'datetime' },
  title: { type: 'string', size: 20 },
  long: { type: 'string', size: 100_000_000 },
  kind: { type: 'enum', elements: ['a', 'ab'] },
  tags: { type: 'string', size: 9, array: true },
  numbers: { type: 'integer', array: true },
  ratios: { type: 'float', array: true },
  times: { type: 'datetime', array: true },
};
const open = ['read', 'create', 'update', 'delete'].map((may) => `${may}("users")`);
const { documents, databaseId, id: collectionId } = await aCollection({ permissions: open, attributes });
/** An operator as the SDKs print it, with values of 64 bits that they cannot print. */
const operator = (method: string, ...values: readonly unknown[]) => printJson({ method, values });
let made = 0;
const aDocument = async (data: object) => {
  made += 1;
  (await key.post(documents, printJson({ documentId: `d${made}`, data }))).expect(201);
  return `${documents}/d${made}`;
};

/** The attribute, what it holds, the operator, and what it holds then, as JSON. */
const changes: readonly (readonly [keyof typeof attributes, unknown, string, unknown])[] = [
  ['n', 5, Operator.increment(2), 7],
  ['n', 5, Operator.increment(2, 7), 7],
  ['n', null, Operator.increment(), 1],
  ['n', largest - 1n, operator('increment', 1n), largest],
  ['n', largest, operator('increment', smallest), -1],
  ['n', 5, Operator.decrement(6, -1), -1],
  ['n', smallest + 1n, Operator.decrement(1), smallest],
  ['n', 2n ** 53n + 1n, Operator.multiply(3), 3n * (2n ** 53n + 1n)],
  ['n', 3037000499n, operator('multiply', 3037000499n, largest), 3037000499n ** 2n],
  ['n', null, Operator.multiply(3), 0],
  ['n', largest, Operator.divide(2), largest / 2n],
  ['n', -7, Operator.divide(2), -3],
  ['n', 7, Operator.divide(2, 3), 3],
  ['n', largest, operator('modulo', 10n), 7],
  ['n', -7, Operator.modulo(3), -1],
  ['n', 3, Operator.power(39), 3n ** 39n],
  ['n', -2, Operator.power(63), smallest],
  ['n', -1, operator('power', largest), -1],
  ['n', 0, Operator.power(0), 1],
  ['ratio', 0.1, Operator.increment(0.2), 0.1 + 0.2],
  ['ratio', 7, Operator.divide(2), 3.5],
  ['ratio', 2, Operator.power(-2), 0.25],
  ['ratio', 5.5, Operator.modulo(2), 1.5],
  ['ratio', 2 ** 60, Operator.multiply(0.5), 2 ** 59],
  ['flag', true, Operator.toggle(), false],
  ['flag', false, Operator.toggle(), true],
  ['flag', null, Operator.toggle(), true],
  ['at', '1969-12-31T23:00:00Z', Operator.dateAddDays(1), '1970-01-01T23:00:00.000+00:00'],
  ['at', '2024-03-01', Operator.dateSubDays(1), '2024-02-29T00:00:00.000+00:00'],
  ['at', null, Operator.dateAddDays(1), null],
  ['title', 'Ada', Operator.stringConcat(' 😀'), 'Ada 😀'],
  ['title', null, Operator.stringConcat('x'), 'x'],
  ['title', 'a.b.c', Operator.stringReplace('.', '$&'), 'a$&b$&c'],
  ['title', 'abc', Operator.stringReplace('x', 'y'), 'abc'],
  ['kind', 'a', Operator.stringConcat('b'), 'ab'],
  ['tags', ['a'], Operator.arrayAppend(['b', 'a']), ['a', 'b', 'a']],
  ['tags', null, Operator.arrayAppend(['b']), ['b']],
  ['tags', ['a'], Operator.stringConcat('b'), ['a', 'b']],
  ['tags', ['a'], Operator.arrayPrepend(['b', 'c']), ['b', 'c', 'a']],
  ['tags', ['a', 'c'], Operator.arrayInsert(1, 'b'), ['a', 'b', 'c']],
  ['tags', ['a'], Operator.arrayInsert(1, 'b'), ['a', 'b']],
  ['tags', ['a', 'b', 'a'], Operator.arrayRemove('a'), ['b']],
  ['tags', ['b', 'a', 'b', 'A'], Operator.arrayUnique(), ['b', 'a', 'A']],
  ['tags', ['a', 'b', 'a'], Operator.arrayIntersect(['a', 'c']), ['a', 'a']],
  ['tags', ['a', 'b', 'a'], Operator.arrayDiff(['a', 'c']), ['b']],
  ['tags', ['Ada', 'Bob'], Operator.arrayFilter(Condition.Contains, 'AD'), ['Ada']],
  ['tags', ['\uFFFD', '😀'], Operator.arrayFilter(Condition.GreaterThan, '\uFFFD'), ['😀']],
  ['tags', ['a'], Operator.arrayFilter(Condition.IsNull), []],
  ['tags', ['a'], Operator.arrayFilter(Condition.IsNotNull), ['a']],
  ['numbers', [largest, 1], operator('arrayRemove', largest), [1]],
  ['numbers', [largest, 1, largest], Operator.arrayUnique(), [largest, 1]],
  ['numbers', [1, 5, largest], Operator.arrayFilter(Condition.GreaterThanEqual, 5), [5, largest]],
  ['numbers', [1, 5], Operator.arrayFilter(Condition.NotEqual, 5), [1]],
  ['ratios', [1e22, 0.5], Operator.arrayDiff([1e22]), [0.5]],
  ['times', ['2024-01-01'], Operator.arrayRemove('2024-01-01T01:00:00+01:00'), []],
];

test('each operator computes the documented value', async () => {
  for (const [attribute, before, operation, after] of changes) {
    const path = await aDocument({ [attribute]: before });
    const changed = (await key.patch(path, { data: { [attribute]: operation } })).expect(200);
    const name = `${attribute} ${operation}`;
    assert.ok(changed.text.includes(`"${attribute}":${printJson(after)}`), `${name}: ${changed.text}`);
    assert.equal((await key.get(path)).expect(200).text, changed.text, name);
  }
});

test('an invalid operator is refused, and nothing is changed', async () => {
  const structure = 'document_invalid_structure';
  const limit = 'attribute_limit_exceeded';
  const value = { n: largest, small: 8, ratio: 1e308, flag: true, at: '9999-12-31', title: 'x'.repeat(19) };
  const path = await aDocument({ ...value, kind: 'a', tags: ['a'], numbers: [1] });
  const before = (await key.get(path)).text;
  const cases: readonly (readonly [string, string, string])[] = [
    ['n', Operator.increment(1), limit],
    ['n', Operator.increment(-1, 5), limit],
    ['n', Operator.multiply(2), limit],
    ['n', Operator.power(2), limit],
    ['n', operator('power', largest), limit],
    ['small', Operator.increment(2), limit],
    ['small', Operator.increment(1, 8), limit],
    ['small', Operator.decrement(3, 6), limit],
    ['small', Operator.divide(2, 5), limit],
    ['ratio', Operator.multiply(10), limit],
    ['n', Operator.multiply(0.5), structure],
    ['n', Operator.power(-1), structure],
    ['n', operator('divide', 0), structure],
    ['ratio', operator('modulo', 0), structure],
    ['n', operator('increment', '1'), structure],
    ['n', operator('increment', 2n ** 70n), structure],
    ['n', operator('increment'), structure],
    ['n', operator('increment', 1, 2, 3), structure],
    ['n', Operator.toggle(), structure],
    ['n', Operator.dateSetNow(), structure],
    ['n', Operator.stringConcat('1'), structure],
    ['n', Operator.arrayAppend([1]), structure],
    ['numbers', Operator.increment(1), structure],
    ['numbers', Operator.arrayAppend(['1']), structure],
    ['numbers', Operator.arrayFilter(Condition.Contains, 1), structure],
    ['numbers', Operator.arrayFilter('constructor' as Condition, 1), structure],
    ['flag', Operator.increment(1), structure],
    ['title', Operator.increment(1), structure],
    ['title', Operator.stringConcat('xy'), structure],
    ['title', Operator.stringReplace('', 'x'), structure],
    ['title', operator('stringConcat', '\ud800'), structure],
    ['title', operator('stringConcat', '\0'), structure],
    ['kind', Operator.stringConcat('x'), structure],
    ['at', Operator.dateAddDays(1), structure],
    ['at', Operator.dateSubDays(Number.MAX_SAFE_INTEGER), structure],
    ['at', Operator.dateAddDays(0.5), structure],
    ['at', Operator.stringConcat('x'), structure],
    ['tags', Operator.arrayInsert(2, 'x'), structure],
    ['tags', Operator.arrayInsert(-1, 'x'), structure],
    ['tags', Operator.arrayAppend(['x'.repeat(10)]), structure],
    ['tags', Operator.arrayRemove(7), structure],
    ['none', Operator.increment(1), structure],
  ];
  for (const [attribute, operation, type] of cases) {
    const answer = await key.patch(path, { data: { [attribute]: operation } });
    assert.deepEqual([answer.status, answer.body.type], [400, type], `${attribute} ${operation}: ${answer.text}`);
  }
  assert.equal((await key.get(path)).text, before);
});

test('a text that an operator makes is not longer than a document can be, nor an array than it may', async () => {
  const path = await aDocument({ long: 'a'.repeat(1_000_000), numbers: [] });
  const times = (count: number) => Operator.stringReplace('a', 'b'.repeat(count));
  const { message } = (await key.patch(path, { data: { long: times(1000) } })).refused(
    400,
    'document_invalid_structure',
  ).body;
  assert.match(String(message), /more than \d+ characters/);
  (await key.patch(path, { data: { long: times(3) } })).expect(200);
  const many = (count: number) => Operator.arrayAppend(Array.from({ length: count }, () => 1));
  (await key.patch(path, { data: { numbers: many(schemaLimits.arrayElements) } })).expect(200);
  for (const count of [1, schemaLimits.arrayElements + 1])
    (await key.patch(path, { data: { numbers: many(count) } })).refused(400, 'document_invalid_structure');
});

test('an increment makes no document that is longer than a response', async () => {
  const path = await aDocument({ long: 'a'.repeat(66_000), n: 9 });
  const narrow = await target.startSibling({ settings: { SVC_ANSWER_MAX_BYTES: '65536' } });
  const caller = createClient(narrow, { key: secret });
  for (const way of ['increment', 'decrement'])
    (await caller.patch(`${path}/n/${way}`, {})).refused(400, 'document_invalid_structure');
  assert.equal((await key.get(path)).body.n, 9);
});

test('only the form printed by the SDKs is an operator; a create stores every text as it is', async () => {
  const texts = [
    '{"method":"increment"',
    '{"method":"drop","values":[1]}',
    '{"method":"toggle","values":[],"x":1}',
    '{"method":"toggle","values":{}}',
    '{"values":[]}',
    '["toggle"]',
  ];
  const path = await aDocument({ long: Operator.toggle() });
  assert.equal((await key.get(path)).body.long, Operator.toggle());
  for (const text of texts)
    assert.equal((await key.patch(path, { data: { long: text } })).expect(200).body.long, text, text.slice(0, 50));
  const nested = [
    '{"method":"stringConcat","values":[{"a":1}]}',
    '{"method":"stringConcat","values":[["a",["b"]]]}',
    `{"method":"toggle","values":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
  ];
  for (const text of [Operator.toggle(), ...nested]) {
    (await key.patch(path, { data: { long: text } })).refused(400, 'document_invalid_structure');
    (await key.put(path, { data: { long: text } })).refused(400, 'document_invalid_structure');
  }
  const [tags] = [[Operator.toggle().slice(0, 9)]];
  assert.deepEqual((await key.patch(path, { data: { tags } })).expect(200).body.tags, tags);
});

test('operators stand beside other values, in one change with one event; a change to nothing new is none', async () => {
  const path = await aDocument({ n: 1, title: 'a', tags: ['a'] });
  const data = { n: Operator.increment(2), tags: Operator.arrayAppend(['b']), title: 'b', at: Operator.dateSetNow() };
  const { recorded, answer } = await recordedBy(target, async () => (await key.patch(path, { data })).expect(200)).then(
    async ({ recorded: names }) => ({ recorded: names, answer: (await key.get(path)).expect(200).body }),
  );
  assert.deepEqual(recorded, { audit: ['documentUpdated'], events: ['documentUpdated'], messages: [] });
  assert.deepEqual([answer.n, answer.tags, answer.title], [3, ['a', 'b'], 'b']);
  assert.equal(answer.at, answer.$updatedAt);
  const same = await recordedBy(target, async () =>
    (await key.patch(path, { data: { tags: Operator.arrayUnique() } })).expect(200),
  );
  assert.deepEqual(same.recorded, { audit: [], events: [], messages: [] });
});

test('an upsert changes the document that is there, and begins a new one with the defaults', async () => {
  const { documents: place } = await aCollection({
    attributes: { n: { type: 'integer', default: largest - 5n }, must: { type: 'integer', required: true } },
  });
  const put = (data: object) => key.put(`${place}/one`, { data });
  assert.ok(
    (await put({ n: Operator.increment(1), must: Operator.increment(7) }))
      .expect(200)
      .text.includes(`"n":${largest - 4n},"must":7`),
  );
  assert.ok(
    (await put({ n: Operator.increment(1), must: Operator.increment(7) }))
      .expect(200)
      .text.includes(`"n":${largest - 3n},"must":14`),
  );
  (await put({ n: Operator.increment(1) })).refused(400, 'document_invalid_structure');
  const given = [
    { $id: 'one', must: Operator.increment(1) },
    { $id: 'two', must: Operator.increment(1) },
  ];
  const { documents: written } = (await key.put(place, { documents: given })).expect(200).body as never as {
    documents: { must: number }[];
  };
  assert.deepEqual(
    written.map(({ must }) => must),
    [15, 1],
  );
});

test('many documents at once: each by its own value, all or none, within the bytes of a request', async () => {
  const { documents: place } = await aCollection({ attributes });
  const some = Array.from({ length: 60 }, (_, at) => ({ $id: `d${at}`, n: at, small: at % 9, long: 'x' }));
  (await key.post(place, { documents: some })).expect(201);
  const data = { n: Operator.multiply(2), flag: Operator.toggle(), tags: Operator.arrayAppend(['x']) };
  const { recorded } = await recordedBy(target, async () => {
    assert.equal((await key.patch(place, { data })).expect(200).body.total, 60);
  });
  assert.deepEqual([recorded.audit.length, recorded.events.length], [60, 60]);
  const list = async () => (await key.get(`${place}?queries[0]={"method":"limit","values":[100]}`)).expect(200);
  assert.deepEqual(
    (await list()).list('documents').map(({ n, flag, tags }) => [n, flag, tags]),
    some.map(({ n }) => [2 * n, true, ['x']]),
  );
  const before = (await list()).text;
  (await key.patch(place, { data: { n: Operator.increment(1), small: Operator.increment(2) } })).refused(
    400,
    'attribute_limit_exceeded',
  );
  const half = Math.ceil(bulkLimits.bytes / 60);
  for (const text of [half, 4 * half])
    (await key.patch(place, { data: { long: Operator.stringReplace('x', 'y'.repeat(text)) } })).refused(
      400,
      'general_bad_request',
    );
  const numbers = operator('arrayAppend', ...Array.from({ length: 9000 }, () => largest));
  (await key.patch(place, { data: { numbers } })).refused(400, 'general_bad_request');
  assert.equal((await list()).text, before);
});

test('64 changes at once over two processes: none is lost', async () => {
  const path = await aDocument({ n: 0, numbers: [], title: '' });
  const { recorded } = await recordedBy(target, () =>
    Promise.all(
      Array.from({ length: 64 }, async (_, at) => {
        const data = { n: Operator.increment(1), numbers: Operator.arrayAppend([at]) };
        (await (at % 2 === 0 ? key : there).patch(path, { data })).expect(200);
      }),
    ),
  );
  const { n, numbers } = (await key.get(path)).body as { n: number; numbers: number[] };
  assert.equal(n, 64);
  assert.deepEqual(
    numbers.toSorted((one, other) => one - other),
    Array.from({ length: 64 }, (_, at) => at),
  );
  assert.equal(recorded.events.length, 64);
});

test('a repeated request changes once, a stale entity tag changes nothing, GraphQL does the same', async () => {
  const path = await aDocument({ n: 0 });
  const body = { data: { n: Operator.increment(1) } };
  const named = { 'Idempotency-Key': 'operator' };
  const answers = await Promise.all([here, there, here].map((client) => client.patch(path, body, named)));
  assert.equal(new Set(answers.map((answer) => answer.expect(200).text)).size, 1);
  const tag = String(answers[0]?.headers.get('etag'));
  const conditional = await Promise.all(
    Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? key : there).patch(path, body, { 'If-Match': tag })),
  );
  assert.deepEqual(conditional.map(({ status }) => status).sort(), [200, ...Array.from({ length: 7 }, () => 412)]);
  const where = `databaseId: "${databaseId}", collectionId: "${collectionId}", documentId: "d${made}"`;
  const query = `mutation ($data: JSON!) { documentUpdate(${where}, data: $data) { data } }`;
  const { data } = (await key.post('/graphql', { query, variables: body })).expect(200).body as never as {
    data: { documentUpdate: { data: { n: number } } };
  };
  assert.equal(data.documentUpdate.data.n, 3);
});

test('a caller without the right to read a document cannot use operators on it', async () => {
  const { documents: closed } = await aCollection({ documentSecurity: true, attributes });
  const permissions = [`update("user:${ada.name}")`];
  (await key.post(closed, { documentId: 'hidden', data: { n: 7 }, permissions })).expect(201);
  const data = { n: Operator.increment(1) };
  (await ada.client.patch(`${closed}/hidden`, { data })).refused(401, 'user_unauthorized');
  (await ada.client.put(`${closed}/hidden`, { data })).refused(401, 'user_unauthorized');
  (await ada.client.patch(`${closed}/none`, { data })).refused(404, 'document_not_found');
  (await ada.client.patch(`${closed}/hidden`, { data: { n: 8 } })).expect(200);
});
