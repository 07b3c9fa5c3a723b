// The server that is attacked: a process of its own with little memory, two projects, and somebody in the second who only wants to see its account.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from '../harness/checkout.js';
import { type Installation, install, type Server } from '../harness/cli.js';
import { startReceiver } from '../harness/receiver.js';

type Headers = Readonly<Record<string, string>>;

/** Memory of the server after a collection, in bytes. */
export interface Memory {
  readonly rss: number;
  readonly heapTotal: number;
  readonly heapUsed: number;
  readonly external: number;
}

/** How long the bystander waited, in milliseconds. */
export interface Waits {
  readonly requests: number;
  readonly p99: number;
  readonly worst: number;
  /** By how much timers of the bystander were late. */
  readonly lag: number;
  readonly failures: readonly string[];
}

/** A server under attack. */
export interface Ground {
  readonly server: Server;
  /** Runs a command of the installation. */
  readonly json: Installation['json'];
  /** A folder that is removed with it. */
  readonly dir: string;
  readonly port: number;
  readonly projectId: string;
  /** Where webhooks may go. */
  readonly receiver: string;
  /** Headers with server keys of the project: the first is for the client's own upkeep. */
  readonly keys: readonly Headers[];
  /** Texts that nobody in the project may read. */
  readonly secrets: readonly string[];
  memory(): Promise<Memory>;
  /** Begins to ask for the bystander's account; the answer ends it. */
  watch(): () => Promise<Waits>;
  /** Whether the process of the beginning still runs. */
  isRunning(): boolean;
  dispose(): Promise<void>;
}

const neighbourSecret = 'only-the-neighbour-knows';

/** Starts the server; `limits` are its rate limits. */
export async function startGround(limits: Readonly<Record<string, string>>): Promise<Ground> {
  const receiver = await startReceiver();
  // Nobody looks at the calls, and there are many.
  receiver.answer = (response) => {
    receiver.calls.length = 0;
    response.end();
  };
  const place = await install({ init: false });
  Object.assign(place.env, {
    SVC_WEBHOOK_ALLOW_INSECURE: 'true',
    SVC_LOG_LEVEL: 'warn',
    SVC_LOG_FORMAT: 'json',
    SVC_PASSWORD_HASH: 'argon2id',
    ...limits,
  });
  const made = await place.json<{ project: { $id: string } }>(['init', '--yes', '--project', 'Attacked']);
  const neighbour = await place.json<{ $id: string }>(['project', 'create', 'Neighbour', '--id', 'neighbour']);
  const projectId = made.project.$id;
  const keys = [];
  for (const name of ['upkeep', 'one', 'two']) keys.push(await keyHeaders(place, projectId, name));
  const memoryFile = join(place.dir, 'memory.json');
  const server = await place.serve([], {
    NODE_OPTIONS: `--max-old-space-size=512 --require=${join(root, 'test/hostile/memory.cjs')}`,
    HOSTILE_MEMORY_FILE: memoryFile,
    // So that what was freed is given back, and is not taken for what is held.
    MALLOC_ARENA_MAX: '2',
    MALLOC_TRIM_THRESHOLD_: '131072',
  });
  let ended: number | null | undefined;
  server.ended.then((code) => {
    ended = code ?? -1;
  });
  const bystander = await logInNeighbour(server, await keyHeaders(place, neighbour.$id, 'neighbour'));
  return {
    server,
    json: place.json,
    dir: place.dir,
    projectId,
    receiver: receiver.origin,
    keys,
    port: Number(new URL(server.url).port),
    secrets: [neighbourSecret],
    memory: () => measure(server, memoryFile),
    watch: () => watch(server, bystander),
    isRunning: () => ended === undefined,
    dispose: () => place.dispose(),
  };
}

async function keyHeaders(place: Installation, projectId: string, name: string): Promise<Headers> {
  const { secret } = await place.json<{ secret: string }>([
    ...['apikey', 'create', '--project', projectId, '--name', name, '--scopes', 'all'],
  ]);
  return { 'X-Service-Project': projectId, 'X-Service-Key': secret };
}

async function logInNeighbour({ url }: Server, key: Headers): Promise<Headers> {
  const post = async (path: string, body: object) => {
    const headers = { ...key, 'Content-Type': 'application/json' };
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    assert.equal(answer.status, 201, path);
    return (await answer.json()) as { secret: string };
  };
  await post('/users', { userId: 'bystander', email: `${neighbourSecret}@mail.example`, name: neighbourSecret });
  const { secret } = await post('/users/bystander/sessions', {});
  return { 'X-Service-Project': 'neighbour', 'X-Service-Session': secret };
}

async function measure(server: Server, file: string): Promise<Memory> {
  rmSync(file, { force: true });
  server.signal('SIGUSR2');
  for (let tries = 0; tries < 300; tries++) {
    if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
    await sleep(100);
  }
  throw new Error('the server does not tell its memory');
}

function watch({ url }: Server, headers: Headers): () => Promise<Waits> {
  const file = join(root, 'test/hostile/bystander.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', file, `${url}/account`, JSON.stringify(headers)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  return async () => {
    child.stdin.end();
    await once(child, 'close');
    const { times, lags, failures }: Record<'times' | 'lags', number[]> & { failures: string[] } = JSON.parse(text);
    const p99Of = (values: number[]) =>
      values.sort((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.POSITIVE_INFINITY;
    return { requests: times.length, p99: p99Of(times), worst: Math.max(...times), lag: p99Of(lags), failures };
  };
}
