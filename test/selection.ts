// Which test files run on which database, in which order, and which of them share a process.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestGroup } from './built.js';
import { root } from './harness/checkout.js';

export const databases = ['sqlite', 'postgres'] as const;
export type Database = (typeof databases)[number];

/**
 * These run on SQLite only: folders that look at the repository, or at parts that know no database, and long files about pages in a browser and
 * words on the command line, which give the same result on either database.
 */
const sqliteOnly = [
  ...['test/contract/', 'test/repo/', 'test/without-database/'],
  ...['test/browser/hosted-pages', 'test/browser/reference'],
  ...['test/cli/bounded-files', 'test/cli/hostile-names', 'test/cli/provider-saml', 'test/cli/rules'],
];

/**
 * Folders, and beginnings of paths, without SQL of their own that differs by database: `npm test` runs a third of their files on Postgres,
 * another third at each commit.
 */
const alikeOnBoth = [
  ...['browser/', 'courier/', 'features/', 'hosted-pages/', 'jwt/', 'logins/', 'oauth2/', 'passkeys/', 'prometheus/'],
  ...['proofs/', 'saml/', 'second-factor/', 'users/'],
  // Words, terminals and files of the command line; the other files of the folder are about databases.
  ...['cli/first-hour', 'cli/keys', 'cli/loops', 'cli/mail', 'cli/next-steps', 'cli/other-users', 'cli/providers'],
  ...[
    'cli/questions',
    'cli/second-factor',
    'cli/team',
    'cli/terminal',
    'cli/tls',
    'cli/users',
    'cli/walk',
    'cli/webhooks',
  ],
].map((path) => `test/${path}`);

/** They start first, in this order, each in a process of its own: a long file that starts last would run alone at the end. */
const longest = [
  'test/cli/shared-limits.test.ts',
  'test/db/standby.test.ts',
  'test/cli/walk.test.ts',
  'test/hostile/hostile.test.ts',
  'test/cli/hostile-names.test.ts',
  'test/browser/hosted-pages.test.ts',
  'test/browser/reference.test.ts',
  'test/cli/rules.test.ts',
  'test/realtime/slow-others.test.ts',
  'test/webhooks/real-time.test.ts',
  'test/webhooks/two-servers.test.ts',
  'test/documents/large-answers.test.ts',
  'test/repo/install.test.ts',
  'test/repo/release.test.ts',
  'test/faults/kill.test.ts',
  'test/faults/postgres.test.ts',
  'test/cli/documents.test.ts',
  'test/cli/setup.test.ts',
  'test/cli/doctor.test.ts',
  'test/cli/loops.test.ts',
  'test/cli/provider-saml.test.ts',
  'test/documents/permissions.test.ts',
  'test/documents/random-queries.test.ts',
  'test/features/bounds.test.ts',
  'test/hosted-pages/forms.test.ts',
];

/** They look at the memory of their process or change its globals, so that no other file may share it. */
const alone = [
  'test/without-database/images',
  'test/files/image-process',
  'test/files/memory',
  'test/feed/feed',
  'test/contract/',
  // They give the process the globals of a browser.
  'test/documents/sdk-versions',
  'test/realtime/kill',
  'test/realtime/sdk',
];

/** A process that ends late holds up the whole run. */
const filesPerProcess = 6;

/** The test files whose path contains one of the filters, or all. */
export function findTests(filters: readonly string[]): string[] {
  for (const path of longest)
    if (!existsSync(join(root, path))) throw new Error(`${path} does not exist, but starts first`);
  return (
    readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.test.ts'))
      .map((path) => `test/${path}`)
      // Tests with programs of others run only if they are asked for.
      .filter((path) => path.startsWith('test/world/') === filters.some((filter) => filter.startsWith('test/world')))
      .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)))
      .sort()
  );
}

/** Folders of tests by the folders of `src` that they test; a folder that is not named is tested by the folder of tests with its name. */
const testedBy: readonly (readonly [source: string, tests: readonly string[]])[] = [
  ['src/features/data/buckets', ['files']],
  ['src/features/data/databases', ['documents']],
  ['src/features/data/transactions', ['documents']],
  ['src/features/events/', ['audit', 'webhooks', 'feed', 'realtime']],
  ['src/features/identity/login/', ['logins', 'oauth2', 'saml']],
  ['src/features/identity/external-logins', ['oauth2', 'saml']],
  ['src/features/identity/factors', ['second-factor']],
  ['src/features/identity/sessions', ['logins', 'jwt']],
  ['src/features/identity/tokens', ['jwt']],
  ['src/features/identity/signing-keys', ['jwt']],
  ['src/features/identity/user-management', ['users']],
  ['src/features/identity/verification', ['proofs']],
  ['src/features/identity/recovery', ['proofs']],
  ['src/features/installation/jobs', ['cron']],
  ['src/features/installation/idempotency', ['features']],
  ['src/features/installation/limits', ['features']],
  ['src/graphql', ['documents']],
  ['src/http', ['features', 'without-database']],
  ['src/platform/db', ['db', 'documents']],
  ['src/platform', ['without-database', 'features']],
  ['migrations', ['db']],
  ['docs', ['repo', 'contract']],
  ['templates', ['hosted-pages', 'courier']],
];

/** Test files that changed since the commit, and the files of folders that test what changed, without those that take long. */
export function changedTests(tests: readonly string[], base: string): string[] {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);
  const changed = [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')];
  const folders = new Set(changed.filter((path) => !path.startsWith('test/')).flatMap(foldersFor));
  return tests.filter((path) => changed.includes(path) || (folders.has(dirname(path)) && !longest.includes(path)));
}

function foldersFor(path: string): string[] {
  const [, named = []] = testedBy.find(([source]) => path.startsWith(source)) ?? [];
  const sameName = dirname(path)
    .split('/')
    .map((folder) => `test/${folder}`);
  return [...named.map((folder) => `test/${folder}`), ...sameName];
}

/** The files that run on a database; `all` leaves out only those that know no database. */
export function testsOn(database: Database, tests: readonly string[], all: boolean): string[] {
  if (database === 'sqlite') return [...tests];
  const commit = all ? '' : currentCommit();
  return tests
    .filter((path) => !sqliteOnly.some((beginning) => path.startsWith(beginning)))
    .filter((path) => all || !alikeOnBoth.some((beginning) => path.startsWith(beginning)) || isChosen(commit, path));
}

/** Divides test files into groups that run in one process each, in the order in which they start. */
export function groupTests(tests: readonly string[]): TestGroup[] {
  const first = longest.filter((path) => tests.includes(path));
  const single = tests.filter((path) => !first.includes(path) && alone.some((beginning) => path.startsWith(beginning)));
  const rest = tests.filter((path) => !first.includes(path) && !single.includes(path));
  const folders = [...new Set(rest.map((path) => dirname(path)))];
  const groups = folders.flatMap((folder) => divide(rest.filter((path) => dirname(path) === folder)));
  return [...first.map((path) => [path]), ...groups, ...single.map((path) => [path])];
}

/** Divides files into groups of nearly equal size. */
function divide(files: readonly string[]): TestGroup[] {
  const groups = Math.ceil(files.length / filesPerProcess);
  return Array.from({ length: groups }, (_, at) => files.filter((_file, place) => place % groups === at));
}

function isChosen(commit: string, path: string): boolean {
  return (createHash('sha256').update(`${commit} ${path}`).digest()[0] ?? 0) % 3 === 0;
}

/** The hash of the commit that is checked out, or nothing in a copy without its history. */
function currentCommit(): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '';
  }
}
