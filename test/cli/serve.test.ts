// The server as a process: what it refuses to start on, what it says, and how it ends.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request as send } from 'undici';
import { type Installation, install } from '../harness/cli.js';
import { freePort } from '../harness/free-port.js';
import { pidIn } from '../harness/pid-file.js';
import { after } from '../harness/runner.js';

const places: Installation[] = [];
after(() => Promise.all(places.map((place) => place.dispose())));
const fresh = async (options?: { init?: boolean }) => {
  const place = await install(options);
  places.push(place);
  return place;
};

/** A request whose body is not finished: it runs until `finish`. */
async function startRequest(url: string): Promise<{ finish(): Promise<string>; socket: Socket }> {
  const body = JSON.stringify({ email: 'a@example.com', password: 'correct horse battery' });
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname === 'localhost' ? '127.0.0.1' : hostname);
  let answer = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    answer += part;
  });
  socket.on('error', () => {});
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(answer)));
  const head = `POST /v1/account/sessions/email HTTP/1.1\r\nHost: localhost\r\nX-Service-Project: shop\r\n`;
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`);
  // Time for the server to have begun with it.
  await sleep(300);
  return {
    socket,
    finish: () => {
      socket.write(body.slice(10));
      return closed;
    },
  };
}

test('a server whose directory of files is absent or empty does not start while the database knows files', async () => {
  const place = await fresh();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const named = ['--project', 'shop', '--name', 'k', '--scopes', 'all'];
  const { secret } = await place.json<{ secret: string }>(['apikey', 'create', ...named]);
  const store = { SVC_FILES_URL: `file:${join(place.dir, 'mounted')}` };
  const first = await place.serve([], store);
  const headers = { 'X-Service-Project': 'shop', 'X-Service-Key': secret };
  const bucket = { method: 'POST', body: JSON.stringify({ bucketId: 'b', name: 'b' }) };
  const json = { ...headers, 'Content-Type': 'application/json' };
  assert.equal((await fetch(`${first.url}/storage/buckets`, { ...bucket, headers: json })).status, 201);
  const body = new FormData();
  body.set('fileId', 'f');
  body.set('file', new Blob(['text']), 'a.txt');
  assert.equal((await fetch(`${first.url}/storage/buckets/b/files`, { method: 'POST', headers, body })).status, 201);
  first.signal('SIGTERM');
  assert.equal(await first.ended, 0);
  const notMounted = join(place.dir, 'not-mounted');
  const elsewhere = { SVC_FILES_URL: `file:${notMounted}` };
  const absent = await place.svc(['serve'], { env: elsewhere, fresh: true });
  assert.equal(absent.code, 7);
  assert.match(absent.err, /not-mounted, where SVC_FILES_URL has the files, does not exist, but the database knows/);
  assert.equal(existsSync(notMounted), false);
  mkdirSync(notMounted);
  const empty = await place.svc(['serve'], { env: elsewhere, fresh: true });
  assert.equal(empty.code, 7);
  assert.match(empty.err, /is empty, but the database knows files[\s\S]*create the directory with any file in it/);
  writeFileSync(join(notMounted, 'lost'), '');
  const again = await place.serve([], elsewhere);
  again.signal('SIGTERM');
  assert.equal(await again.ended, 0);
});

test('prints one line with the URL when ready; the log shows the version and settings unfit for production', async () => {
  const place = await fresh();
  const pidfile = join(place.dir, 'svc.pid');
  const before = join(place.dir, 'before.pid');
  writeFileSync(pidfile, '1234\n');
  linkSync(pidfile, before);
  const server = await place.serve(['--pidfile', pidfile], { SVC_RATE_LIMIT: 'off', SVC_EGRESS_ALLOW: '10.0.0.0/8' });
  assert.equal((await fetch(new URL('/readyz', server.url))).status, 200);
  assert.equal(pidIn(pidfile), server.pid);
  assert.equal(readFileSync(before, 'utf8'), '1234\n', 'the file is there as a whole, never empty');
  server.signal('SIGINT');
  assert.equal(await server.ended, 0);
  assert.equal(existsSync(pidfile), false);
  const lines = server
    .log()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const starting = lines.find(({ event }) => event === 'serve.starting');
  assert.match(starting.database, /^(SQLite|PostgreSQL) \d/);
  assert.equal(starting.node, process.versions.node);
  const warned = lines.filter(({ event }) => event === 'config.not-for-production').map(({ setting }) => setting);
  assert.deepEqual(warned, ['SVC_RATE_LIMIT', 'SVC_EGRESS_ALLOW']);

  const plain = place.shell(`svc serve --quiet --pidfile ${pidfile}`);
  while (!existsSync(pidfile)) await sleep(50);
  await sleep(200);
  process.kill(pidIn(pidfile), 'SIGTERM');
  const { code, out } = await plain;
  assert.equal(code, 0);
  assert.match(out, /^svc is ready: http:\/\/localhost:\d+\/v1\n$/);
});

test('a process id is removed by the process that wrote it, and a device stays', async () => {
  const place = await fresh();
  const pidfile = join(place.dir, 'svc.pid');
  const first = await place.serve(['--pidfile', pidfile]);
  writeFileSync(pidfile, '1234\n');
  first.signal('SIGTERM');
  assert.equal(await first.ended, 0);
  assert.equal(readFileSync(pidfile, 'utf8'), '1234\n');
  const device = join(place.dir, 'null');
  symlinkSync('/dev/null', device);
  const second = await place.serve(['--pidfile', device]);
  second.signal('SIGTERM');
  assert.equal(await second.ended, 0);
  assert.ok(existsSync(device));
});

test('warns at the start if any caller gets secrets and the server is not on localhost', async () => {
  const place = await fresh();
  const away = 'https://api.example.com/v1';
  const table: [Record<string, string>, string[]][] = [
    [{ SVC_TOKENS_IN_RESPONSE: 'any', SVC_BASE_URL: away }, ['SVC_TOKENS_IN_RESPONSE']],
    [{ SVC_TOKENS_IN_RESPONSE: 'key', SVC_BASE_URL: away }, []],
    [{ SVC_TOKENS_IN_RESPONSE: 'any' }, []],
  ];
  for (const [settings, expected] of table) {
    const server = await place.serve([], settings);
    server.signal('SIGINT');
    assert.equal(await server.ended, 0);
    const events = server
      .log()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const warned = events.filter(({ event }) => event === 'config.not-for-production').map(({ setting }) => setting);
    assert.deepEqual(warned, expected);
  }
});

test("the start reports a localhost URL with another port than the server's, unless the system chooses the port", async () => {
  const place = await fresh();
  const base = { SVC_BASE_URL: 'http://localhost:1/v1' };
  const port = await freePort();
  for (const [chosen, settings, told] of [
    [port, base, true],
    [port, { SVC_BASE_URL: `http://localhost:${port}/v1` }, false],
    [0, base, false],
    [port, { SVC_BASE_URL: 'http://localhost:0/v1' }, false],
  ] as const) {
    const server = await place.serve(['--port', String(chosen)], settings);
    server.signal('SIGINT');
    assert.equal(await server.ended, 0);
    assert.equal(server.log().includes('"config.base-url-port"'), told, server.log());
  }
});

test('the first TERM drains: a request that runs is answered, a new one is refused', async () => {
  const place = await fresh();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const server = await place.serve();
  const request = await startRequest(server.url);
  server.signal('SIGTERM');
  await sleep(300);
  await assert.rejects(fetch(new URL('/healthz', server.url)));
  assert.match(await request.finish(), /^HTTP\/1\.1 401 [\s\S]*user_invalid_credentials/);
  assert.equal(await server.ended, 0);
  assert.match(server.log(), /serve\.draining/);
});

test('with SVC_DRAIN_SECONDS, TERM is announced first, and requests are served meanwhile', async () => {
  const place = await fresh();
  const server = await place.serve([], { SVC_DRAIN_SECONDS: '3' });
  const agent = new Agent({ connections: 1 });
  const get = (path: string) => send(new URL(path, server.url), { dispatcher: agent });
  assert.equal((await get('/readyz')).headers.connection, 'keep-alive');
  server.signal('SIGTERM');
  let answer = await get('/readyz');
  while (answer.statusCode === 200) answer = await get('/readyz');
  assert.deepEqual([answer.statusCode, answer.headers.connection], [503, 'close']);
  assert.match(await answer.body.text(), /"server":"draining"/);
  const served = await get('/healthz');
  assert.deepEqual([served.statusCode, served.headers.connection], [200, 'close']);
  assert.equal(await server.ended, 0);
  await agent.close();
});

test('a TERM that comes as soon as the port answers drains too', async () => {
  const place = await fresh();
  const port = String(await freePort());
  const env = { ...place.env, SVC_PORT: port };
  const child = spawn(process.execPath, [join(place.dir, 'bin/svc'), 'serve'], {
    cwd: place.dir,
    env,
    stdio: 'ignore',
  });
  const exit = once(child, 'exit');
  while (!(await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok) await sleep(1);
  child.kill('SIGTERM');
  assert.deepEqual(await exit, [0, null]);
});

test('the second TERM ends it at once with 143, a second INT with 130', async () => {
  const place = await fresh();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    const server = await place.serve();
    const request = await startRequest(server.url);
    server.signal(signal);
    await sleep(200);
    server.signal(signal);
    assert.equal(await server.ended, code);
    request.socket.destroy();
  }
});

test('a connection that has sent nothing delays the end by a second, and a request on its way arrives', async () => {
  const place = await fresh();
  const server = await place.serve();
  const port = Number(new URL(server.url).port);
  const [silent, late] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  silent.on('error', () => {});
  await Promise.all([once(silent, 'connect'), once(late, 'connect')]);
  await (await fetch(new URL('/healthz', server.url))).text();
  server.signal('SIGTERM');
  const sent = performance.now();
  await sleep(300);
  late.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const [answer] = await once(late, 'data');
  assert.match(String(answer), /^HTTP\/1\.1 200 /);
  assert.equal(await server.ended, 0);
  const seconds = (performance.now() - sent) / 1000;
  assert.ok(seconds < 10, `the end took ${seconds} s`);
});

test('ignores signals that make other programs reopen their logs', async () => {
  const place = await fresh();
  const server = await place.serve();
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) {
    server.signal(signal);
    await sleep(300);
    assert.equal((await fetch(new URL('/healthz', server.url))).status, 200);
  }
  // Node's own answer to SIGUSR1 is a debugger that every user of the machine can reach.
  assert.doesNotMatch(server.log(), /Debugger/);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
  assert.match(server.log(), /serve\.ended/);
});

test('an old schema is refused or brought up to date, a newer one is refused', async () => {
  const place = await fresh({ init: false });
  await place.svc(['init', '--yes']);
  await place.svc(['migrate', 'down', '--confirm', place.database]);
  const old = await place.svc(['serve', '--json']);
  assert.equal(old.code, 7);
  assert.equal(JSON.parse(old.err.trim().split('\n').at(-1) ?? '').error.fix, 'svc migrate');
  assert.equal(old.out, '');
  const server = await place.serve(['--migrate', 'auto']);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
  assert.match(server.log(), /schema\.migrated/);

  await place.sql(`insert into schema_migrations (name, applied_at) values ('9999_later', '2099-01-01T00:00:00.000Z')`);
  const { unknown } = await place.json<{ unknown: string[] }>(['migrate', 'status']);
  assert.deepEqual(unknown, ['9999_later']);
  for (const args of [['serve'], ['serve', '--migrate', 'auto'], ['migrate'], ['project', 'list']]) {
    const { code, err } = await place.svc(args);
    assert.equal(code, 7, args.join(' '));
    assert.match(err, /newer than this version of svc.*9999_later[\s\S]*install the version/);
  }
});

test('the exit code says that an address, server or file is unavailable', async () => {
  const place = await fresh();
  const server = await place.serve();
  const { port } = new URL(server.url);
  const taken = await place.svc(['serve', '--port', port]);
  assert.equal(taken.code, 1);
  assert.match(
    taken.err,
    /svc is running already on 127\.0\.0\.1 port \d+\.\nnext: nothing, if it is the server of this/,
  );
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const foreign = await place.svc(['serve', '--port', String((other.address() as AddressInfo).port)]);
  other.close();
  assert.equal(foreign.code, 1);
  assert.match(foreign.err, /Another process listens on/);
  server.signal('SIGTERM');
  await server.ended;
  const nowhere = { SVC_DATABASE_URL: 'postgres://svc:geheim@127.0.0.1:1/svc' };
  const started = performance.now();
  const away = await place.svc(['serve', '--wait-for-db', '2'], { env: nowhere });
  assert.equal(away.code, 6);
  assert.ok(performance.now() - started > 2000);
  assert.doesNotMatch(away.err, /geheim/);
  assert.equal((await place.svc(['project', 'list'], { env: nowhere })).code, 6);
  const tls = { SVC_TLS_CERT: '/nowhere/cert.pem', SVC_TLS_KEY: '/nowhere/key.pem' };
  assert.equal((await place.svc(['serve'], { env: tls })).code, 7);
  for (const [args, env, message, next] of [
    [
      ['--host', '192.0.2.1'],
      {},
      '--host: this machine does not have the address 192.0.2.1 (EADDRNOTAVAIL).',
      'give --host',
    ],
    [
      ['--host', 'no.invalid'],
      {},
      /^--host: the name no\.invalid is unknown \((ENOTFOUND|EAI_AGAIN)\)\.$/,
      'give --host',
    ],
    [[], { SVC_HOST: '192.0.2.1' }, /^SVC_HOST: this machine does not have/, 'set SVC_HOST in the environment'],
  ] as const) {
    const { code, err } = await place.svc(['serve', '--json', ...args], { env });
    const { error } = JSON.parse(err.trim().split('\n').at(-1) ?? '');
    assert.equal(code, 7);
    if (typeof message === 'string') assert.equal(error.message, message);
    else assert.match(error.message, message);
    assert.equal(
      error.fix,
      `${next}${next.startsWith('set') ? ' to' : ''} an address of this machine, such as 127.0.0.1`,
    );
  }
  assert.equal((await place.svc(['serve', '--pidfile', '/nowhere/svc.pid'])).code, 7);
  assert.equal((await place.svc(['serve', '--pidfile', '/dev/full'])).code, 6);
});

test('a damaged SQLite file is not served', async () => {
  const place = await fresh();
  if (place.env.SVC_DATABASE_URL !== undefined) return;
  const file = join(place.dir, 'data/svc.db');
  assert.equal(existsSync(`${file}-wal`), false, 'whoever closes the database leaves one file');
  truncateSync(file, readFileSync(file).length - 4096 * 3);
  const { code, err } = await place.svc(['serve']);
  assert.equal(code, 7);
  assert.match(err, /damaged/);
  writeFileSync(file, 'this is no database, and long enough to be looked at '.repeat(100));
  assert.equal((await place.svc(['serve'])).code, 7);
});

test('an unread log uses bounded memory and reports how much it left out', async () => {
  const place = await fresh();
  const child = spawn('svc', ['serve', '--json'], { cwd: place.dir, env: { ...place.env, SVC_RATE_LIMIT: 'off' } });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    out += part;
  });
  while (!out.includes('}')) await sleep(20);
  const { url } = JSON.parse(out);
  const requests = 8000;
  for (let sent = 0; sent < requests; sent += 50)
    await Promise.all(Array.from({ length: 50 }, async () => (await fetch(`${url}/nothing`)).text()));
  // From here on it is read.
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    log += part;
  });
  await sleep(500);
  await (await fetch(`${url}/nothing`)).text();
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'close'), [0, null]);
  const lines = log.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  const { lines: dropped } = lines.find(({ event }) => event === 'log.dropped') ?? {};
  assert.equal(lines.filter(({ event }) => event === 'request').length + dropped, requests + 1);
  assert.equal(lines.at(-1).event, 'serve.ended');
});
