// The real server on a free port over a real database, with a clock that can be moved and hashes that cost little.
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Appliance, createAppliance } from '#src/appliance.js';
import type { Project } from '#src/contract/project.js';
import type { Listener } from '#src/http/server.js';
import { loadConfig } from '#src/platform/config/load.js';
import type { Config } from '#src/platform/config/schema.js';
import { defaultHashParameters, type HashParameters } from '#src/platform/crypto/hashing.js';
import { countStart } from '../times.js';
import { createJudge, type Judge, type RecordedAnswer, recordAnswers } from './answers.js';
import { createTestClock, type TestClock } from './clock.js';
import { fileStoreOf, front, pooledUrl, startHaproxy } from './front.js';
import { createDatabase } from './postgres.js';
import { after } from './runner.js';
import { createStillScheduler } from './scheduler.js';
import { slowDriver } from './slow-driver.js';

/** What a test may ask of its server. */
export interface ApplianceOptions {
  /** Settings by their names in the environment; they replace those of the harness. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly hashParameters?: HashParameters;
  /** A database of the test's own instead of a fresh one. */
  readonly databaseUrl?: string;
  /** Jobs run by the machine's clock; otherwise only when the test says so. */
  readonly ticking?: boolean;
  /** A clock of a sibling's own. */
  readonly clock?: TestClock;
  /** Cuts the time limits of outbound calls down. */
  readonly longestCallMs?: number;
}

/** A server under test. */
export interface TestAppliance {
  readonly appliance: Appliance;
  /** `http://127.0.0.1:port`. */
  readonly origin: string;
  readonly project: Project;
  /** A second tenant of the same installation. */
  readonly neighbour: Project;
  readonly clock: TestClock;
  readonly databaseUrl: string;
  /** Everything that was logged so far. */
  log(): string;
  /** Everything that was answered so far. */
  readonly answers: readonly RecordedAnswer[];
  readonly judge: Judge;
  /** Throws where an answer since the last call does not fit the served OpenAPI document. */
  verifyAnswers(): void;
  /** Another server process in all but name: same database, same clock. */
  startSibling(options?: ApplianceOptions): Promise<TestAppliance>;
  /** What the first TERM does. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** The database of this run of the suite. */
export const databaseUnderTest = process.env.SVC_TEST_DATABASE === 'postgres' ? 'postgres' : 'sqlite';

/** Hashes that cost a millisecond; tests of the time a login takes use the product's own. */
export const cheapHashes: HashParameters = { ...defaultHashParameters, scrypt: { logN: 10, r: 8, p: 1 } };

/** Limits no test meets by accident; a test of the limits sets `SVC_RATE_LIMITS` to the empty text, which means the product's own. */
const generousLimits = [
  'data',
  'refused',
  'operations',
  'login',
  'signup',
  'anonymous',
  'send',
  'send-daily',
  'send-mail',
  'send-sms',
  'ceremony',
  'jwt',
  'external-start',
  'external-callback',
]
  .map((name) => `${name}=1000000/60`)
  .join();
/** Milliseconds by which answers of the database are delayed at most. */
const longestDelayMs = Number(process.env.SVC_TEST_DELAY ?? 0);
const masterKey = randomBytes(32).toString('base64url');

/** Starts a server that ends with the calling test, or with the file when called outside of one. */
export async function startAppliance(options: ApplianceOptions = {}): Promise<TestAppliance> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
  const databaseUrl = options.databaseUrl ?? (await migratedDatabase(directory));
  const started = await startBehindFront({ ...options, databaseUrl }, createTestClock(), directory);
  after(async () => {
    await started.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return started;
}

/** An empty database of the kind under test, or on Postgres a copy of the one that is named; an SQLite file goes into the directory. */
export async function freshDatabase(directory: string, template?: string): Promise<string> {
  if (databaseUnderTest === 'sqlite') return `sqlite:${join(directory, `${randomBytes(6).toString('hex')}.db`)}`;
  const server = process.env.SVC_TEST_POSTGRES_URL;
  if (server === undefined) throw new Error('SVC_TEST_POSTGRES_URL is not set; test/run.ts sets it');
  return createDatabase(server, `test-${randomBytes(6).toString('hex')}`, template);
}

/** A copy of the migrated database which `test/run.ts` made for all files of the run; an empty one where a file is run by itself. */
async function migratedDatabase(directory: string): Promise<string> {
  const template = process.env.SVC_TEST_TEMPLATE;
  if (template === undefined) return freshDatabase(directory);
  if (databaseUnderTest === 'postgres') return freshDatabase(directory, new URL(template).pathname.slice(1));
  const databaseUrl = await freshDatabase(directory);
  copyFileSync(template.slice('sqlite:'.length), databaseUrl.slice('sqlite:'.length));
  return databaseUrl;
}

/** The settings of a server under test. */
export function testConfig(
  directory: string,
  databaseUrl: string,
  settings: ApplianceOptions['settings'] = {},
): Config {
  return loadConfig({
    environment: {
      SVC_CONFIG: join(directory, 'none.env'),
      SVC_DATA_DIR: directory,
      SVC_DATABASE_URL: pooledUrl(databaseUrl),
      SVC_MASTER_KEY: masterKey,
      SVC_PORT: '0',
      SVC_LOG_LEVEL: 'debug',
      SVC_LOG_FORMAT: 'json',
      SVC_RATE_LIMITS: generousLimits,
      // The servers of a test share the 20 sessions that PgBouncer keeps for a database.
      ...(front === 'pgbouncer-session' ? { SVC_POOL_SIZE: '6' } : {}),
      ...standbyOf(databaseUrl),
      ...fileStoreOf(databaseUrl),
      ...settings,
    },
  }).config;
}

/** Starts a server; with `--through=haproxy` two, whose balancer has the origin that tests see. */
async function startBehindFront(
  options: ApplianceOptions & { readonly databaseUrl: string },
  clock: TestClock,
  directory: string,
): Promise<TestAppliance> {
  const first = await start(options, clock, directory);
  if (front !== 'haproxy' || databaseUnderTest !== 'postgres') return first;
  const second = await first.startSibling();
  const haproxy = await startHaproxy([first, second].map(({ origin }) => Number(new URL(origin).port)));
  const recorder = recordAnswers(new Set([haproxy.port]));
  return {
    ...first,
    origin: `http://127.0.0.1:${haproxy.port}`,
    answers: recorder.answers,
    log: () => first.log() + second.log(),
    drain: async () => {
      await Promise.all([first.drain(), second.drain()]);
    },
    close: async () => {
      await first.close();
      await haproxy.stop();
      recorder.stop();
    },
  };
}

/** With `--through=standby`, lists are read from the standby of the tests' Postgres. */
function standbyOf(databaseUrl: string): Record<string, string> {
  const { SVC_TEST_POSTGRES_URL: primary, SVC_TEST_STANDBY_URL: standby } = process.env;
  if (primary === undefined || standby === undefined || !databaseUrl.startsWith(new URL('/', primary).href)) return {};
  return { SVC_DATABASE_READ_URL: databaseUrl.replace(new URL(primary).host, new URL(standby).host) };
}

async function start(
  options: ApplianceOptions & { readonly databaseUrl: string },
  clock: TestClock,
  directory: string,
): Promise<TestAppliance> {
  const { databaseUrl } = options;
  const config = testConfig(directory, databaseUrl, options.settings);
  const lines: string[] = [];
  countStart('server');
  const appliance = await createAppliance(config, {
    clock,
    ...(options.ticking ? {} : { scheduler: createStillScheduler() }),
    hashParameters: options.hashParameters ?? { ...cheapHashes, algorithm: config.passwordHash },
    writeLog: (text) => lines.push(text),
    ...(longestDelayMs > 0 ? { wrapDriver: (driver) => slowDriver(driver, longestDelayMs) } : {}),
    ...(options.longestCallMs === undefined ? {} : { longestCallMs: options.longestCallMs }),
  });
  const begin = async () => {
    await appliance.runtime.migrator.up();
    const project = await ensureProject(appliance, 'main');
    const neighbour = await ensureProject(appliance, 'neighbour');
    return { project, neighbour, listener: await appliance.serve() };
  };
  const { project, neighbour, listener } = await begin().catch(async (error) => {
    // Otherwise its open connections keep the process of the test alive.
    await appliance.close();
    throw error;
  });
  const ports = new Set([listener.port]);
  const recorder = recordAnswers(ports);
  const origin = `http://127.0.0.1:${listener.port}`;
  const judge = await judgeOf(appliance, neighbour);
  let verified = 0;
  let closing: Promise<void> | undefined;
  const siblings: TestAppliance[] = [];

  const started: TestAppliance = {
    appliance,
    origin,
    project,
    neighbour,
    clock,
    databaseUrl,
    log: () => {
      appliance.runtime.log.flush();
      return lines.join('');
    },
    answers: recorder.answers,
    judge,
    verifyAnswers: () => {
      const fresh = recorder.answers.slice(verified);
      verified = recorder.answers.length;
      const problems = fresh.map(judge.problem).filter((problem) => problem !== undefined);
      if (problems.length > 0) throw new Error(`answers that /openapi.json does not describe:\n${problems.join('\n')}`);
    },
    startSibling: async (given = {}) => {
      const sibling = await start({ ...options, ...given, databaseUrl }, given.clock ?? clock, directory);
      siblings.push(sibling);
      return sibling;
    },
    drain: () => listener.drain(),
    close: () => {
      closing ??= closeAll(started, siblings, listener).finally(recorder.stop);
      return closing;
    },
  };
  return started;
}

async function closeAll(started: TestAppliance, siblings: readonly TestAppliance[], listener: Listener): Promise<void> {
  for (const sibling of siblings) await sibling.close();
  await listener.drain();
  await started.appliance.close();
  started.verifyAnswers();
}

async function ensureProject({ runtime, features }: Appliance, id: string): Promise<Project> {
  const by = { projectId: id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  return runtime.db.work(by, async (unit) => {
    const known = (await features.projects.list(unit)).find((project) => project.id === id);
    return known ?? features.projects.create(unit, { id, name: `Project ${id}` });
  });
}

let judge: Judge | undefined;

/**
 * The judge by the OpenAPI document of the server. Paths and shapes are the same whatever the settings, so that it is made once for all servers of
 * a file, and the document once for all files of a run of `test/run.ts`: that takes a third of a second.
 */
async function judgeOf(appliance: Appliance, project: Project): Promise<Judge> {
  if (judge !== undefined) return judge;
  const folder = process.env.SVC_TEST_DOCUMENTS;
  const file = folder === undefined ? undefined : join(folder, 'openapi.json');
  const kept = file !== undefined && existsSync(file);
  const text = kept ? readFileSync(file, 'utf8') : JSON.stringify(await appliance.describe(project));
  if (file !== undefined && !kept) {
    // Under a name of its own first: another file may be about to read it.
    writeFileSync(`${file}.${process.pid}`, text);
    renameSync(`${file}.${process.pid}`, file);
  }
  judge = createJudge(JSON.parse(text));
  return judge;
}
