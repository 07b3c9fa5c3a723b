// The table of the README against Appwrite and PocketBase: each row about this service has the tests that show it, and what can be asked cheaply is asked.
// The columns of the others are read in their documentation by people; the line below the table says when.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createApp } from '#src/http/app.js';
import { routePathsOf } from '#src/http/routes.js';
import { startAppliance } from '../harness/appliance.js';
import { root } from '../harness/checkout.js';
import { createClient } from '../harness/client.js';
import { readTable } from '../harness/markdown.js';

const page = 'README.md';
const target = await startAppliance();
const { runtime, features } = target.appliance;
const routes = createApp(runtime, features).state.operations.flatMap(({ declaration }) =>
  routePathsOf(declaration).map((path) => `${declaration.method} ${path.replace(/:\w+/g, '{}')}`),
);

/** What shows a row: the column as it stands, tests, routes that are there, and paths of which the service says that it has no such thing. */
type Proof = { says: string; tests: readonly string[]; routes?: readonly string[]; absent?: readonly string[] };
const proofs: Record<string, Proof> = {
  'runs as': { says: 'one process of Node.js', tests: ['repo/readme', 'repo/release', 'cli/running'] },
  database: { says: 'SQLite or Postgres', tests: ['db/schema', 'repo/readme'] },
  'web console': { says: 'no; the command `svc`', tests: ['cli/walk'] },
  'email and password, OAuth2, mailed codes, second factor': {
    says: 'yes',
    tests: ['features/login', 'oauth2/flows', 'logins/redeeming', 'second-factor/login'],
    routes: [
      'POST /v1/account/sessions/email',
      'GET /v1/account/sessions/oauth2/{}',
      'POST /v1/account/tokens/email',
      'POST /v1/account/mfa/challenges',
    ],
  },
  passkeys: { says: 'yes', tests: ['passkeys/ceremonies', 'browser/passkeys'] },
  'SAML 2.0': { says: 'yes', tests: ['saml/flows', 'saml/tampered'], routes: ['GET /v1/account/sessions/saml/{}'] },
  'ready-made sign-in pages': { says: 'yes', tests: ['browser/hosted-pages'], routes: ['GET /v1/auth/sign-in'] },
  teams: { says: 'yes', tests: ['teams/teams'], routes: ['POST /v1/teams'] },
  'documents with permissions of their own': { says: 'yes', tests: ['documents/permissions'] },
  'relations between documents': { says: 'yes', tests: ['documents/relations', 'documents/populate'] },
  'transactions of several requests': {
    says: 'yes',
    tests: ['documents/transactions', 'documents/transaction-kill'],
    routes: ['POST /v1/databases/transactions', 'POST /v1/tablesdb/transactions'],
  },
  'full-text search': { says: 'yes', tests: ['documents/fulltext'] },
  'REST and GraphQL': { says: 'yes', tests: ['documents/graphql-http', 'documents/sdk'], routes: ['POST /v1/graphql'] },
  'files with previews': {
    says: 'disk or S3',
    tests: ['files/previews', 'without-database/stores'],
    routes: ['GET /v1/storage/buckets/{}/files/{}/preview'],
  },
  realtime: {
    says: 'WebSocket and a stream of events',
    tests: ['realtime/sdk', 'feed/stream'],
    routes: ['GET /v1/events'],
  },
  'signed webhooks with retries and replay': {
    says: 'yes',
    tests: ['webhooks/signature', 'webhooks/schedule', 'webhooks/management'],
    routes: ['POST /v1/webhooks/{}/deliveries/{}/replay'],
  },
  'audit log that shows tampering': { says: 'yes', tests: ['audit/tampering', 'repo/audit-page'] },
  'functions in the server': { says: 'no', tests: ['contract/appwrite'], absent: ['/functions'] },
  'push messages, hosting of sites': {
    says: 'no',
    tests: ['contract/appwrite'],
    absent: ['/messaging/messages', '/sites'],
  },
};

test('the table has the proved rows, and only proved claims about this service', () => {
  const own = readTable(page, '').map(([label, column]) => [label, column]);
  const expected = Object.entries(proofs).map(([label, { says }]) => [label, says]);
  assert.deepEqual(own, expected);
});

test('each test that a row rests on is there', () => {
  const missing = Object.values(proofs)
    .flatMap(({ tests }) => tests)
    .filter((name) => !existsSync(join(root, `test/${name}.test.ts`)));
  assert.deepEqual(missing, []);
});

test('the service has the routes that it claims, and admits the missing ones', async () => {
  const claimed = Object.values(proofs).flatMap((proof) => proof.routes ?? []);
  assert.deepEqual(
    claimed.filter((route) => !routes.includes(route)),
    [],
  );
  const guest = createClient(target);
  for (const path of Object.values(proofs).flatMap(({ absent }) => absent ?? []))
    assert.equal((await guest.get(path)).expect(400).body.type, 'general_feature_unsupported', path);
});

test('every cell of the others says something, and the page says how old that is', () => {
  for (const row of readTable(page, '')) assert.ok(row.length === 4 && row.every((cell) => cell !== ''), row.join('|'));
  const stated = /what they published until (\w+ 20\d\d) \(Appwrite \d+\.\d+, PocketBase \d+\.\d+\)/.exec(
    readFileSync(join(root, page), 'utf8'),
  );
  assert.ok(stated?.[1] !== undefined && !Number.isNaN(Date.parse(`1 ${stated[1]}`)));
});
