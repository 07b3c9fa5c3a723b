// What the GraphQL endpoint does not accept: documents beyond its limits, bodies of other shapes, more calls than the caller may make.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { byGet, graphqlAnswer } from './graphql.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const guest = createClient(target);
const { key, databaseId, collection } = await aBackend(target);
const { id: collectionId, documents } = await collection({
  permissions: ['read("any")'],
  attributes: { title: { type: 'string', size: 100 } },
});
const of = `databaseId: "${databaseId}", collectionId: "${collectionId}"`;
const list = (selection: string) => `documentList(${of}) { ${selection} }`;
const many = (count: number, make: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => make(at)).join(' ');

/** A query of exactly so many tokens. */
const ofTokens = (count: number) => `{ ${list('total '.repeat(count - 13))} }`;
/** A query that nests fields so deep. */
const ofDepth = (depth: number) => `${'{ a '.repeat(depth)}${'}'.repeat(depth)}`;

/** Each limit: a request at its bound, and one beyond. */
const limits: Record<string, (beyond: 0 | 1) => string> = {
  bytes: (beyond) => `{ __typename }${' '.repeat(102_400 - 14 + beyond)}`,
  tokens: (beyond) => ofTokens(2000 + beyond),
  'brackets within each other': (beyond) => `{ a(b: ${'['.repeat(98 + beyond)}${']'.repeat(98 + beyond)}) }`,
  levels: (beyond) => ofDepth(10 + beyond),
  'levels of introspection': (beyond) =>
    `{ __schema { types ${'{ ofType '.repeat(12 + beyond)}{ name }${'}'.repeat(12 + beyond)} } }`,
  aliases: (beyond) => `{ ${list(many(30 + beyond, (at) => `a${at}: total`))} }`,
  'root fields': (beyond) => `{ ${many(20 + beyond, () => '__typename')} }`,
  directives: (beyond) => `{ ${list(many(50 + beyond, () => 'total @include(if: true)'))} }`,
  fragments: (beyond) =>
    `{ ${list(many(50 + beyond, (at) => `...f${at}`))} } ${many(50 + beyond, (at) => `fragment f${at} on DocumentList { total }`)}`,
};

for (const [name, make] of Object.entries(limits)) {
  test(`a request may have a limited number of ${name}`, async () => {
    const within = graphqlAnswer(await guest.post('/graphql', { query: make(0) }));
    assert.ok(!within.http.text.includes('graphql_limit_exceeded'), within.http.text);
    const { http, errors } = graphqlAnswer(await guest.post('/graphql', { query: make(1) }));
    const seen = errors.map(({ code, type }) => [code, type]);
    assert.deepEqual([http.status, seen], [400, [[400, 'graphql_limit_exceeded']]], http.text);
    assert.match(errors[0]?.message ?? '', new RegExp(`more than [\\d]+ ${name}`));
  });
}

test('limits count what fragments repeat, and end where fragments contain each other', async () => {
  const fragment = (at: number) => `fragment f${at} on DocumentList { a${at}: total ...f${at + 1} ...f${at + 1} }`;
  const doubled = `{ ${list('...f0')} } ${many(40, fragment)} fragment f40 on DocumentList { total }`;
  assert.equal(
    graphqlAnswer(await guest.post('/graphql', { query: doubled })).errors[0]?.type,
    'graphql_limit_exceeded',
  );
  for (const cycle of [
    'fragment a on Query { ...a }',
    'fragment a on Query { ...b } fragment b on Query { ...a __typename }',
  ]) {
    const { http, errors } = graphqlAnswer(await guest.post('/graphql', { query: `{ ...a } ${cycle}` }));
    assert.deepEqual([http.status, errors[0]?.type], [200, 'general_argument_invalid'], http.text);
    assert.match(errors[0]?.message ?? '', /within itself/);
  }
  const spread = `{ ...roots ...roots } fragment roots on Query { ${many(11, () => '__typename')} }`;
  assert.equal(
    graphqlAnswer(await guest.post('/graphql', { query: spread })).errors[0]?.type,
    'graphql_limit_exceeded',
  );
});

test('a query of 20 000 levels is refused at once', async () => {
  for (const query of [
    ofDepth(20_000),
    `{ a(b: ${'['.repeat(20_000)}${']'.repeat(20_000)}) }`,
    `query ($a: ${'['.repeat(20_000)}`,
  ]) {
    const began = performance.now();
    const { http, errors } = graphqlAnswer(await guest.post('/graphql', { query }));
    assert.deepEqual([http.status, errors[0]?.type], [400, 'graphql_limit_exceeded']);
    assert.ok(performance.now() - began < 3000);
  }
});

test('the number of validation errors is limited', async () => {
  const query = `{ ${list(many(200, (at) => `unknown${at}`))} }`;
  const { http, errors } = graphqlAnswer(await guest.post('/graphql', { query }));
  assert.equal(http.status, 200);
  assert.ok(errors.length > 0 && errors.length <= 21 && http.text.length < 4000);
});

test('no answer spells out the schema to those who guess', async () => {
  const guesses = [
    '{ documentGe(documentId: "x") { id } }',
    `{ documentList(databaseID: "x") { total } }`,
    `{ ${list('totals')} }`,
    'query ($a: Strin) { __typename }',
    'query ($data: JSON!) { __typename @includes(if: true) }',
    `fragment f on DocumentLis { total } { ${list('...f')} }`,
  ];
  for (const query of guesses) {
    const { http, errors } = graphqlAnswer(await guest.post('/graphql', { query }));
    assert.deepEqual([http.status, errors[0]?.code, errors[0]?.type], [200, 400, 'general_argument_invalid']);
    assert.doesNotMatch(http.text, /did you mean/i);
  }
});

test('mutations need POST', async () => {
  const query = `mutation { documentDelete(${of}, documentId: "x") { id } }`;
  const answer = (await key.get(byGet(query))).refused(405, 'graphql_method_unsupported');
  assert.equal(answer.headers.get('allow'), 'POST');
  const two = `query a { __typename } ${query.replace('mutation', 'mutation b')}`;
  (await key.get(byGet(two, { operationName: 'b' }))).refused(405, 'graphql_method_unsupported');
  assert.deepEqual(graphqlAnswer(await key.get(byGet(two, { operationName: 'a' }))).data, { __typename: 'Query' });
});

test('a body of any other shape is refused', async () => {
  const query = '{ __typename }';
  for (const body of [
    '"text"',
    '7',
    'null',
    '[]',
    '{}',
    '',
    '{"query":7}',
    '{"query":""}',
    '{"query":null}',
    '[7]',
    '[[]]',
    '{"query":[]}',
  ])
    assert.equal((await guest.post('/graphql', body)).status, 400, body);
  for (const more of [
    { variables: 7 },
    { variables: [] },
    { variables: '{"a":' },
    { variables: '[]' },
    { operationName: 7 },
    { operationName: {} },
  ])
    (await guest.post('/graphql', { query, ...more })).refused(400, 'general_argument_invalid');
  for (const variables of ['7', '[]', '{', '"text"'])
    (await guest.get(byGet(query, { variables }))).refused(400, 'general_argument_invalid');
  (await guest.get('/graphql')).refused(400, 'graphql_no_query');
  for (const type of [
    'text/plain',
    'application/graphql',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
  ])
    (await guest.post('/graphql', query, { 'Content-Type': type })).refused(415, 'general_media_type_unsupported');
  const several = { query: 'query a { __typename } query b { __typename }' };
  const absent = { query: `query ($id: String!) { documentGet(${of}, documentId: $id) { id } }` };
  for (const body of [several, { ...several, operationName: 'c' }, absent]) {
    const { http, errors } = graphqlAnswer(await guest.post('/graphql', body));
    assert.deepEqual([http.status, errors.length, 'data' in http.body], [200, 1, false], http.text);
    const letter = await guest.post('/graphql', body, { Accept: 'application/graphql-response+json' });
    assert.equal(letter.status, 400, letter.text);
  }
});

test('text that no database keeps is refused in the text of a query too', async () => {
  const query = `mutation { documentCreate(${of}, documentId: "nul", data: {title: "a\\u0000b"}) { id } }`;
  const { errors } = graphqlAnswer(await key.post('/graphql', { query }));
  assert.deepEqual([errors[0]?.code, errors[0]?.type], [400, 'document_invalid_structure']);
});

test('a batch has at most ten operations, and a wrong one among them keeps all from happening', async () => {
  const one = { query: '{ __typename }' };
  for (const wrap of [(batch: unknown) => batch, (query: unknown) => ({ query })]) {
    const ten = (await guest.post('/graphql', wrap(Array(10).fill(one)))).expect(200);
    assert.deepEqual(JSON.parse(ten.text), Array(10).fill({ data: { __typename: 'Query' } }));
    (await guest.post('/graphql', wrap(Array(11).fill(one)))).refused(400, 'graphql_too_many_queries');
  }
  const create = { query: `mutation { documentCreate(${of}, documentId: "batch", data: {}) { id } }` };
  (await key.post('/graphql/mutation', [create, {}])).refused(400, 'graphql_no_query');
  (await key.get(`${documents}/batch`)).refused(404, 'document_not_found');
  const mixed = (await key.post('/graphql/mutation', [create, { query: '{ no }' }])).expect(200);
  assert.match(mixed.text, /^\[\{"data":\{"documentCreate":\{"id":"batch"\}\}\},\{"errors":/);
});

test('each root field costs one call', async () => {
  const limited = await startAppliance({ settings: { SVC_RATE_LIMITS: 'data=30/60' } });
  const { client } = await aServerKey(limited);
  const left = async (method: 'GET' | 'POST', path: string, body?: unknown) => {
    const answer = await client.request(method, path, body);
    return Number(answer.headers.get('x-ratelimit-remaining'));
  };
  const five = { query: `{ ${many(4, () => '__typename')} ...f } fragment f on Query { __typename }` };
  assert.equal(await left('POST', '/graphql', { query: '{ __typename }' }), 29);
  assert.equal(await left('POST', '/graphql', five), 24);
  assert.equal(await left('GET', byGet(five.query)), 19);
  assert.equal(await left('POST', '/graphql', [five, { query: '{ __typename }' }]), 13);
  assert.equal(await left('POST', '/graphql/mutation', { query: '{ no }' }), 12);
  const twenty = { query: `{ ${many(20, () => '__typename')} }` };
  const refused = (await client.post('/graphql', twenty)).refused(429, 'general_rate_limit_exceeded');
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.equal(refused.headers.get('x-ratelimit-remaining'), '0');
  assert.equal(await left('POST', '/graphql', { query: '{ __typename }' }), 11, 'the refused ones took none');
});

test('a query that finds too few calls left takes none of them, and finds enough when Retry-After has passed', async () => {
  // Seven calls do not divide a minute into whole milliseconds.
  for (const [rate, fields] of [
    ['data=4/60', 4],
    ['data=7/60', 7],
    ['data=30/60', 4],
  ] as const) {
    const limited = await startAppliance({ settings: { SVC_RATE_LIMITS: rate } });
    const { client } = await aServerKey(limited);
    const ask = () => client.post('/graphql', { query: `{ ${many(fields, (at) => `a${at}: __typename`)} }` });
    while ((await client.get('/databases')).status === 200);
    for (let round = 0; round < 3; round++) {
      // Whoever asks in between takes nothing away either.
      for (let second = 0; second < 3; second++) {
        (await ask()).refused(429, 'general_rate_limit_exceeded');
        limited.clock.advance(1000);
      }
      const refused = (await ask()).refused(429, 'general_rate_limit_exceeded');
      limited.clock.advance(Number(refused.headers.get('retry-after')) * 1000);
      (await ask()).expect(200);
    }
    // Nothing left at all, and a request that cannot be read.
    while ((await client.get('/databases')).status === 200);
    for (const body of ['[]', '{', '{"query":7}', '[{}]'])
      (await client.post('/graphql', body)).refused(429, 'general_rate_limit_exceeded');
  }
});

test('what costs more calls than there can ever be is refused as such, alone and in a batch', async () => {
  const limited = await startAppliance({ settings: { SVC_RATE_LIMITS: 'data=5/60' } });
  const { client } = await aServerKey(limited);
  const six = { query: `{ ${many(6, (at) => `a${at}: __typename`)} }` };
  const one = { query: '{ __typename }' };
  (await client.post('/graphql', six)).refused(400, 'graphql_limit_exceeded');
  limited.clock.advance(60_000);
  (await client.post('/graphql', Array(6).fill(one))).refused(400, 'graphql_limit_exceeded');
  limited.clock.advance(60_000);
  (await client.post('/graphql', Array(5).fill(one))).expect(200);
  const unlimited = await startAppliance({ settings: { SVC_RATE_LIMITS: 'data=5/60', SVC_RATE_LIMIT: 'off' } });
  (await createClient(unlimited).post('/graphql', six)).expect(200);
});
