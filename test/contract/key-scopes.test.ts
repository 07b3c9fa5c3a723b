// A server key is admitted by scope: every operation that takes one names the scopes it needs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { recordedBy, rowsOf } from '../harness/database.js';
import { emailProof, page, recoveryProof } from '../proofs/proofs.js';

/** Operations that take a key of any scope: they tell a key nothing that a guest would not be told. */
const withoutScopes = [
  // Each root field asks for the scopes of its own operation.
  ...['graphql_post', 'graphql_mutation', 'graphql_get'],
  // Public documents, the same for every caller.
  ...['operations_openapi', 'operations_keys', 'operations_discovery'],
];

interface Described {
  readonly operationId: string;
  readonly security: readonly Record<string, unknown>[];
  readonly 'x-scopes'?: readonly string[];
}

const target = await startAppliance();
const document = (await target.appliance.describe(target.project)) as {
  paths: Record<string, Record<string, Described>>;
};
const operations = Object.values(document.paths).flatMap((item) => Object.values(item));

test('every operation that takes a key names its scopes, but for the listed ones', () => {
  const takesKey = operations.filter(({ security }) => security.some((set) => 'key' in set));
  assert.ok(takesKey.length > 50);
  const scopeless = takesKey.filter((operation) => (operation['x-scopes'] ?? []).length === 0);
  assert.deepEqual(scopeless.map(({ operationId }) => operationId).sort(), [...withoutScopes].sort());
});

test('a key without users.write can neither recover nor verify, and gets no secret', async () => {
  const user = await aLoggedInUser(target);
  const password = 'the password of a thief';
  const recovery = await recoveryProof(target, user);
  const verification = await emailProof(target, user);
  const table = [
    ['POST', '/account/recovery', { email: user.email, url: page }],
    ['PUT', '/account/recovery', { ...recovery, password }],
    ['PUT', '/account/verifications/email', verification],
    ['PUT', '/account/verification', verification],
    ['PUT', '/account/verifications/phone', verification],
  ] as const;
  for (const scopes of [['documents.read'], ['sessions.write', 'users.read', 'teams.write']]) {
    const { client } = await aServerKey(target, { scopes });
    for (const [method, path, body] of table) {
      const before = await rowsOf(target, 'one_time_secrets');
      const { value, recorded } = await recordedBy(target, () => client.request(method, path, body));
      value.refused(401, 'general_unauthorized_scope');
      assert.match(value.string('message'), /users\.write/);
      assert.deepEqual(recorded, { audit: [], events: [], messages: [] });
      assert.deepEqual(await rowsOf(target, 'one_time_secrets'), before);
    }
  }
  const able = await aServerKey(target, { scopes: ['users.write'] });
  const { body } = (await able.client.post('/account/recovery', { email: user.email, url: page })).expect(201);
  assert.deepEqual([body.userId, String(body.secret).length], [user.id, 43]);
  (await able.client.put('/account/verifications/email', verification)).expect(200);
});
