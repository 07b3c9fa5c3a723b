// Which test files `test/run.ts --through=NAME` runs behind a balancer or a pooler, or with lists from a standby.
import type { fronts } from './harness/front.js';

type Front = (typeof fronts)[number];

/** Folders whose tests reach the product over HTTP. */
const overHttp = [
  ...['audit', 'claims', 'courier', 'documents', 'features', 'feed', 'files', 'hosted-pages', 'jwt', 'logins'],
  ...['oauth2', 'passkeys', 'proofs', 'realtime', 'saml', 'second-factor', 'teams', 'users', 'webhooks'],
];

/** Why a file cannot pass with two servers behind HAProxy. */
const haproxy = {
  'changes settings of a project or adds a platform, which the second server sees after up to half a second': [
    ...['features/reference', 'features/sign-up', 'hosted-pages/branding', 'hosted-pages/forms', 'logins/switches'],
    ...['oauth2/attacks', 'oauth2/flows', 'passkeys/ceremonies', 'passkeys/factors'],
  ],
  'measures, counts, limits or delays what one process does': [
    ...['audit/reading', 'documents/graphql-limits', 'documents/known-totals', 'documents/list-time'],
    ...['documents/populate', 'documents/scans', 'documents/transaction-charges', 'features/headers'],
    ...['features/login-kinds', 'features/login-shed', 'features/operations', 'features/origins'],
    ...['features/origins-outage', 'feed/feed', 'files/previews', 'oauth2/claims'],
    ...['realtime/protocol', 'users/access', 'webhooks/long-bodies', 'webhooks/processes', 'webhooks/upkeep'],
  ],
  'reads the log, the directory or the recorded answers of one process, or changes what is inside it': [
    ...['audit/erased-files', 'documents/idempotency', 'documents/permission-hints', 'files/chunks', 'files/uploads'],
    ...['files/volume', 'oauth2/built-ins', 'teams/sdk', 'webhooks/state-log'],
  ],
  'sends malformed requests or addresses of clients, which HAProxy answers, corrects or replaces': [
    ...['features/client-address', 'features/cookies', 'features/http-edges', 'realtime/handshake'],
  ],
  'listens itself on the address of the server': ['jwt/published', 'logins/web-sdk'],
};

/** Why a file cannot pass behind PgBouncer: its tests use connections in ways that the service does not. */
const pgbouncer = {
  'vacuums, which is not possible in a transaction': ['documents/disk', 'documents/role-plans'],
  'stops a Postgres of its own, to which PgBouncer does not lead': ['features/origins-outage'],
  'writes on a connection for reads': [
    ...['features/sealed-rows', 'proofs/endings', 'teams/two-ways', 'webhooks/tests-stay'],
  ],
};

/** The files that are left out, by the reason. */
const without: Readonly<Record<Front, Readonly<Record<string, readonly string[]>>>> = {
  haproxy,
  'pgbouncer-session': pgbouncer,
  'pgbouncer-transaction': pgbouncer,
  standby: {},
};

/** The files that run behind a front. */
export function testsThrough(name: Front, tests: readonly string[]): string[] {
  const left = Object.values(without[name]).flat();
  return tests
    .filter((path) => overHttp.some((folder) => path.startsWith(`test/${folder}/`)))
    .filter((path) => !left.some((beginning) => path === `test/${beginning}.test.ts`));
}
