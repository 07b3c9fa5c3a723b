// Every declaration, one by one: what opens it to server keys, what protects a login, and what bounds its input and its answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import type { Declaration } from '#src/contract/declaration.js';
import { bodySizes, limitClasses } from '#src/contract/limits.js';
import { createApp } from '#src/http/app.js';
import { upload } from '../files/setup.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';

const target = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const { runtime, features } = target.appliance;
const declarations = createApp(runtime, features).state.operations.map(({ declaration }) => declaration);
const named = (list: readonly Declaration[]) => list.map(({ id }) => id).sort();
const schemaOf = (schema: z.ZodType | undefined, io: 'input' | 'output'): Shape => {
  if (schema === undefined) return {};
  const shape: Shape = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Shape;
  const { $ref, $defs = {} } = shape;
  return $ref === undefined ? shape : { ...$defs[$ref.split('/').at(-1) ?? ''], $defs };
};

type Shape = {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Shape>>;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
};

test('what server keys may call asks for a scope, but for what guests may call just so', () => {
  // They say nothing of anybody, or ask for the scopes of the operations within.
  const open = [
    ...[
      'graphql.get',
      'graphql.mutation',
      'graphql.post',
      'health.version',
      'operations.discovery',
      'operations.health',
    ],
    ...['operations.keys', 'operations.metrics', 'operations.openapi', 'operations.ping', 'operations.ready'],
    ...['projects.discovery', 'projects.keys'],
  ];
  const withoutScopes = declarations.filter(
    ({ access: { auth, scopes = [] } }) => auth.includes('key') && scopes.length === 0,
  );
  assert.deepEqual(named(withoutScopes), open.sort());
});

test('a change asks for a scope that writes, a read for one that reads', () => {
  for (const { id, method, reply, access } of declarations) {
    const { scopes = [] } = access;
    const kinds = new Set(scopes.map((scope) => scope.split('.')[1]));
    if (scopes.length > 0)
      assert.ok(kinds.has(method === 'GET' && reply.shape.kind !== 'redirect' ? 'read' : 'write'), `${id}: ${scopes}`);
  }
});

/** Operations whose answer is a session, and that anybody but a server key may call. */
const opening = declarations.filter(
  ({ reply: { shape: reply }, method, access: { auth } }) =>
    method !== 'GET' &&
    reply.kind === 'json' &&
    auth.some((kind) => kind !== 'key') &&
    ['providerAccessToken', 'secret', 'expire'].every(
      (name) => name in (schemaOf(reply.schema, 'output').properties ?? {}),
    ),
);

test('what answers with a session says so', () => {
  assert.ok(opening.length > 5, 'operations that answer with a session');
  // Extending a session opens none.
  const others = opening.filter(
    ({ reply: { session }, id }) => session === undefined && id !== 'account.updateSession',
  );
  assert.deepEqual(named(others), []);
});

test('what opens a session refuses a foreign page, with a body and without', async () => {
  const guest = createClient(target);
  const { client } = await aLoggedInUser(target);
  const opens = declarations.filter(
    ({ reply, access }) => reply.session === 'opens' || (reply.session === 'renews' && access.auth.includes('guest')),
  );
  for (const { id, method, path, access } of opens) {
    const caller = access.auth.includes('guest') ? guest : client;
    const at = path.replace(/:\w+/g, 'some-id');
    for (const headers of [{ Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }])
      for (const body of [{}, undefined]) {
        const answer = await caller.request(method, at, body, headers);
        assert.equal(
          answer.body.type,
          'general_unknown_origin',
          `${id} with ${JSON.stringify(headers)}: ${answer.text}`,
        );
      }
  }
});

test('every operation is counted, except those without an owner', () => {
  const free = declarations.filter(({ limits: { calls } }) => calls === 'none');
  const known = [
    ...[
      'health.version',
      'operations.discovery',
      'operations.health',
      'operations.keys',
      'operations.metrics',
      'operations.ping',
    ],
    ...[
      'operations.ready',
      'operations.reference',
      'operations.start',
      'projects.discovery',
      'projects.keys',
      'account.getSamlMetadata',
    ],
    ...['pages.code', 'pages.done', 'pages.email', 'pages.link', 'pages.magicURL', 'pages.recovery', 'pages.reset'],
    ...['pages.failed', 'pages.invitation', 'pages.logo', 'pages.phone', 'pages.removeAddress', 'pages.signOut'],
    ...['pages.secondFactor', 'pages.signIn', 'pages.signUp', 'pages.verified', 'pages.verify'],
  ];
  assert.deepEqual(named(free), known.sort());
  for (const { id, limits } of declarations) assert.ok(limits.calls === 'none' || limits.calls in limitClasses, id);
});

test('bodies have a size from the table, or follow the setting if they hold documents', () => {
  const sizes: readonly number[] = Object.values(bodySizes);
  for (const { id, tag, limits } of declarations)
    if (limits.bodyBytes === 'setting') assert.ok(['databases', 'tablesdb', 'graphql'].includes(tag), id);
    else assert.ok(limits.bodyBytes === undefined || sizes.includes(limits.bodyBytes), id);
});

/** Lists within a shape, by their place. */
function listsOf(shape: Shape, at: string, root: Shape = shape, depth = 0): { at: string; shape: Shape }[] {
  if (depth > 8) return [];
  const found = shape.$ref === undefined ? shape : root.$defs?.[shape.$ref.split('/').at(-1) ?? ''];
  if (found === undefined) return [];
  const inner = [
    ...Object.entries(found.properties ?? {}).map(([name, one]) => [`${at}.${name}`, one] as const),
    ...(found.anyOf ?? []).map((one) => [at, one] as const),
    ...(found.items === undefined ? [] : [[`${at}[]`, found.items] as const]),
  ];
  const own = found.type === 'array' ? [{ at, shape: found }] : [];
  return [...own, ...inner.flatMap(([place, one]) => listsOf(one, place, root, depth + 1))];
}

test('every list in a body is bounded', () => {
  // The GraphQL endpoint counts the operations of a batch itself.
  const ownCount = ['graphql.mutation', 'graphql.post'];
  const free = declarations
    .filter(({ id }) => !ownCount.includes(id))
    .flatMap(({ id, input: { body } = {} }) => listsOf(schemaOf(body, 'input'), id))
    .filter(({ shape }) => shape.maxItems === undefined);
  assert.deepEqual(
    free.map(({ at }) => at),
    [],
  );
});

/** What bounds lists that take no queries: a setting of the project, or a number of the table. */
const boundedBy: Readonly<Record<string, string>> = {
  'account.listSessions': 'session.limit',
  'users.listSessions': 'session.limit',
  'account.listPasskeys': 'passkeyLimits.perUser',
  'users.listPasskeys': 'passkeyLimits.perUser',
  'platforms.list': 'projectLimits.platforms',
  'health.getDB': 'one database',
  'documents.updateAll': 'bulkLimits.echoed',
  'documents.upsertAll': 'bulkLimits.echoed',
  'documents.deleteAll': 'bulkLimits.echoed',
  'rows.updateAll': 'bulkLimits.echoed',
  'rows.upsertAll': 'bulkLimits.echoed',
  'rows.deleteAll': 'bulkLimits.echoed',
  ...Object.fromEntries(
    ['Codes', 'Continents', 'Countries', 'CountriesEU', 'CountriesPhones', 'Currencies', 'Languages'].map((what) => [
      `locale.list${what}`,
      'facts of a package',
    ]),
  ),
};

const lists = declarations.filter(({ reply: { shape: reply }, id }) => {
  if (reply.kind !== 'json' || id.startsWith('graphql.')) return false;
  const { properties = {} } = schemaOf(reply.schema, 'output');
  return 'total' in properties && Object.values(properties).some((one) => one.type === 'array');
});

test('every operation that answers a list takes queries, or has a bound that is named here', () => {
  assert.ok(lists.length > 15, 'lists');
  for (const { id, input } of lists)
    assert.ok('queries' in (input?.query?.shape ?? {}) || id in boundedBy, `${id}: what bounds its answer?`);
});

test('every operation that takes queries bounds their number, their length and their values', async () => {
  const key = (await aServerKey(target)).client;
  const { client, id: userId } = await aLoggedInUser(target);
  const collection = '/databases/d/collections/c';
  (await key.post('/databases', { databaseId: 'd', name: 'D' })).expect(201);
  (await key.post('/databases/d/collections', { collectionId: 'c', name: 'C' })).expect(201);
  (await key.post(`${collection}/documents`, { documentId: 'one', data: {} })).expect(201);
  (await key.post('/teams', { teamId: 't', name: 'T' })).expect(201);
  (await key.post('/storage/buckets', { bucketId: 'b', name: 'B' })).expect(201);
  (await upload(key, '/storage/buckets/b/files', 'text', { fileId: 'f' })).expect(201);
  const hook = { webhookId: 'w', name: 'W', url: 'https://example.com', events: ['*'] };
  (await key.post('/webhooks', hook)).expect(201);
  const ids: Readonly<Record<string, string>> = {
    ...{
      databaseId: 'd',
      collectionId: 'c',
      documentId: 'one',
      tableId: 'c',
      rowId: 'one',
      bucketId: 'b',
      fileId: 'f',
      teamId: 't',
      webhookId: 'w',
      userId,
    },
  };
  const query = (count: number, length = 0) =>
    JSON.stringify({ method: 'equal', attribute: '$id', values: Array(count).fill('a'), note: 'x'.repeat(length) });
  const spread = (count: number, text: string) => Array.from({ length: count }, () => text);
  const tooMuch = [spread(101, query(1)), [query(501)], [query(1, 4096)]];
  for (const { id, path, input, access } of declarations) {
    if (!('queries' in (input?.query?.shape ?? {}))) continue;
    const caller = access.auth.includes('key') ? key : client;
    const at = path.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? 'none');
    for (const queries of tooMuch) {
      const search = queries.map((text) => `queries[]=${encodeURIComponent(text)}`).join('&');
      const answer = await caller.get(`${at}?${search}`);
      assert.match(
        String(answer.body.type),
        /^general_query_(invalid|limit_exceeded)$|^general_argument_invalid$/,
        `${id}: ${answer.text.slice(0, 200)}`,
      );
    }
  }
});
