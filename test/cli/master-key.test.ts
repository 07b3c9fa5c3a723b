// svc keys rotate-master: beside a server, killed at several moments, and with the key in the environment. Afterwards everything works with the
// new key alone.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import sqlite3 from 'sqlite3';
import { type Installation, install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';

type Json = Record<string, unknown>;
const isPostgres = process.env.SVC_TEST_DATABASE === 'postgres';
const guest = { 'X-Service-Project': 'shop' };
const ada = { email: 'ada@mail.example', password: 'long enough 1' };
const content = randomBytes(100_000);
const document = '/databases/blog/collections/posts/documents/one';

const settingsOf = ({ dir }: Installation) => readFileSync(join(dir, 'svc.env'), 'utf8');
const keyOf = (place: Installation) => /^SVC_MASTER_KEY=(.*)$/m.exec(settingsOf(place))?.[1] ?? '';
const confirm = (place: Installation) => ['--confirm', place.database];

async function send(server: Server, method: string, path: string, headers: Json, body?: Json | FormData) {
  const isForm = body instanceof FormData;
  const answer = await fetch(server.url + path, {
    method,
    headers: { ...(body && !isForm && { 'Content-Type': 'application/json' }), ...(headers as Record<string, string>) },
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  const isJson = answer.headers.get('content-type')?.startsWith('application/json');
  return { status: answer.status, bytes, body: (isJson ? JSON.parse(bytes.toString()) : {}) as Json };
}

/** The code of an authenticator app (RFC 6238). */
function totp(secret: string, now = Date.now()): string {
  const bits = [...secret].map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  );
  const key = Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(now / 30_000)));
  const mac = createHmac('sha1', key).update(counter).digest();
  return String((mac.readUInt32BE((mac.at(-1) ?? 0) & 15) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

/** An installation with a value of each kind that the master key protects. */
async function shop() {
  const place = await install({ init: false });
  after(() => place.dispose());
  const { apiKey } = await place.json<{ apiKey: { secret: string } }>([
    ...['init', '--yes', '--project', 'Shop', '--project-id', 'shop'],
  ]);
  const byKey = { ...guest, 'X-Service-Key': apiKey.secret };
  const server = await place.serve();
  const create = async (path: string, headers: Json, body: Json | FormData, method = 'POST') => {
    const { status, body: answer } = await send(server, method, path, headers, body);
    assert.ok(status >= 200 && status < 300, `${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  await create('/account', guest, { userId: 'ada', ...ada });
  const session = {
    ...guest,
    'X-Service-Session': String((await create('/account/sessions/email', guest, ada)).secret),
  };
  const { secret } = await create('/account/mfa/authenticators/totp', session, {});
  await create('/account/mfa/authenticators/totp', session, { otp: totp(String(secret)) }, 'PUT');
  const { recoveryCodes } = await create('/account/mfa/recovery-codes', session, {});
  const { jwt } = await create('/account/jwts', session, { alg: 'RS256' });
  await create('/databases', byKey, { databaseId: 'blog', name: 'Blog' });
  await create('/databases/blog/collections', byKey, { collectionId: 'posts', name: 'Posts' });
  const text = { key: 'text', size: 200, required: false, encrypt: true };
  await create('/databases/blog/collections/posts/attributes/string', byKey, text);
  const data = { documentId: 'one', data: { text: 'hidden' } };
  await create('/databases/blog/collections/posts/documents', byKey, data);
  await create('/storage/buckets', byKey, { bucketId: 'files', name: 'Files', encryption: true });
  const form = new FormData();
  form.append('fileId', 'logo');
  form.append('file', new Blob([content]), 'logo.bin');
  await create('/storage/buckets/files/files', byKey, form);
  const token = await create('/tokens/buckets/files/files/logo', byKey, {});
  await place.json(
    ['provider', 'add', 'oauth2', '--project', 'shop', '--key', 'google', '--client-id', 'c', '--secret-stdin'],
    'sesame',
  );
  await place
    .json([
      ...['webhook', 'add', '--project', 'shop', '--id', 'hook', '--name', 'Hook', '--events', '*'],
      ...['--url', 'https://hooks.mail.example/', '--enabled', 'off'],
    ])
    .catch(() => {});
  return {
    place,
    server,
    known: { byKey, session, secret: String(secret), jwt, recoveryCodes: recoveryCodes as string[], token },
  };
}

/** Uses every kind of value with a server. */
async function useAll(place: Installation, server: Server, known: Awaited<ReturnType<typeof shop>>['known']) {
  const { byKey, session, secret, jwt, token } = known;
  const ok = async (path: string, headers: Json) => {
    const answer = await send(server, 'GET', path, headers);
    assert.equal(
      answer.status,
      200,
      `${path}: ${answer.bytes.toString().slice(0, 300)} ${server
        .log()
        .match(/.*"(?:level":"error|error).*/g)
        ?.slice(-3)}`,
    );
    return answer;
  };
  await ok('/account', session);
  await ok('/account', { ...guest, 'X-Service-JWT': jwt });
  assert.equal((await ok(document, byKey)).body.text, 'hidden');
  assert.ok((await ok('/storage/buckets/files/files/logo/download', byKey)).bytes.equals(content));
  const download = `/storage/buckets/files/files/logo/download?project=shop&token=${encodeURIComponent(String(token.secret))}`;
  assert.ok((await ok(download, {})).bytes.equals(content));
  assert.equal((await ok(`/tokens/${token.$id}`, byKey)).body.secret, token.secret);
  const begin = async (factor: string) => {
    const login = await send(server, 'POST', '/account/sessions/email', guest, ada);
    const half = { ...guest, 'X-Service-Session': String(login.body.secret) };
    const challenge = await send(server, 'POST', '/account/mfa/challenges', half, { factor });
    return (otp: string | undefined) =>
      send(server, 'PUT', '/account/mfa/challenges', half, { challengeId: challenge.body.$id, otp });
  };
  const byTotp = await begin('totp');
  // A code works once: the next one is accepted half a minute early.
  const answers = [totp(secret, Date.now() + 30_000), totp(secret), totp(secret, Date.now() - 30_000)];
  const statuses: number[] = [];
  for (const otp of answers) {
    const { status } = await byTotp(otp);
    statuses.push(status);
    if (status === 200) break;
  }
  const used = await (await begin('recoverycode'))(known.recoveryCodes.shift());
  assert.equal(used.status, 200, `recovery code: ${JSON.stringify(used.body)}`);
  assert.match(server.log(), /^(?!.*sealing\.unreadable)/s);
  assert.equal((await place.json<Json>(['audit', 'verify'])).ok, true);
  const provider = await place.svc(['provider', 'show', 'google', '--project', 'shop', '--json']);
  assert.equal(provider.code, 0, provider.err);
  return statuses.at(-1);
}

/** Holds a lock that keeps the rotation from changing the database. */
async function lockDatabase(place: Installation): Promise<() => Promise<void>> {
  if (isPostgres) {
    const client = new pg.Client({ connectionString: String(place.env.SVC_DATABASE_URL) });
    await client.connect();
    await client.query("begin; select 1 from installation where name = 'key_check' for update");
    return () => client.end();
  }
  const database = new sqlite3.Database(join(place.dir, 'data/svc.db'));
  await new Promise((done) => database.run('begin immediate', done));
  return () => new Promise((done) => database.run('rollback', () => database.close(() => done())));
}

async function waitFor(what: () => boolean): Promise<void> {
  for (const until = Date.now() + 60_000; !what(); await sleep(20)) assert.ok(Date.now() < until, 'it takes too long');
}

const start = (place: Installation, args: readonly string[]) =>
  spawn('svc', args, { cwd: place.dir, env: place.env, stdio: 'ignore' });

test('rotates beside a server, and the new key alone opens everything afterwards', async () => {
  const { place, server, known } = await shop();
  assert.equal(await useAll(place, server, known), 200);
  const before = { settings: settingsOf(place), key: keyOf(place) };
  const refused = await place.svc(['keys', 'rotate-master']);
  assert.equal(refused.code, 4, refused.err);
  const rotated = await place.json<{ from: string; to: string; keys: number }>([
    'keys',
    'rotate-master',
    ...confirm(place),
  ]);
  assert.notEqual(rotated.from, rotated.to);
  assert.ok(rotated.keys >= 2);
  assert.notEqual(keyOf(place), before.key);
  assert.ok(!existsSync(join(place.dir, 'svc.env.old')), 'the copy with the old key is gone');
  assert.equal(settingsOf(place).replace(keyOf(place), before.key), before.settings);
  await useAll(place, server, known);
  await place.json(['project', 'create', 'Other', '--id', 'other']);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
  const fresh = await place.serve();
  await useAll(place, fresh, known);
  const { code, err } = await place.svc(['audit', 'verify', '--json'], { env: { SVC_MASTER_KEY: before.key } });
  assert.equal(code, 7);
  const { message } = JSON.parse(err).error;
  assert.ok(message.includes(rotated.from) && message.includes(rotated.to), message);
  // Again, so that values of three keys are there. One at a time: of two that start together, one is refused or comes second.
  const both = await Promise.all([0, 1].map(() => place.svc(['keys', 'rotate-master', ...confirm(place), '--json'])));
  for (const { code: ended, err: said } of both) {
    assert.ok(ended === 0 || ended === 5, said);
    if (ended === 5) assert.match(said, /rotation_running/);
  }
  assert.ok(both.some(({ code: ended }) => ended === 0));
  await useAll(place, fresh, known);
  assert.ok(!existsSync(join(place.dir, 'svc.env.rotating')));
  // The lock of a process that no longer runs is ignored.
  writeFileSync(join(place.dir, 'svc.env.rotating'), '4194304');
  await place.json(['keys', 'rotate-master', ...confirm(place)]);
  await useAll(place, fresh, known);
  const missing = await place.svc(['keys', 'rotate-master', '--new-key-file', '/nowhere', ...confirm(place)]);
  assert.equal(missing.code, 3, missing.err);
});

test('a rotation that was killed is completed by the second run, and servers work in between', async () => {
  const { place, server, known } = await shop();
  const before = keyOf(place);
  const release = await lockDatabase(place);
  const child = start(place, ['keys', 'rotate-master', ...confirm(place)]);
  await waitFor(() => existsSync(join(place.dir, 'svc.env.old')) && keyOf(place) !== before);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await release();
  const chosen = keyOf(place);
  server.signal('SIGTERM');
  await server.ended;
  const second = await place.serve();
  await useAll(place, second, known);
  await place.json(['keys', 'rotate-master']);
  assert.equal(keyOf(place), chosen);
  assert.ok(!existsSync(join(place.dir, 'svc.env.old')));
  await useAll(place, second, known);
  // Killed after the change of the database: the copy is still there.
  writeFileSync(join(place.dir, 'svc.env.old'), settingsOf(place).replace(chosen, before), { mode: 0o600 });
  await place.sql("insert into installation (name, value) values ('key_former', 'x')");
  await place.json(['keys', 'rotate-master']);
  assert.equal(keyOf(place), chosen);
  assert.ok(!existsSync(join(place.dir, 'svc.env.old')));
  for (let round = 0; round < 4; round++) {
    const killed = start(place, ['keys', 'rotate-master', ...confirm(place)]);
    await sleep(700 + round * 250);
    killed.kill('SIGKILL');
    if (killed.exitCode === null && killed.signalCode === null) await once(killed, 'exit');
    assert.equal((await place.json<Json>(['audit', 'verify'])).ok, true);
    await sleep(3000);
    assert.equal((await send(second, 'GET', document, known.byKey)).body.text, 'hidden');
  }
  // A server looks for another key every two seconds; two rotations within that time are not supported.
  await sleep(3000);
  await place.json(['keys', 'rotate-master', ...confirm(place)]);
  await useAll(place, second, known);
});

test('SIGHUP asks for no restart after a rotation that the server has followed', async () => {
  const place = await install();
  after(() => place.dispose());
  // systemd passes the settings file as environment.
  const server = await place.serve([], { SVC_MASTER_KEY: keyOf(place) });
  await place.json(['keys', 'rotate-master', ...confirm(place)]);
  const reloads = () =>
    server
      .log()
      .split('\n')
      .filter((line) => line.includes('config.reloaded'));
  for (const until = Date.now() + 60_000; !reloads().some((line) => !line.includes('restart')); ) {
    assert.ok(Date.now() < until, reloads().join('\n'));
    server.signal('SIGHUP');
    await sleep(500);
  }
  assert.match(reloads().at(-1) ?? '', /"changed":"nothing"/);
});

test('with the key in the environment, a file with the new key and a stopped server are required', async () => {
  const { place, server, known } = await shop();
  server.signal('SIGTERM');
  await server.ended;
  place.env.SVC_MASTER_KEY = keyOf(place);
  writeFileSync(join(place.dir, 'svc.env'), settingsOf(place).replace(/^SVC_MASTER_KEY=.*\n/m, ''));
  const file = join(place.dir, 'new-key');
  const args = ['keys', 'rotate-master', '--new-key-file', file, ...confirm(place)];
  assert.equal((await place.svc(['keys', 'rotate-master', ...confirm(place)])).code, 2);
  writeFileSync(file, 'short\n');
  assert.equal((await place.svc(args)).code, 2);
  const key = randomBytes(32).toString('base64url');
  writeFileSync(file, `${key}\n`);
  const running = await place.serve();
  assert.equal((await place.svc(args)).code, 5);
  running.signal('SIGTERM');
  await running.ended;
  await place.json(args);
  await place.json(args);
  assert.equal((await place.svc(['project', 'list'])).code, 7);
  place.env.SVC_MASTER_KEY = key;
  await place.json(args);
  await useAll(place, await place.serve(), known);
  place.env.SVC_MASTER_KEY = key.slice(0, 20);
  assert.equal((await place.svc(['serve'])).code, 7);
});

test('a key in a file of its own is replaced there', async () => {
  const { place, server, known } = await shop();
  server.signal('SIGTERM');
  await server.ended;
  const file = join(place.dir, 'master-key');
  writeFileSync(file, `${keyOf(place)}\n`, { mode: 0o600 });
  place.env.SVC_MASTER_KEY_FILE = file;
  const settings = settingsOf(place);
  const second = await place.serve();
  await place.json(['keys', 'rotate-master', ...confirm(place)]);
  assert.equal(settingsOf(place), settings);
  assert.notEqual(readFileSync(file, 'utf8').trim(), keyOf(place));
  await useAll(place, second, known);
});
