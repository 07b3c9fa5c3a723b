// Headers that every answer carries, and those that tell of limits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Answer, createClient } from '../harness/client.js';
import { exchangeBytes, parseAnswer } from '../harness/socket.js';

const target = await startAppliance();
const limited = await startAppliance({
  settings: { SVC_RATE_LIMITS: 'data=5/60', SVC_BASE_URL: 'https://api.example.com/v1' },
});

const fixed: Record<string, string> = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
  'Cross-Origin-Resource-Policy': 'same-site',
  'Cache-Control': 'no-store',
};
const hsts = 'Strict-Transport-Security';

function protectedBy(answer: Answer, overHttps: boolean): void {
  for (const [name, value] of Object.entries(fixed)) assert.equal(answer.headers.get(name), value, name);
  assert.equal(answer.headers.get(hsts), overHttps ? 'max-age=31536000; includeSubDomains' : null);
  for (const name of ['X-Powered-By', 'Server', 'Via']) assert.equal(answer.headers.get(name), null, name);
  assert.ok(answer.headers.get('X-Request-Id'));
}

for (const [name, server, overHttps] of [
  ['http', target, false],
  ['https', limited, true],
] as const) {
  test(`every answer carries the security headers, over ${name}`, async () => {
    const client = createClient(server);
    const user = await aUser(server);
    const answers: [number, Promise<Answer>][] = [
      [200, client.get('//healthz')],
      [200, client.get('//metrics')],
      [200, client.get('/openapi.json')],
      [201, client.post('/account/sessions/email', { email: user.email, password: user.password })],
      [204, client.request('OPTIONS', '/account')],
      [400, client.post('/account', '{')],
      [401, client.get('/account')],
      [403, client.get('/account', { 'X-Service-Key': 'a', 'X-Service-Session': 'b' })],
      [404, client.get('/nothing')],
      [404, client.get('/account', { 'X-Service-Project': 'none' })],
      [405, client.put('/account')],
      [413, client.post('/account', 'x'.repeat(66_000))],
      [415, client.post('/account', 'x', { 'Content-Type': 'text/plain' })],
      [400, exchangeBytes(server, 'nonsense\r\n\r\n').then(parseAnswer)],
    ];
    for (const [status, answer] of answers) protectedBy((await answer).expect(status), overHttps);
  });
}

test('a refusal by limit carries them too, the fixed message, and when to come back', async () => {
  const { client } = await aServerKey(limited, { scopes: ['platforms.read'] });
  const remaining: (string | null)[] = [];
  for (let call = 0; call < 5; call++) {
    const { headers } = (await client.get('/project/platforms')).expect(200);
    assert.equal(headers.get('X-RateLimit-Limit'), '5');
    assert.equal(headers.get('RateLimit-Policy'), '"data";q=5;w=60');
    assert.match(headers.get('RateLimit') ?? '', new RegExp(`^"data";r=${4 - call};t=\\d+$`));
    const reset = Number(headers.get('X-RateLimit-Reset')) - limited.clock.now() / 1000;
    assert.ok(reset > 0 && reset <= 61, String(reset));
    remaining.push(headers.get('X-RateLimit-Remaining'));
  }
  assert.deepEqual(remaining, ['4', '3', '2', '1', '0']);
  const refused = (await client.get('/project/platforms')).refused(429, 'general_rate_limit_exceeded');
  assert.deepEqual(refused.body, {
    message: 'Too many requests. Please retry shortly.',
    code: 429,
    type: 'general_rate_limit_exceeded',
    version: '1.0.0',
  });
  protectedBy(refused, true);
  const seconds = Number(refused.headers.get('Retry-After'));
  assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 12, String(seconds));
  assert.equal(refused.headers.get('RateLimit'), `"data";r=0;t=${seconds}`);
  limited.clock.advance(seconds * 1000);
  (await client.get('/project/platforms')).expect(200);
});

test('each key, each user and each address has a limit of its own, and health checks none', async () => {
  const calls = [
    (await aServerKey(limited)).client,
    (await aServerKey(limited)).client,
    (await aLoggedInUser(limited)).client,
    (await aLoggedInUser(limited)).client,
  ];
  for (const client of calls) {
    const path = client === calls[0] || client === calls[1] ? '/project/platforms' : '/account';
    for (let call = 0; call < 5; call++) (await client.get(path)).expect(200);
    (await client.get(path)).refused(429, 'general_rate_limit_exceeded');
  }
  for (let call = 0; call < 20; call++)
    assert.equal((await createClient(limited).get('//healthz')).headers.get('RateLimit'), null);
});

test('the limits are the documented ones unless told otherwise', async () => {
  const shipped = await target.startSibling({ settings: { SVC_RATE_LIMITS: '' } });
  const user = await aLoggedInUser(shipped);
  const key = await aServerKey(shipped);
  const stated = async (answer: Promise<Answer>) => (await answer).headers.get('RateLimit-Policy');
  assert.equal(await stated(createClient(shipped).get('/account')), '"data";q=120;w=60');
  assert.equal(await stated(user.client.get('/account')), '"data";q=300;w=60');
  assert.equal(await stated(key.client.get('/project/platforms')), '"data";q=600;w=60');
  const { email, password } = user;
  const login = createClient(shipped).post('/account/sessions/email', { email, password });
  assert.equal(await stated(login), '"login";q=30;w=900');
  assert.equal(await stated(createClient(shipped).post('/account', {})), '"signup";q=10;w=3600');
});

test('a 429 for an account says that nothing is left, and when to retry', async () => {
  const shipped = await target.startSibling({ settings: { SVC_RATE_LIMITS: '' } });
  const body = { email: `${crypto.randomUUID()}@mail.example`, password: 'a wrong one' };
  for (let call = 0; call < 10; call++) (await createClient(shipped).post('/account/sessions/email', body)).expect(401);
  const { headers } = (await createClient(shipped).post('/account/sessions/email', body)).expect(429);
  assert.equal(headers.get('X-RateLimit-Remaining'), '0');
  assert.equal(headers.get('RateLimit'), `"login";r=0;t=${headers.get('Retry-After')}`);
});

test('addresses that do not exist are counted as well', async () => {
  const shipped = await target.startSibling({ settings: { SVC_RATE_LIMITS: '' } });
  const client = createClient(shipped);
  const answers = await Promise.all(Array.from({ length: 400 }, (_, call) => client.get(`/scan/${call}`)));
  const seen = new Set(answers.map(({ status }) => status));
  assert.deepEqual([...seen].sort(), [404, 429]);
  (await client.get('/account')).expect(401);
});
