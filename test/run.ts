// The suite, once per database:
// node --import tsx test/run.ts [sqlite|postgres] [--all] [--changed[=COMMIT]] [--through=FRONT] [part of a test's path …] [--option of the node test runner …]
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildTests, builtPath } from './built.js';
import { root } from './harness/checkout.js';
import { fronts, requireFront, startFileStore } from './harness/front.js';
import { startPgBouncer } from './harness/pgbouncer.js';
import { startPair, startPostgres } from './harness/postgres.js';
import { changedTests, type Database, databases, findTests, groupTests, testsOn } from './selection.js';
import { testsThrough } from './through.js';
import { cpuSecondsOfChildren, type RunTimes, readTimes, summarize } from './times.js';

const [first, ...rest] = process.argv.slice(2);
const half = databases.find((database) => database === first);
const words = half || first === undefined ? rest : [first, ...rest];
const filters = words.filter((word) => !word.startsWith('--'));
const changed = words.find((word) => /^--changed(=|$)/.test(word));
const through = words.find((word) => word.startsWith('--through='));
const own = ['--all', changed, through];
const options = words.filter((word) => word.startsWith('--') && !own.includes(word));
const front = fronts.find((name) => name === through?.split('=')[1]);
if (through !== undefined && front === undefined) throw new Error(`--through takes one of ${fronts.join(', ')}`);
if (front !== undefined) requireFront(front);

const found = front === undefined ? findTests(filters) : testsThrough(front, findTests(filters));
const tests = changed === undefined ? found : changedTests(found, changed.split('=')[1] ?? 'HEAD');
const all = words.includes('--all') || filters.length > 0 || front !== undefined;

let running: ChildProcess | undefined;
let interruption: NodeJS.Signals | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interruption = signal;
    running?.kill(signal);
  });
}

const folder = makeScratch();
// As open as /tmp: Postgres and some tests run as another user.
chmodSync(folder, 0o1777);
process.env.TMPDIR = folder;
const { SVC_TEST_RETRY, SVC_TEST_TIMES_FILE } = process.env;
/** More failed files than this are a defect, and not a busy machine. */
const maxRetriedFiles = 12;
const outcomes: boolean[] = [];
const failures: string[] = [];
const passedAgain: string[] = [];
const times: RunTimes[] = [];
for (const database of half ? [half] : databases) {
  const files = testsOn(database, tests, all);
  if (files.length === 0 || interruption) continue;
  const left = tests.length - files.length;
  process.stdout.write(`\n${files.length} test files on ${database}${left > 0 ? `, without ${left} others` : ''}\n`);
  const [began, cpuBefore] = [performance.now(), cpuSecondsOfChildren()];
  const passed = await passes(database, files);
  const failed = failedTests(database);
  times.push({
    database,
    seconds: (performance.now() - began) / 1000,
    cpuSeconds: cpuSecondsOfChildren() - cpuBefore,
    ...readTimes(timesOf(database)),
  });
  const again = !passed && SVC_TEST_RETRY === '1' && (await passAlone(database, files, failed));
  outcomes.push(passed || again);
  (again ? passedAgain : failures).push(...failed.map((line) => `  ${database}: ${line}`));
}
for (const cost of times) process.stdout.write(summarize(cost));
if (SVC_TEST_TIMES_FILE) writeFileSync(SVC_TEST_TIMES_FILE, JSON.stringify(times, undefined, 2));
rmSync(folder, { recursive: true });
if (outcomes.length === 0) process.stderr.write(`nothing to run: no such test ${[...filters, changed].join(' ')}\n`);
if (passedAgain.length > 0) process.stdout.write(`\nFailed once and passed alone:\n${passedAgain.join('\n')}\n`);
if (failures.length > 0) process.stdout.write(`\nFailed:\n${failures.join('\n')}\n`);
const passed = outcomes.length > 0 && outcomes.every(Boolean);
process.exitCode = interruption ? 128 + constants.signals[interruption] : passed ? 0 : 1;

/**
 * The directory for the databases and files of the tests: in memory if /dev/shm has 8 GiB and runs programs, because commits then wait for no
 * disk. Tests kill processes and never the machine, so they prove the same. A given TMPDIR is used as it is.
 */
function makeScratch(): string {
  if (process.env.TMPDIR === undefined && existsSync('/dev/shm')) {
    const { bavail, bsize } = statfsSync('/dev/shm');
    const inMemory = bavail * bsize < 2 ** 33 ? undefined : mkdtempSync('/dev/shm/svc-test-');
    try {
      if (inMemory !== undefined) {
        writeFileSync(join(inMemory, 'program'), '#!/bin/sh\n', { mode: 0o700 });
        execFileSync(join(inMemory, 'program'));
        return inMemory;
      }
    } catch {
      // Mounted without permission to run programs.
      rmSync(inMemory ?? '', { recursive: true });
    }
  }
  return mkdtempSync(join(tmpdir(), 'svc-test-'));
}

async function passes(database: Database, files: readonly string[], more: readonly string[] = []): Promise<boolean> {
  const groups = groupTests(files);
  const built = await buildTests(groups);
  const paths = groups.map((group, turn) => join(built, `${builtPath(group, turn)}.js`));
  try {
    if (database === 'sqlite') return await run(database, built, paths, more, {});
    const pair = front === 'standby' ? await startPair() : undefined;
    const server = pair?.primary ?? (await startPostgres());
    const pooler = await poolerOf(server.url);
    const files = front === 'haproxy' ? await startFileStore(folder) : undefined;
    const settings = {
      SVC_TEST_POSTGRES_URL: server.url,
      ...(front === undefined ? {} : { SVC_TEST_THROUGH: front }),
      ...(pooler === undefined ? {} : { SVC_TEST_POOLER_PORT: String(pooler.port) }),
      ...(files === undefined ? {} : { SVC_TEST_FILES_URL: files.url }),
      ...(pair === undefined ? {} : { SVC_TEST_STANDBY_URL: pair.standby.url }),
    };
    try {
      return !interruption && (await run(database, built, paths, more, settings));
    } finally {
      await pooler?.stop();
      await files?.stop();
      await Promise.all([server.stop(), pair?.standby.stop()]);
    }
  } finally {
    rmSync(built, { recursive: true });
  }
}

/** The pooler of `--through`. It serves the databases of all tests, more than one installation has. */
async function poolerOf(url: string) {
  const mode = (['session', 'transaction'] as const).find((name) => front === `pgbouncer-${name}`);
  if (mode === undefined) return undefined;
  return startPgBouncer(url, mode, ['max_client_conn = 2000', 'server_idle_timeout = 5']);
}

/** The tests that failed in a half, for the end of the output, because the report of the first half is far above it. */
function failedTests(database: Database): string[] {
  const path = join(folder, database);
  return (existsSync(path) ? readFileSync(path, 'utf8') : '').split('\n').filter(Boolean);
}

/** Runs the files of the failed tests a second time, with nothing beside them. False if something else failed, such as a process. */
async function passAlone(database: Database, files: readonly string[], failed: readonly string[]): Promise<boolean> {
  const paths = [...new Set(failed.map((line) => line.split(': ')[0] ?? ''))];
  if (interruption || paths.length === 0 || paths.length > maxRetriedFiles) return false;
  if (!paths.every((path) => files.includes(path))) return false;
  process.stdout.write(`\nagain on ${database}: ${paths.join(' ')}\n`);
  rmSync(timesOf(database), { recursive: true });
  return passes(database, paths, ['--test-concurrency=1']);
}

async function run(
  database: Database,
  built: string,
  paths: readonly string[],
  more: readonly string[],
  settings: Record<string, string>,
): Promise<boolean> {
  const flags = ['--enable-source-maps', '--test', '--test-reporter=spec', '--test-reporter-destination=stdout'];
  const summary = [
    '--test-reporter=./test/harness/failed-tests.js',
    `--test-reporter-destination=${join(folder, database)}`,
  ];
  // Two more than there are cores, because many files wait for a timer or another process. A file that does not end fails.
  const limits = [`--test-concurrency=${availableParallelism() + 2}`, '--test-timeout=900000'];
  const environment = { ...outerEnvironment(), UV_THREADPOOL_SIZE: '16', SVC_TEST_DATABASE: database, ...settings };
  mkdirSync(timesOf(database));
  const shared = {
    SVC_TEST_TEMPLATE: migratedTemplate(built, environment),
    SVC_TEST_DOCUMENTS: folder,
    SVC_TEST_TIMES: timesOf(database),
  };
  running = spawn(process.execPath, [...flags, ...summary, ...limits, ...options, ...more, ...paths], {
    cwd: root,
    env: { ...environment, ...shared },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(running, 'exit');
  running = undefined;
  return code === 0;
}

/** Makes the database that the test files copy, and returns its URL. */
function migratedTemplate(built: string, environment: NodeJS.ProcessEnv): string {
  const { href } = pathToFileURL(join(built, 'test/harness/template.js'));
  const script = `process.stdout.write(await (await import('${href}')).makeTemplate('${folder}'))`;
  const flags = ['--input-type=module', '--eval', script];
  return execFileSync(process.execPath, flags, { cwd: root, env: environment, encoding: 'utf8' });
}

function timesOf(database: Database): string {
  return join(folder, `times-${database}`);
}

/** Without the settings of a server or database that the developer's shell names. */
function outerEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env);
  return Object.fromEntries(entries.filter(([name]) => /^SVC_TEST_/.test(name) || !/^(SVC_|PG)/.test(name)));
}
