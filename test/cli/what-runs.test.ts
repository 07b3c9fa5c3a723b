// What an operator sees of a running server: its status and its log.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Installation, install, type Server } from '../harness/cli.js';
import { freePort } from '../harness/free-port.js';
import { atTerminal } from '../harness/pty.js';
import { after } from '../harness/runner.js';

const keys = [
  ...['running', 'url', 'version', 'schema', 'database', 'uptimeSeconds', 'requestsPerSecond', 'p95Ms', 'errorRate'],
  ...['sessions', 'sockets', 'backlog', 'disk', 'memory', 'lastBackup', 'findings'],
];
let place: Installation;
let server: Server;
let port = '';
let log = '';

before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  port = String(await freePort());
  log = join(place.dir, 'svc.log');
  Object.assign(place.env, { SVC_PORT: port, SVC_LOG_FILE: log });
});
after(() => place.dispose());

/** Waits for a state, with a limit that a stalled machine keeps. */
async function until(isReached: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await isReached()) return;
    await sleep(100);
  }
  assert.fail('the state was not reached');
}

const request = (path: string) =>
  fetch(`http://127.0.0.1:${port}/v1${path}`, { headers: { host: 'localhost', 'X-Appwrite-Project': 'shop' } });

test('without a server, status answers with 6 and what the database knows', async () => {
  const { code, out } = await place.svc(['status', '--json']);
  const status = JSON.parse(out);
  assert.equal(code, 6);
  assert.deepEqual(Object.keys(status), keys);
  assert.deepEqual([status.running, status.uptimeSeconds, status.p95Ms, status.sockets], [false, null, null, null]);
  assert.ok(status.database.bytes > 0 && status.schema.startsWith('00') && status.disk.freeBytes > 0);
  assert.deepEqual([status.sessions, status.backlog, status.lastBackup], [0, { deliveries: 0, mails: 0 }, null]);
  const text = await place.svc(['status']);
  assert.equal(text.code, 6);
  assert.match(text.out, /^server +does not answer at http/);
  assert.match(text.err, /^next: svc serve\n$/);
});

test('a running server is shown with its load, its errors and the findings of doctor', async () => {
  server = await place.serve();
  for (let at = 0; at < 5; at++) await request('/account');
  const { code, out } = await place.svc(['status', '--json']);
  const status = JSON.parse(out);
  assert.equal(code, 0);
  assert.deepEqual(Object.keys(status), keys);
  assert.ok(status.running && status.p95Ms > 0 && status.memory.rssBytes > 0 && status.uptimeSeconds >= 0);
  assert.equal(status.errorRate, 0);
  const doctor = await place.svc(['doctor', '--offline', '--json']);
  assert.equal(status.findings, JSON.parse(doctor.out).findings.length);
});

test('the memory limit is that of the server, not of the command', async () => {
  const metrics = createServer(
    (_, response) => void response.end('svc_http_requests_total 1\nsvc_memory_limit_bytes 123\n'),
  );
  await once(metrics.listen(0, '127.0.0.1'), 'listening');
  after(() => metrics.close());
  const { port } = metrics.address() as AddressInfo;
  const { out } = await place.svc(['status', '--json'], { env: { SVC_PORT: String(port) } });
  assert.equal(JSON.parse(out).memory.limitBytes, 123);
});

test('-o env prints what an application needs', async () => {
  const { code, out } = await place.svc(['status', '-o', 'env']);
  assert.equal(code, 0);
  assert.match(out, /^SVC_ENDPOINT=http:\S+\/v1\nSVC_PROJECT_ID=shop\n$/);
});

test('--watch prints a JSON object a second, draws on a terminal until q, and refuses a pipe', async () => {
  const pipe = await place.svc(['status', '--watch']);
  assert.deepEqual(
    [pipe.code, pipe.err],
    [2, 'error: --watch needs a terminal, or --json.\nnext: svc status --watch --json\n'],
  );
  const watching = spawn('svc', ['status', '--watch', '--json'], { cwd: place.dir, env: place.env });
  let out = '';
  watching.stdout.setEncoding('utf8').on('data', (part) => {
    out += part;
  });
  await until(() => out.split('\n').length > 2);
  watching.kill('SIGINT');
  assert.deepEqual(await once(watching, 'exit'), [130, null]);
  for (const line of out.trim().split('\n')) {
    const status = JSON.parse(line);
    assert.deepEqual(Object.keys(status), keys);
    assert.deepEqual([status.p95Ms, status.errorRate], [null, null], 'nothing was requested between two looks');
  }
  const screen = await atTerminal(place, ['status', '--watch'], [['ends', 'q']], 80);
  assert.equal(screen.code, 0, screen.out);
  assert.match(screen.out, /requests\/s[\s\S]*p95[\s\S]*errors/);
});

test('logs prints a short line per request, filtered by status, project and time', async () => {
  await request('/nowhere');
  await until(() => readFileSync(log, 'utf8').includes('"status":404'));
  const all = (await place.svc(['logs'])).out;
  assert.match(all, /^\S+Z 401 GET {4}\/account [\d.]+ms shop guest general_unauthorized_scope$/m);
  assert.match(all, /^\S+Z INFO {2}serve\.ready url=/m);
  const linesOf = async (...args: string[]) =>
    (await place.svc(['logs', ...args])).out.trim().split('\n').filter(Boolean);
  assert.ok((await linesOf('--status', '404')).every((line) => / 404 /.test(line)));
  assert.ok((await linesOf('--status', '4xx,5xx')).length >= 6);
  assert.deepEqual(await linesOf('--status', '5xx'), []);
  assert.ok((await linesOf('-p', 'shop')).every((line) => / shop /.test(line)));
  assert.deepEqual(await linesOf('-p', 'other'), []);
  assert.deepEqual(await linesOf('--since', '2099-01-01T00:00:00Z'), []);
  assert.deepEqual(await linesOf('--since', '1h'), await linesOf().then((lines) => lines));
  const json = await linesOf('--status', '401', '--json');
  assert.ok(json.length >= 5 && json.every((line) => JSON.parse(line).status === 401));
  assert.equal((await place.svc(['logs', '--status', 'bad'])).code, 2);
});

test('logs -n prints the last of the selected lines, and --follow begins with the last 10', async () => {
  const linesOf = async (...args: string[]) =>
    (await place.svc(['logs', ...args])).out.trim().split('\n').filter(Boolean);
  const refused = await linesOf('--status', '401');
  assert.deepEqual(await linesOf('--status', '401', '-n', '2'), refused.slice(-2));
  assert.deepEqual(await linesOf('--status', '401', '--lines', '1000'), refused);
  assert.deepEqual(await linesOf('-n', '0'), []);
  assert.equal((await place.svc(['logs', '-n', 'all'])).code, 2);
  const file = join(place.dir, 'many.log');
  const line = (ms: number) =>
    `${JSON.stringify({ time: '2030-01-01T00:00:00.000Z', level: 'info', event: 'request', status: 200, ms })}\n`;
  writeFileSync(file, Array.from({ length: 300 }, (_, ms) => line(ms)).join(''));
  const env = { SVC_LOG_FILE: file };
  const followed = async (args: readonly string[], most: number) => {
    const following = spawn('svc', ['logs', '-f', '--json', ...args], {
      cwd: place.dir,
      env: { ...place.env, ...env },
    });
    let out = '';
    following.stdout.setEncoding('utf8').on('data', (part) => {
      out += part;
    });
    await until(() => out.split('\n').length >= most);
    appendFileSync(file, line(999));
    await until(() => out.split('\n').length > most);
    following.kill('SIGINT');
    await once(following, 'exit');
    assert.equal(out.trim().split('\n').length, most);
  };
  await followed([], 11);
  await followed(['-n', '3'], 4);
  await followed(['--since', '2029-01-01T00:00:00Z'], 303);
});

test('logs --follow reads a replaced file to its end, also what is written there before SIGHUP', async () => {
  const file = join(place.dir, 'rotated.log');
  const line = (ms: number) =>
    `${JSON.stringify({ time: '2030-01-01T00:00:00.000Z', level: 'info', event: 'request', status: 404, ms, path: '/ü' })}\n`;
  writeFileSync(file, line(0));
  const following = spawn('svc', ['logs', '-f', '--json', '--status', '4xx'], {
    cwd: place.dir,
    env: { ...place.env, SVC_LOG_FILE: file },
  });
  let out = '';
  following.stdout.setEncoding('utf8').on('data', (part) => {
    out += part;
  });
  const found = () =>
    out
      .split('\n')
      .filter(Boolean)
      .map((one) => JSON.parse(one).ms);
  await until(() => found().length === 1);
  appendFileSync(file, line(1));
  renameSync(file, `${file}.1`);
  appendFileSync(`${file}.1`, line(2));
  writeFileSync(file, '');
  await sleep(1000);
  appendFileSync(`${file}.1`, line(3));
  appendFileSync(file, line(4));
  await until(() => found().length === 5);
  appendFileSync(`${file}.1`, line(5));
  appendFileSync(file, line(6).slice(0, -30));
  await sleep(1000);
  appendFileSync(file, line(6).slice(-30));
  await until(() => found().length === 7);
  following.kill('SIGINT');
  await once(following, 'exit');
  assert.deepEqual(found().sort(), [0, 1, 2, 3, 4, 5, 6]);
  assert.doesNotMatch(out, /\ufffd/);
});

test('logs of the journal follow it from the last line that was read', async () => {
  const bin = join(place.dir, 'journal');
  mkdirSync(bin);
  const script = `#!/bin/sh
case "$*" in
  *--show-cursor*) printf 'one\\ntwo\\nthree\\n-- cursor: s=1;i=2\\n' ;;
  *'--after-cursor s=1;i=2 --no-tail -f') printf 'four\\n'; exec sleep 60 ;;
  *) exit 1 ;;
esac
`;
  writeFileSync(join(bin, 'journalctl'), script, { mode: 0o755 });
  const env = { SVC_LOG_FILE: '', PATH: `${bin}:${place.env.PATH ?? process.env.PATH}` };
  assert.equal((await place.svc(['logs'], { env })).out, 'one\ntwo\nthree\n');
  assert.equal((await place.svc(['logs', '-n', '1'], { env })).out, 'three\n');
  const following = spawn('svc', ['logs', '-f', '-n', '2'], { cwd: place.dir, env: { ...place.env, ...env } });
  let out = '';
  following.stdout.setEncoding('utf8').on('data', (part) => {
    out += part;
  });
  await until(() => out.includes('four'));
  following.kill('SIGINT');
  await once(following, 'exit');
  assert.equal(out, 'two\nthree\nfour\n');
});

test('SIGHUP opens a rotated file again, while logs --follow goes on', async () => {
  const following = spawn('svc', ['logs', '--follow', '--status', '404'], { cwd: place.dir, env: place.env });
  let out = '';
  following.stdout.setEncoding('utf8').on('data', (part) => {
    out += part;
  });
  const count = () => out.split('\n').length - 1;
  await until(() => count() > 0);
  renameSync(log, `${log}.1`);
  server.signal('SIGHUP');
  await until(() => statSync(log, { throwIfNoEntry: false }) !== undefined);
  assert.equal(statSync(log).mode & 0o777, 0o600);
  const earlier = count();
  await request('/gone-too');
  await until(() => count() > earlier);
  following.kill('SIGINT');
  assert.deepEqual(await once(following, 'exit'), [130, null]);
  assert.doesNotMatch(readFileSync(`${log}.1`, 'utf8'), /config\.reloaded/);
});

test('SIGHUP applies log level and rate limits of the file, names what needs a restart, and refuses an invalid file', async () => {
  const entries = () =>
    readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  const reloads = () => entries().filter(({ event }) => /^config\.re/.test(event));
  const reload = async () => {
    const earlier = reloads().length;
    server.signal('SIGHUP');
    await until(() => reloads().length > earlier);
    return reloads().at(-1);
  };
  assert.equal((await reload()).changed, 'nothing');
  const change = ['--and', 'SVC_RATE_LIMITS=refused=1/3600', '--and', 'SVC_SESSION_DAYS=3'];
  await place.json(['config', 'set', 'SVC_LOG_LEVEL', 'debug', ...change]);
  const changed = await reload();
  assert.deepEqual([changed.changed, changed.restart], ['SVC_LOG_LEVEL, SVC_RATE_LIMITS', 'SVC_SESSION_DAYS']);
  await fetch(`http://127.0.0.1:${port}/healthz`, { headers: { host: 'localhost' } });
  await until(() => entries().some(({ event }) => event === 'probe'));
  const requireRate = async () => {
    // Calls counted at the former rate are forgotten after a while, and then one more is allowed.
    await until(async () => (await request('/none')).headers.get('RateLimit-Policy') === '"refused";q=1;w=3600');
  };
  await requireRate();
  appendFileSync(join(place.dir, 'svc.env'), 'SVC_LOG_LEVEL=loud\n');
  const refused = await reload();
  assert.equal(refused.event, 'config.refused');
  assert.match(refused.problem, /SVC_LOG_LEVEL must be one of/);
  await requireRate();
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
});

test('SIGHUP sees changes of a file that systemd has put into the environment', async () => {
  const file = join(place.dir, 'svc.env');
  await place.json(['config', 'set', 'SVC_LOG_LEVEL', 'info']);
  const env = Object.fromEntries(
    [...readFileSync(file, 'utf8').matchAll(/^(SVC_LOG_LEVEL)=(.*)$/gm)].map(([, key, value]) => [key, value]),
  );
  const served = await place.serve([], env);
  await place.json(['config', 'set', 'SVC_LOG_LEVEL', 'debug']);
  served.signal('SIGHUP');
  await until(() =>
    /"config\.reloaded","changed":"SVC_LOG_LEVEL/.test(readFileSync(log, 'utf8').split('serve.starting').at(-1) ?? ''),
  );
  served.signal('SIGTERM');
  assert.equal(await served.ended, 0);
});

test('a log file that cannot be written stops the start, and is a finding', async () => {
  mkdirSync(join(place.dir, 'folder'));
  for (const [path, reason] of [
    [join(place.dir, 'none/svc.log'), 'its directory does not exist (ENOENT)'],
    [join(place.dir, 'folder'), 'it is a directory (EISDIR)'],
  ] as const) {
    const env = { SVC_LOG_FILE: path };
    const { code, err } = await place.svc(['serve'], { env });
    assert.equal(code, 7);
    assert.ok(err.includes(`SVC_LOG_FILE names ${path}, which cannot be written: ${reason}`), err);
    const { out } = await place.svc(['doctor', '--offline', '--json'], { env });
    assert.ok(JSON.parse(out).findings.some(({ code: found }: { code: string }) => found === 'log_file_unusable'));
  }
});

test('without a file and without a journal, logs says where the log can go', async () => {
  const { code, err } = await place.svc(['logs'], {
    env: { SVC_LOG_FILE: '', PATH: join(place.dir, 'folder') },
    fresh: false,
  });
  assert.ok(code === 3, err);
  assert.match(err, /SVC_LOG_FILE is not set\.\nnext: .*svc config set SVC_LOG_FILE FILE/);
});
