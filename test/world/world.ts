// What the parts of `npm run test:world` share: programs that nobody here wrote, against a served project.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from '../harness/checkout.js';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';
import { type Browser, createBrowser } from '../oauth2/browser.js';

/** A served project with a server key that has every scope. */
export interface World {
  readonly place: Installation;
  readonly endpoint: string;
  readonly project: string;
  readonly key: string;
  /** Everything that the server logged so far. */
  log(): string;
}

/** The reason to skip a part: its program does not run. */
export function lacks(program: string, args: readonly string[], name: string): string | false {
  return spawnSync(program, args).status === 0 ? false : `no ${name}`;
}

/** Where `npm run test:clients` installs the packages that `test/world/clients/package.json` names. */
export const clients = join(root, 'node_modules/.cache/clients');

/** The reason to skip what needs one of these packages. */
export const lacksClients = existsSync(join(clients, 'node_modules')) ? false : 'no clients, see npm run test:clients';

/** Loads one of these packages. */
export const loadClient = createRequire(join(clients, 'package.json'));

/** Serves a project until the end of the test file. */
export async function serveWorld(env: Record<string, string> = {}): Promise<World> {
  const place = await install();
  after(() => place.dispose());
  Object.assign(place.env, env);
  await place.json(['project', 'create', 'World', '--id', 'world']);
  const named = ['--project', 'world', '--name', 'world', '--scopes', 'all'];
  const { secret: key } = await place.json<{ secret: string }>(['apikey', 'create', ...named]);
  const { url: endpoint, log } = await place.serve();
  return { place, endpoint, project: 'world', key, log };
}

/** Settings of a server that calls identity providers of this machine, and of which `browserOf` is the browser. */
export const openSettings = { SVC_WEBHOOK_ALLOW_INSECURE: 'true', SVC_BASE_URL: 'http://localhost:8080/v1' };

/** A browser in front of a server that listens on another port than its `SVC_BASE_URL` says. */
export const browserOf = ({ endpoint }: World): Browser =>
  createBrowser({ origin: new URL(endpoint).origin, verifyAnswers: () => {} });

/** Starts a server until the end of the test file, and waits until an address of it answers. */
export async function startServer(
  program: string,
  args: readonly string[],
  url: string,
  env: Record<string, string> = {},
): Promise<void> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const exit = once(child, 'exit');
  after(() => {
    child.kill();
    return exit;
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += chunk));
  const answers = () =>
    fetch(url).then(
      ({ status }) => status < 500,
      () => false,
    );
  while (!(await answers())) {
    assert.equal(child.exitCode, null, printed);
    await sleep(200);
  }
}

/** Runs a program to its end and returns its exit code and everything that it printed. */
export async function run(program: string, args: readonly string[], env: Record<string, string> = {}, cwd?: string) {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += chunk));
  const [code] = await once(child, 'close');
  return { code, printed };
}
