// The verdict finds what is planted: each way in which an answer, a log or a server can be wrong, and nothing besides.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createRandom } from '../documents/random.js';
import { startAppliance } from '../harness/appliance.js';
import { after } from '../harness/runner.js';
import { type Document, operationsOf } from './described.js';
import { Doubled, printHostile, Verbatim } from './json-text.js';
import { type Plan, planFor, type Spoil } from './plan.js';
import { createPool } from './pool.js';
import { leastOf, printRequest } from './reproduction.js';
import { logProblems } from './server-log.js';
import { problemOf, signatureOf } from './verdict.js';
import { createWire, outgoing, type Received } from './wire.js';

const target = await startAppliance();
const document = (await target.appliance.describe(target.project)) as unknown as Document;
const operations = operationsOf(document);

const headers = {
  'x-request-id': 'a',
  'x-content-type-options': 'nosniff',
  'content-type': 'application/json; charset=utf-8',
};
const refusal = (status: number, type: string, more: object = {}): Received => {
  const text = JSON.stringify({ message: 'No.', code: status, type, version: '1.0.0', ...more });
  return { status, headers, text, size: Buffer.byteLength(text), milliseconds: 1 };
};
const unknownUser = refusal(401, 'general_unauthorized_scope');
const account = { method: 'GET', path: '/v1/account' };
const judged = (received: Received, asked = account) => problemOf(target.judge, asked, received, ['a secret']);

test('an answer as declared is no finding', () => {
  assert.equal(judged(unknownUser), undefined);
  const limited = refusal(429, 'general_rate_limit_exceeded');
  assert.equal(judged({ ...limited, headers: { ...headers, 'retry-after': '3' } }), undefined);
});

const graphqlError = (extensions: object, message = 'No.'): Received => {
  const text = JSON.stringify({ errors: [{ message, extensions }] });
  return { status: 200, headers, text, size: Buffer.byteLength(text), milliseconds: 1 };
};
const graphql = { method: 'POST', path: '/v1/graphql' };

const plants: readonly [name: string, received: Received, found: RegExp, asked?: typeof account][] = [
  ['a 500', refusal(500, 'general_unknown'), /status 500/],
  ['a 502', { ...unknownUser, status: 502 }, /status 502/],
  ['a 503 without Retry-After', refusal(503, 'general_unavailable'), /503 without Retry-After/],
  ['a 429 without Retry-After', refusal(429, 'general_rate_limit_exceeded'), /429 without Retry-After/],
  ['a 405 without Allow', refusal(405, 'general_method_unsupported'), /405 without Allow/],
  ['an error that no catalog has', refusal(401, 'user_sad'), /which the catalog does not have/],
  ['an error with another status', refusal(404, 'general_unauthorized_scope'), /with code 404/],
  ['an error that this operation does not declare', refusal(404, 'webhook_not_found'), /allowed values/],
  ['a status that it does not declare', { ...unknownUser, status: 418 }, /418 is not declared/],
  ['a body of another shape', { ...unknownUser, status: 200, text: '{"$id":1}' }, /must/],
  ['a body that is not JSON', { ...unknownUser, text: '{' }, /not JSON/],
  ['no request id', { ...unknownUser, headers: { ...headers, 'x-request-id': undefined } }, /no X-Request-Id/],
  ['a length that is wrong', { ...unknownUser, headers: { ...headers, 'content-length': '1' } }, /Content-Length/],
  ['SQL', refusal(401, 'general_unauthorized_scope', { message: 'select a from b' }), /what lies below/],
  ['a stack', refusal(401, 'general_unauthorized_scope', { message: 'Error\n    at f (a.js:1)' }), /what lies below/],
  ['what belongs to others', { ...unknownUser, text: unknownUser.text.replace('No.', 'a secret') }, /another project/],
  ['a 500 in GraphQL', graphqlError({ code: 500, type: 'general_unknown' }), /500 general_unknown/, graphql],
  ['SQL in GraphQL', graphqlError({ code: 400, type: 'general_query_invalid' }, 'SQLITE_ERROR'), /lies below/, graphql],
];

for (const [name, received, found, asked] of plants)
  test(`${name} is found`, () => assert.match(judged(received, asked) ?? 'nothing', found));

test('the log may hold warnings, but no errors, stacks, SQL or unanswered requests', () => {
  const line = (entry: object) => JSON.stringify({ level: 'warn', event: 'a', ...entry });
  const planted: readonly [RegExp, string][] = [
    [/an error/, line({ level: 'error' })],
    [/a stack/, line({ stack: '    at f (a.js:1:1)' })],
    [/SQL in a/, line({ error: 'select a from b' })],
    [/unanswered/, line({ event: 'request.unanswered' })],
    [/no JSON/, 'FATAL ERROR: Reached heap limit'],
  ];
  assert.deepEqual(logProblems(`${line({})}\n${line({ error: 'timeout' })}\n`), []);
  for (const [found, text] of planted) assert.match(logProblems(`${line({})}\n${text}\n${text}`).join('|'), found);
  assert.equal(logProblems(planted.map(([, text]) => text).join('\n')).length, planted.length);
});

test('the same problem with other values is reported once', () => {
  const one = signatureOf('a', 'GET /v1/users/1 200: data/name must match "x"\n{}');
  assert.equal(one, signatureOf('a', 'GET /v1/users/2 200: data/name must match "y"\n{"a":1}'));
  assert.notEqual(one, signatureOf('a', 'GET /v1/users/2 404: data/name must match "y"'));
});

/** A request for an operation, with a pool that knows nothing. */
function aPlan(id: string): Plan {
  const operation = operations.find((one) => one.id === id);
  assert.ok(operation);
  const workshop = {
    document,
    operations,
    pool: createPool(operations),
    random: createRandom(1),
    receiver: 'http://a',
  };
  return planFor(workshop, operation);
}

test('a finding is made again with as little as it takes', async () => {
  const plan = aPlan('account_updateName');
  const spoil = (name: string, apply: Spoil['apply']): Spoil => ({ name, apply });
  const spoils = [
    spoil('header', ({ headers: list }) => list.push(['X-Many', '1'])),
    spoil('body', (changed) => {
      changed.body = { value: { name: null, other: 1, more: 2 } };
    }),
  ];
  const least = await leastOf(plan, spoils, async ({ body }) => Object(body?.value).name === null);
  assert.deepEqual([least.headers, least.body?.value], [[], { name: null }]);
  const never = await leastOf(plan, spoils, async () => false);
  assert.deepEqual([never.headers.length, Object(never.body?.value).more], [1, 2]);
});

test('a printed request holds no secrets and no long runs', () => {
  const plan = aPlan('account_updateName');
  plan.body = { value: { name: 'n'.repeat(100_000) } };
  const text = printRequest(outgoing(plan, { 'X-Service-Session': 'very secret' }));
  assert.match(text, /^PATCH \/v1\/account\/name\n[\s\S]*"name":"n…×|n…×100000/);
  assert.ok(!text.includes('very secret') && text.length < 500, text);
});

test('JSON is printed as hostile clients write it', () => {
  const value = new Doubled({ a: new Verbatim('1e400'), b: '\ud800' }, 'a', [new Verbatim('NaN')]);
  assert.equal(printHostile({ c: value }), '{"c":{"a":1e400,"b":"\\ud800","a":[NaN]}}');
});

test('every operation of the document is built: its path is filled, its body fits', () => {
  for (const operation of operations) {
    const { path, body } = aPlan(operation.id);
    assert.doesNotMatch(path, /[{}]/, operation.id);
    assert.equal(body === undefined, operation.body === undefined, operation.id);
  }
});

test('an answer that does not come is an error, not a wait', async () => {
  const server = createServer((_, response) => response.socket?.destroy());
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  after(() => server.close());
  const wire = createWire((server.address() as AddressInfo).port, 1);
  await assert.rejects(wire.send(outgoing(aPlan('account_get'), {})), /socket hang up/);
  wire.close();
});
