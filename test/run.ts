// The suite, once per database: node --import tsx test/run.ts [sqlite|postgres] [part of a test's path …] [--option of the node test runner …]
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildTests, builtPath } from './built.js';
import { root } from './harness/checkout.js';
import { startPostgres } from './harness/postgres.js';

const databases = ['sqlite', 'postgres'] as const;
type Database = (typeof databases)[number];

/**
 * These run beside SQLite only: folders that look at the repository, or at parts that know no database, and files about pages in a browser and
 * words on the command line, which are long and come to the same with either database.
 */
const besideSqlite = [
  ...['test/contract/', 'test/repo/', 'test/without-database/'],
  ...['test/browser/hosted-pages', 'test/browser/reference'],
  ...['test/cli/bounded-files', 'test/cli/hostile-names', 'test/cli/provider-saml', 'test/cli/rules'],
];

/** They start first, in this order: a file that takes a minute and starts last would run alone at the end. The others take some seconds. */
const longest = [
  'test/cli/walk.test.ts',
  'test/hostile/hostile.test.ts',
  'test/cli/hostile-names.test.ts',
  'test/browser/hosted-pages.test.ts',
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

const [first, ...rest] = process.argv.slice(2);
const half = databases.find((database) => database === first);
const words = half || first === undefined ? rest : [first, ...rest];
const options = words.filter((word) => word.startsWith('--'));
const filters = words.filter((word) => !word.startsWith('--'));

const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => `test/${path}`)
  .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)))
  .sort((a, b) => turnOf(a) - turnOf(b) || (a < b ? -1 : 1));
for (const path of longest) if (!existsSync(join(root, path))) throw new Error(`${path} is no test, but starts first`);

let running: ChildProcess | undefined;
let interruption: NodeJS.Signals | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interruption = signal;
    running?.kill(signal);
  });
}

const folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
const built = tests.length === 0 ? '' : await buildTests(tests);
const outcomes: boolean[] = [];
const failures: string[] = [];
for (const database of half ? [half] : databases) {
  const files =
    database === 'sqlite'
      ? tests
      : tests.filter((path) => !besideSqlite.some((beginning) => path.startsWith(beginning)));
  if (files.length === 0 || interruption) continue;
  process.stdout.write(`\n${files.length} test files on ${database}\n`);
  outcomes.push(await passes(database, files));
  failures.push(...failedTests(database));
}
for (const path of [folder, built].filter(Boolean)) rmSync(path, { recursive: true });
if (outcomes.length === 0) process.stderr.write(`nothing to run: no such test ${filters.join(' ')}\n`);
if (failures.length > 0) process.stdout.write(`\nFailed:\n${failures.join('\n')}\n`);
const passed = outcomes.length > 0 && outcomes.every(Boolean);
process.exitCode = interruption ? 128 + constants.signals[interruption] : passed ? 0 : 1;

async function passes(database: Database, files: string[]): Promise<boolean> {
  if (database === 'sqlite') return run(database, files, {});
  const server = await startPostgres();
  try {
    return !interruption && (await run(database, files, { SVC_TEST_POSTGRES_URL: server.url }));
  } finally {
    await server.stop();
  }
}

/** What failed in that half, for the end of the output: the report of the first half is far above it by then. */
function failedTests(database: Database): string[] {
  const path = join(folder, database);
  const lines = (existsSync(path) ? readFileSync(path, 'utf8') : '').split('\n').filter(Boolean);
  return lines.map((line) => `  ${database}: ${line}`);
}

async function run(database: Database, files: string[], settings: Record<string, string>): Promise<boolean> {
  const flags = ['--enable-source-maps', '--test', '--test-reporter=spec', '--test-reporter-destination=stdout'];
  const summary = [
    '--test-reporter=./test/harness/failed-tests.js',
    `--test-reporter-destination=${join(folder, database)}`,
  ];
  // One more than there are cores: many files wait for a timer or another process. A file that never ends is a failure.
  const limits = [`--test-concurrency=${availableParallelism() + 1}`, '--test-timeout=900000'];
  const environment = { ...outerEnvironment(), UV_THREADPOOL_SIZE: '16', SVC_TEST_DATABASE: database, ...settings };
  const shared = { SVC_TEST_TEMPLATE: migratedTemplate(environment), SVC_TEST_DOCUMENTS: folder };
  const paths = files.map((file) => join(built, `${builtPath(file, tests.indexOf(file))}.js`));
  running = spawn(process.execPath, [...flags, ...summary, ...limits, ...options, ...paths], {
    cwd: root,
    env: { ...environment, ...shared },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(running, 'exit');
  running = undefined;
  return code === 0;
}

/** Makes the database of which the test files take copies, and returns its URL. */
function migratedTemplate(environment: NodeJS.ProcessEnv): string {
  const { href } = pathToFileURL(join(built, 'test/harness/template.js'));
  const script = `process.stdout.write(await (await import('${href}')).makeTemplate('${folder}'))`;
  const flags = ['--input-type=module', '--eval', script];
  return execFileSync(process.execPath, flags, { cwd: root, env: environment, encoding: 'utf8' });
}

function turnOf(file: string): number {
  const at = longest.indexOf(file);
  return at === -1 ? longest.length : at;
}

/** Without the settings of a server or database which the developer's shell happens to name. */
function outerEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env);
  return Object.fromEntries(entries.filter(([name]) => /^SVC_TEST_/.test(name) || !/^(SVC_|PG)/.test(name)));
}
