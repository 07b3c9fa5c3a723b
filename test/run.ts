// The suite, once per database: node --import tsx test/run.ts [sqlite|postgres] [part of a test's path …] [--option of the node test runner …]
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildTests } from './built.js';
import { root } from './harness/checkout.js';
import { startPostgres } from './harness/postgres.js';

const databases = ['sqlite', 'postgres'] as const;
type Database = (typeof databases)[number];

/** These folders look at the repository, not at a database, and run beside SQLite only. */
const withoutDatabase = ['test/contract/', 'test/repo/'];

const [first, ...rest] = process.argv.slice(2);
const half = databases.find((database) => database === first);
const words = half || first === undefined ? rest : [first, ...rest];
const options = words.filter((word) => word.startsWith('--'));
const filters = words.filter((word) => !word.startsWith('--'));

const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => `test/${path}`)
  .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)))
  .sort();

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
    database === 'sqlite' ? tests : tests.filter((path) => !withoutDatabase.some((folder) => path.startsWith(folder)));
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
  running = spawn(process.execPath, [...flags, ...summary, ...limits, ...options, ...files.map(builtPath)], {
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

function builtPath(file: string): string {
  return join(built, file.replace(/\.ts$/, '.js'));
}

/** Without the settings of a server or database which the developer's shell happens to name. */
function outerEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env);
  return Object.fromEntries(entries.filter(([name]) => /^SVC_TEST_/.test(name) || !/^(SVC_|PG)/.test(name)));
}
