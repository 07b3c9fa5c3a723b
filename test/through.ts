// Which test files `test/run.ts --through=NAME` runs behind a balancer or a pooler, or with lists from a standby.
import type { fronts } from './harness/front.js';

type Front = (typeof fronts)[number];

/** Folders whose tests reach the product over HTTP. */
const overHttp = [
  ...['audit', 'claims', 'courier', 'documents', 'features', 'feed', 'files', 'hosted-pages', 'jwt', 'logins'],
  ...['oauth2', 'passkeys', 'proofs', 'realtime', 'saml', 'second-factor', 'teams', 'users', 'webhooks'],
];

/** Beginnings of paths, with the reason why the file cannot pass behind the front. */
const without: Readonly<Record<Front, readonly (readonly [path: string, reason: string])[]>> = {
  haproxy: [],
  'pgbouncer-session': [],
  'pgbouncer-transaction': [],
  standby: [],
};

/** The files that run behind a front. */
export function testsThrough(name: Front, tests: readonly string[]): string[] {
  return tests
    .filter((path) => overHttp.some((folder) => path.startsWith(`test/${folder}/`)))
    .filter((path) => !without[name].some(([beginning]) => path.startsWith(`test/${beginning}`)));
}
