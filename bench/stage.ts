import type { ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Driver } from '#src/platform/db/driver.js';
import { ask, freePort, type RunningServer, startNode, startServer, stopChild } from './child.js';
import { fillSecured } from './fill.js';
import { type Installation, install, plainEnvironment } from './installation.js';
import type { LoadGroup, LoadPlan, LoadResult } from './load-plan.js';
import type { Maker } from './maker.js';
import { openDatabase } from './open-database.js';
import { isChosen, type Options } from './options.js';
import { type RunningPostgres, startPostgres } from './postgres.js';
import { compilePrograms, type Programs, projectRoot } from './programs.js';
import type { RecordedAnswer } from './recording.js';
import type { Database } from './scenario-kinds.js';
import { scenarios } from './scenarios.js';
import { checkSecured } from './secured.js';
import { checkCounted, createCounted, totalScenarios } from './totals.js';
import { createWorld, type World } from './world.js';

/** Servers that run side by side. */
interface RunningServers {
  readonly servers: readonly RunningServer[];
  stop(): Promise<void>;
}

/** Everything that the scenarios of one database are measured with. */
export class Stage {
  readonly world: World;
  private readonly directory: string;
  private readonly options: Options;
  private readonly programs: Programs;
  private readonly installation: Installation;
  private readonly postgres: RunningPostgres | undefined;
  private readonly load: ChildProcess;

  private constructor(
    parts: Pick<Stage, 'world'> & {
      directory: string;
      options: Options;
      programs: Programs;
      installation: Installation;
      postgres: RunningPostgres | undefined;
    },
  ) {
    this.world = parts.world;
    this.directory = parts.directory;
    this.options = parts.options;
    this.programs = parts.programs;
    this.installation = parts.installation;
    this.postgres = parts.postgres;
    this.load = this.sideProcess(parts.programs.load);
  }

  /** Installs the product, as built below `root`, on a fresh database below the directory and fills it. */
  static async open(
    database: Database,
    options: Options,
    directory: string,
    postgresDirectory: string,
    root = projectRoot,
  ): Promise<Stage> {
    mkdirSync(directory, { recursive: true });
    const postgres = database === 'postgres' ? await startPostgres(postgresDirectory) : undefined;
    try {
      const installation = await install(join(directory, 'installation'), postgres?.url, root);
      const world = await prepareWorld(installation, options, postgres?.url);
      await postgres?.settle();
      const programs = compilePrograms(join(directory, 'programs'));
      return new Stage({ world, directory, options, programs, installation, postgres });
    } catch (error) {
      await postgres?.stop();
      throw error;
    }
  }

  /** Starts the real server; with `profiled` and --profile it records where its time goes. */
  startReal(profiled = false, port?: number): Promise<RunningServer> {
    const { profile } = this.options;
    const flags = profiled && profile !== undefined ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
    return this.installation.serve(flags, port);
  }

  /** Starts several real servers over the one database. */
  async startSeveral(count: number, profiled = false): Promise<RunningServers> {
    const servers: RunningServer[] = [];
    const stop = async () => {
      await Promise.all(servers.map((server) => server.stop()));
    };
    try {
      while (servers.length < count) servers.push(await this.startReal(profiled, await freePort()));
      return { servers, stop };
    } catch (error) {
      await stop();
      throw error;
    }
  }

  /** Starts bare Koa with these answers. */
  async startBare(answers: readonly RecordedAnswer[]): Promise<RunningServer> {
    const port = await freePort();
    const file = join(this.directory, 'answers.json');
    writeFileSync(file, JSON.stringify(answers));
    const env = plainEnvironment();
    return startServer([this.programs.bare, String(port), file], { cwd: this.directory, env, port });
  }

  /** Starts the least program that sends these bytes as a file, and writes files. */
  async startBareFiles(bytes: Buffer): Promise<RunningServer> {
    const port = await freePort();
    const file = join(this.directory, 'file.bin');
    writeFileSync(file, bytes);
    const env = plainEnvironment();
    return startServer([this.programs.bareFiles, String(port), file, this.directory], {
      cwd: this.directory,
      env,
      port,
    });
  }

  /** Starts the least program that creates documents, on a database of its own or on tables of its own in Postgres. */
  async startLeastCreate(): Promise<RunningServer> {
    const port = await freePort();
    const place = this.postgres?.url ?? join(this.directory, 'least.db');
    const env = { ...plainEnvironment(), UV_THREADPOOL_SIZE: '16', NODE_ENV: 'production' };
    const program = join(projectRoot, 'bench', 'least-create.ts');
    return startServer(['--import', 'tsx', program, String(port), place], { cwd: projectRoot, env, port });
  }

  /** The processes whose CPU time a request on the real server costs: the server and the database. */
  processesOf(...servers: RunningServer[]): number[] {
    return [...servers, this.postgres ?? []].flat().map(({ pid }) => pid);
  }

  /** Loads a server for one round; any wrong answer makes the round worthless and is thrown. */
  async round(
    port: number | readonly number[],
    watch: readonly number[],
    groups: readonly LoadGroup[],
  ): Promise<LoadResult> {
    const { warmupSeconds, seconds } = this.options;
    const plan: LoadPlan = { ports: [port].flat(), watch, groups, warmupSeconds, seconds };
    const result = await ask<LoadResult>(this.load, plan, warmupSeconds + seconds + 30);
    for (const { answers, errors, firstError } of result.groups) {
      if (errors > 0 || answers === 0)
        throw new Error(`${errors} errors, ${answers} answers; the first: ${firstError}`);
    }
    return result;
  }

  /** Starts a process that hashes passwords and nothing else. */
  startHashing(): ChildProcess {
    return this.sideProcess(this.programs.hashRate);
  }

  /** Starts a process that receives deliveries on a port. */
  startReceiver(port: number): ChildProcess {
    return this.sideProcess(this.programs.receiver, String(port));
  }

  /** Starts a process that posts and does nothing else. */
  startSender(): ChildProcess {
    return this.sideProcess(this.programs.sender);
  }

  /** Makes every delivery that has ended due again, in one transaction beside the server. */
  deliverAgain(): Promise<void> {
    const sql = `update deliveries set state = 'pending', attempt = 0, due_at = created_at, fence = fence + 1 where due_at is null`;
    return this.onDatabase((driver) =>
      driver.transact(async (connection) => {
        await connection.run({ sql, values: [] });
        return { value: undefined, inserts: [] };
      }, Number.POSITIVE_INFINITY),
    );
  }

  /** Waits until every event has its number, no delivery waits and each attempt is recorded. */
  deliveriesAtRest(): Promise<void> {
    const left = `select id from events where dispatched_at is null union all select id from deliveries where due_at is not null limit 1`;
    return this.onDatabase(async (driver) => {
      for (const until = performance.now() + 60_000; performance.now() < until; await sleep(50))
        if ((await driver.read({ sql: left, values: [] })).length === 0) return;
      throw new Error('deliveries still wait after a minute');
    });
  }

  /** Ends what runs beside the servers. */
  async close(): Promise<void> {
    await stopChild(this.load);
    await this.postgres?.stop();
  }

  private async onDatabase(work: (driver: Driver) => Promise<void>): Promise<void> {
    const driver = await openDatabase(this.postgres?.url ?? this.installation.databaseFile);
    await work(driver).finally(driver.close);
  }

  private sideProcess(program: string, ...args: string[]): ChildProcess {
    return startNode([program, ...args], { cwd: this.directory, env: plainEnvironment(), ipc: true }).child;
  }
}

/** Fills the database, and what SQL has written there is read once by the service. */
async function prepareWorld(installation: Installation, { only, size }: Options, url?: string): Promise<World> {
  const { project, key } = installation;
  const server = await installation.serve();
  const world = await makeWorld(size, { port: server.port, project, key }, only).finally(server.stop);
  const listed = scenarios.flatMap((one) =>
    one.kind === 'throughput' && one.audience !== undefined && isChosen(one, only) ? [one.audience] : [],
  );
  const filled = [...new Set(listed)];
  if (filled.length === 0) return world;
  const driver = await openDatabase(url ?? installation.databaseFile);
  process.stderr.write(`${driver.dialect}: ${size} documents for ${filled.join(', ')} …\n`);
  await fillSecured(driver, world.secured, filled).finally(driver.close);
  const again = await installation.serve();
  await checkSecured({ port: again.port, project, key }, world, filled).finally(again.stop);
  return world;
}

async function makeWorld(size: number, maker: Maker, only: Options['only']): Promise<World> {
  const world = await createWorld(maker, size);
  if (totalScenarios.some((one) => isChosen(one, only))) {
    await createCounted(maker);
    await checkCounted(maker, world);
  }
  return world;
}
