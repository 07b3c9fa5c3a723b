import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, type RunningServer, startServer } from './child.js';
import { sessionsOfOwner } from './people.js';
import { projectRoot } from './programs.js';

/** The built product, installed the way an operator does it. */
export interface Installation {
  readonly project: string;
  readonly key: string;
  /** The database, unless it is in Postgres. */
  readonly databaseFile: string;
  /** Starts a server, on the port of the installation unless another is named. */
  serve(nodeFlags?: readonly string[], otherPort?: number): Promise<RunningServer>;
}

const project = 'bench';

/** Runs the commands that make a fresh installation, of the build below `root`, with one project and one server key. */
export async function install(
  directory: string,
  databaseUrl: string | undefined,
  root = projectRoot,
): Promise<Installation> {
  const launcher = join(root, 'bin', 'svc');
  mkdirSync(directory, { recursive: true });
  const port = await freePort();
  const env = operatorEnvironment(directory, port, databaseUrl);
  const svc = (...args: string[]): Record<string, unknown> => {
    const run = spawnSync(process.execPath, [launcher, ...args, '--json'], {
      cwd: directory,
      env,
      input: '',
      timeout: 60_000,
      encoding: 'utf8',
    });
    if (run.status !== 0) throw new Error(`svc ${args.join(' ')}: exit ${run.status}\n${run.stdout}${run.stderr}`);
    return JSON.parse(run.stdout) as Record<string, unknown>;
  };
  svc('init', '--yes');
  svc('project', 'create', 'Bench', '--id', project);
  svc('project', 'update', project, '--set', `session.limit=${sessionsOfOwner}`);
  const { secret: key } = svc('apikey', 'create', '--project', project, '--name', 'bench', '--scopes', 'all');
  if (typeof key !== 'string') throw new Error('apikey create printed no secret');
  return {
    project,
    key,
    databaseFile: join(directory, 'data', 'svc.db'),
    serve: (nodeFlags = [], otherPort = port) =>
      startServer([...nodeFlags, launcher, 'serve'], {
        cwd: directory,
        env: { ...env, SVC_PORT: String(otherPort) },
        port: otherPort,
      }),
  };
}

/** The caller's environment without anything that would configure the product or Node, then what the benchmark sets. */
function operatorEnvironment(directory: string, port: number, databaseUrl: string | undefined): NodeJS.ProcessEnv {
  return {
    ...plainEnvironment(),
    NO_COLOR: '1',
    SVC_CONFIG: join(directory, 'svc.env'),
    SVC_DATA_DIR: join(directory, 'data'),
    SVC_HOST: '127.0.0.1',
    SVC_PORT: String(port),
    SVC_BASE_URL: `http://localhost:${port}/v1`,
    SVC_RATE_LIMIT: 'off',
    SVC_LOG_LEVEL: 'warn',
    SVC_WEBHOOK_ALLOW_INSECURE: 'true',
    ...(databaseUrl === undefined ? {} : { SVC_DATABASE_URL: databaseUrl }),
  };
}

/** The caller's environment without settings of the product, of Node and of npm. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const foreign = /^(SVC_|NODE_|npm_|UV_)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}
