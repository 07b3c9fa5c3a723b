// The keys of JWTs by command, beside a server that signs and verifies with them.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Installation, install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';

type Key = Record<'kid' | 'alg' | 'state' | 'createdAt' | 'signsFrom' | 'retireAt', string> & { goneAt: string | null };
type Status = { projectId: string; keys: Key[] };
const shop = ['--project', 'shop'];
let place: Installation;
let server: Server;
let session = '';
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  await place.json(['project', 'create', 'Other', '--id', 'other']);
  server = await place.serve();
  const ada = { email: 'ada@example.com', password: 'correct horse' };
  await call('POST', '/account', {}, { userId: 'ada', ...ada });
  const { body } = await call('POST', '/account/sessions/email', {}, ada);
  session = String(body.secret);
});
after(() => place.dispose());

async function call(method: string, path: string, headers: Record<string, string> = {}, body?: object) {
  const answer = await fetch(server.url + path, {
    method,
    headers: { 'X-Service-Project': 'shop', 'Content-Type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}
const mint = async (alg: string) =>
  String((await call('POST', '/account/jwts', { 'X-Service-Session': session }, { alg })).body.jwt);
const accepts = async (jwt: string) => (await call('GET', '/account', { 'X-Service-JWT': jwt })).status === 200;
const published = async () => ((await call('GET', '/keys')).body.keys as Key[]).map(({ kid }) => kid);
const status = async () => (await place.json<Status>(['keys', 'status', ...shop])).keys;
const states = (keys: readonly Key[]) => keys.map(({ alg, state }) => `${alg} ${state}`).sort();

test('a project has no keys until it needs some', async () => {
  assert.deepEqual(await place.json(['keys', 'status', ...shop]), { projectId: 'shop', keys: [] });
  const jwts = [await mint('HS256'), await mint('RS256')];
  for (const jwt of jwts) assert.ok(await accepts(jwt));
  const keys = await status();
  assert.deepEqual(states(keys), ['HS256 current', 'RS256 current']);
  for (const { createdAt, signsFrom, retireAt, goneAt } of keys) {
    assert.equal(signsFrom, createdAt);
    assert.equal(Date.parse(retireAt) - Date.parse(signsFrom), 90 * 86_400_000);
    assert.equal(goneAt, null);
  }
});

test('a rotation is published by the running server, computes its overlap, and does nothing twice', async () => {
  const before = await status();
  const { keys } = await place.json<Status>(['keys', 'rotate', ...shop]);
  assert.deepEqual(states(keys), ['HS256 current', 'HS256 next', 'RS256 current', 'RS256 next']);
  const next = keys.find(({ alg, state }) => alg === 'RS256' && state === 'next');
  const old = keys.find(({ alg, state }) => alg === 'RS256' && state === 'current');
  assert.ok(next && old);
  assert.equal(Date.parse(next.signsFrom) - Date.parse(next.createdAt), 600_000);
  assert.equal(old.retireAt, next.signsFrom);
  assert.equal(Date.parse(String(old.goneAt)) - Date.parse(old.retireAt), 4_200_000);
  assert.ok(before.some(({ kid }) => kid === old.kid));
  await sleep(600);
  assert.deepEqual(await published(), [old.kid, next.kid]);
  assert.deepEqual(await place.json(['keys', 'rotate', ...shop]), { projectId: 'shop', keys });
  const audit = await place.sql("select action, actor_id from audit_entries where action = 'keysRotated'");
  assert.equal(audit.length, 2);
});

test('every project at once, with a longer overlap; a shorter one is refused, with what to do instead', async () => {
  const { projects } = await place.json<{ projects: Status[] }>(['keys', 'rotate', '--all', '--overlap', '2h']);
  assert.deepEqual(projects.map(({ projectId }) => projectId).sort(), ['other', 'shop']);
  const other = projects.find(({ projectId }) => projectId === 'other');
  assert.deepEqual(states(other?.keys ?? []), ['HS256 current', 'RS256 current']);
  const again = await place.json<{ keys: Key[] }>(['keys', 'rotate', '--project', 'other', '--overlap', '2h']);
  const old = again.keys.find(({ state }) => state === 'current');
  assert.equal(Date.parse(String(old?.goneAt)) - Date.parse(String(old?.retireAt)), 7_200_000);
  for (const overlap of ['69m', '0s', '31d', 'soon']) {
    const { code, err } = await place.svc(['keys', 'rotate', ...shop, '--overlap', overlap]);
    assert.equal(code, 2, err);
  }
  assert.match(
    (await place.svc(['keys', 'rotate', ...shop, '--overlap', '5m'])).err,
    /at least 70m; it is 5m\.\nnext: the tokens of the old key have to expire first; svc keys revoke/,
  );
  assert.equal((await place.svc(['keys', 'rotate'])).code, 2);
  assert.equal((await place.svc(['keys', 'rotate', ...shop, '--all'])).code, 2);
  const all = await place.json<{ projects: Status[] }>(['keys', 'status']);
  assert.equal(all.projects.length, 2);
});

test('a revoked key is refused by the running server within a second, and its successor signs', async () => {
  const jwt = await mint('HS256');
  assert.ok(await accepts(jwt));
  const { kid } = JSON.parse(Buffer.from(jwt.split('.')[0] ?? '', 'base64url').toString());
  const refused = await place.svc(['keys', 'revoke', kid, '--json']);
  assert.equal(refused.code, 4);
  assert.equal(JSON.parse(refused.err).error.type, 'confirmation_refused');
  assert.ok(await accepts(jwt));
  assert.deepEqual(await place.json(['keys', 'revoke', kid, '--yes']), { projectId: 'shop', kid, revoked: true });
  await sleep(600);
  assert.ok(!(await accepts(jwt)));
  assert.ok(await accepts(await mint('HS256')));
  assert.deepEqual(states(await status()), ['HS256 current', 'RS256 current', 'RS256 next']);
  const audit = await place.sql("select resource from audit_entries where action = 'signingKeyRevoked'");
  assert.deepEqual(audit, [{ resource: `keys/${kid}` }]);
  for (const unknown of [kid, 'none', "' or '1'='1"]) {
    const { code, err } = await place.svc(['keys', 'revoke', unknown, '--yes', '--json']);
    assert.equal(code, 3);
    assert.equal(JSON.parse(err).error.type, 'signing_key_not_found');
  }
});

test('no command prints a secret', async () => {
  for (const args of [
    ['keys', 'status'],
    ['keys', 'status', ...shop, '--json'],
  ]) {
    const { out } = await place.svc(args);
    assert.doesNotMatch(out, /v1\.|PRIVATE|secret/);
    assert.match(out, /HS256/);
  }
});
