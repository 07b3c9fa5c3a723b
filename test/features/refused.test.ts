// Credentials that are refused: counted by address, and refused in one spelling as in another.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Answer, createClient } from '../harness/client.js';
import { minute } from '../harness/clock.js';
import { page, proofOf } from '../proofs/proofs.js';

const settings = {
  SVC_RATE_LIMITS: 'data=1000000/60,login=1000000/60,signup=1000000/60,send=1000000/60',
  SVC_TRUSTED_PROXIES: '127.0.0.0/8',
};
const target = await startAppliance({ settings });
const user = await aLoggedInUser(target);
const key = await aServerKey(target);
const from = (address: string) => ({ 'X-Forwarded-For': address });
const wrongKey = `${key.secret.slice(0, -1)}${key.secret.endsWith('0') ? '1' : '0'}`;
const otherSession = `${user.secret.slice(0, -5)}AAAAA`;

/** [name, headers, path, what it is answered until then] */
const refusals: readonly [string, Record<string, string>, string, number][] = [
  ['a key', { 'X-Service-Key': wrongKey }, '/project/platforms', 401],
  ['a session', { 'X-Service-Session': otherSession }, '/account', 401],
  ['a session where guests are welcome', { 'X-Service-Session': otherSession }, '/openid-configuration', 200],
  ['a cookie', { Cookie: `svc_main=${otherSession}` }, '/account', 401],
  ['a JWT', { 'X-Service-JWT': 'a.b.c' }, '/account', 401],
  ['a project', { 'X-Service-Project': 'no-such-project' }, '/account', 404],
  ['a project in the path', {}, '/projects/no-such-project/.well-known/jwks.json', 404],
  ['no project', { 'X-Service-Project': '' }, '/account', 404],
  ['a route', {}, '/no/such/route', 404],
];
/** Asks until it is refused: after a hundred calls, and those that came back meanwhile. */
async function exhaust(ask: () => Promise<Answer>, status?: number): Promise<Answer> {
  const started = target.clock.monotonic();
  for (let asked = 0; ; asked++) {
    const answer = await ask();
    const back = (target.clock.monotonic() - started) / 600;
    if (answer.status === 429) {
      assert.ok(asked >= 100 && asked <= 101 + back, `${asked} calls`);
      return answer;
    }
    if (status !== undefined) answer.expect(status);
    assert.ok(asked < 101 + back, 'never refused');
  }
}

for (const [index, [name, headers, path, status]] of refusals.entries()) {
  test(`${name} that does not exist: a hundred times a minute, then 429; others and valid requests pass`, async () => {
    const own = from(`198.51.100.${index + 1}`);
    const client = createClient(target);
    const refused = await exhaust(() => client.get(path, { ...headers, ...own }), status);
    refused.refused(429, 'general_rate_limit_exceeded');
    assert.ok(Number(refused.headers.get('Retry-After')) > 0);
    assert.match(refused.headers.get('RateLimit-Policy') ?? '', /^"refused";q=100;w=60$/);
    (await user.client.get('/account', own)).expect(200);
    (await key.client.get('/project/platforms', own)).expect(200);
    (await client.get('/ping', own)).expect(200);
    (await client.get(path, { ...headers, ...from(`198.51.100.${index + 101}`) })).expect(status);
  });
}

test('all of them are one count, which comes back', async () => {
  const own = from('192.0.2.1');
  const client = createClient(target);
  let next = 0;
  await exhaust(() => {
    const [, headers, path] = refusals[next++ % refusals.length] ?? assert.fail();
    return client.get(path, { ...headers, ...own });
  });
  for (const [name, headers, path] of refusals) {
    const answers = [await client.get(path, { ...headers, ...own }), await client.get(path, { ...headers, ...own })];
    assert.ok(
      answers.some(({ status }) => status === 429),
      name,
    );
  }
  target.clock.advance(minute);
  for (const [, headers, path, status] of refusals) (await client.get(path, { ...headers, ...own })).expect(status);
});

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** The same 32 bytes: the last of 43 characters has two bits to spare. */
function respelled(secret: string): string {
  const other = `${secret.slice(0, -1)}${alphabet[alphabet.indexOf(secret.slice(-1)) + 1]}`;
  assert.deepEqual(Buffer.from(other, 'base64url'), Buffer.from(secret, 'base64url'));
  return other;
}

test('the same bytes in another spelling are no session and no link', async () => {
  const [id = '', secret = ''] = user.secret.split('.');
  const client = createClient(target, { session: `${id}.${respelled(secret)}` });
  (await client.get('/account')).refused(401, 'general_unauthorized_scope');
  (await user.client.post('/account/verifications/email', { url: page })).expect(201);
  const proof = await proofOf(target, user.email, 'email-verification');
  const spelled = { ...proof, secret: respelled(proof.secret) };
  (await user.client.put('/account/verifications/email', spelled)).refused(401, 'user_invalid_token');
  (await user.client.put('/account/verifications/email', proof)).expect(200);
});

test('what needs no project has a bound as well, preflights included', async () => {
  const own = from('203.0.113.77');
  const client = createClient(target);
  for (let asked = 0; asked < 1200; asked += 100)
    await Promise.all(Array.from({ length: 100 }, () => client.get('//healthz', own)));
  const started = performance.now();
  let refused = await client.get('//healthz', own);
  // Some calls are free again meanwhile.
  while (refused.status === 200 && performance.now() - started < 5000) refused = await client.get('//healthz', own);
  refused.refused(429, 'general_rate_limit_exceeded');
  const preflight = { ...own, Origin: 'http://localhost:3000', 'Access-Control-Request-Method': 'GET' };
  const preflights = await Promise.all(
    Array.from({ length: 100 }, () => client.request('OPTIONS', '/account', undefined, preflight)),
  );
  assert.ok(
    preflights.some(({ status }) => status === 429),
    'preflights are counted with them',
  );
  (await client.get('//healthz', from('203.0.113.78'))).expect(200);
});
