// What must not open a session: answers that were not asked for, that belong to another login, or that the provider did not give.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { aServerKey } from '../harness/actors.js';
import { createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { app, assertFailed, type Browser, createBrowser, endOf, startUrl } from './browser.js';
import { type FakeProvider, startFakeProvider } from './fake-provider.js';
import { addProvider, callbackOf, startOpen } from './setup.js';

const target = await startOpen({ longestCallMs: 1500 });
const guest = createClient(target);
let users = 0;
const fake = await startFakeProvider();
const configOf = ({ issuer }: FakeProvider) => ({ issuer, clientId: 'svc', clientSecret: 'secret' });
before(() => addProvider(target, { key: 'fake', kind: 'oidc', config: configOf(fake) }));

/** Begins a login; the address at the provider to which the browser is led. */
async function begin(browser: Browser, key = 'fake', flow: 'sessions' | 'tokens' = 'sessions'): Promise<string> {
  const { location, status, text } = await browser.step(startUrl(flow, key));
  assert.ok(status === 302 && location !== null, text);
  return location;
}
const back = (browser: Browser, url: string) => browser.step(url);
/** Nobody is logged in, and nobody has become a user. */
async function assertNobody(browser?: Browser): Promise<void> {
  assert.equal(browser?.cookie('svc_main'), undefined);
  assert.equal((await rowsOf(target, 'sessions')).length, users);
}
async function assertWorks(): Promise<void> {
  const browser = createBrowser(target);
  users += 1;
  assert.equal(endOf(await back(browser, fake.authorize(await begin(browser)))).page, `${app}/done`);
  assert.ok(browser.cookie('svc_main'));
}

test("the browser is sent with its own PKCE, state and nonce, and the provider's callback", async () => {
  const [one, other] = await Promise.all([
    begin(createBrowser(target)),
    begin(createBrowser(target), 'fake', 'tokens'),
  ]);
  for (const url of [one, other]) {
    const query = new URL(url).searchParams;
    assert.deepEqual(
      [query.get('response_type'), query.get('code_challenge_method'), query.get('redirect_uri')],
      ['code', 'S256', callbackOf('fake')],
    );
    for (const name of ['state', 'nonce', 'code_challenge']) assert.match(query.get(name) ?? '', /^[\w-]{43}$/, name);
  }
  const of = (url: string, name: string) => new URL(url).searchParams.get(name);
  for (const name of ['state', 'nonce', 'code_challenge']) assert.notEqual(of(one, name), of(other, name));
  const injected = await createBrowser(target).step(
    `${startUrl('sessions', 'fake')}&state=mine&client_id=mine&redirect_uri=mine&nonce=mine&scopes[]=groups`,
  );
  const query = new URL(injected.location ?? '').searchParams;
  assert.deepEqual([query.get('client_id'), query.get('scope')], ['svc', 'openid email profile groups']);
  assert.notEqual(query.get('state'), 'mine');
  await assertWorks();
});

test('a state that is wrong, missing, used or too old opens nothing', async () => {
  const browser = createBrowser(target);
  const location = await begin(browser);
  const url = fake.authorize(location);
  for (const state of ['wrong', '']) {
    const answer = await back(browser, fake.authorize(location, { state }));
    assert.deepEqual([answer.status, JSON.parse(answer.text).type], [401, 'user_invalid_token']);
  }
  users += 1;
  assert.equal(endOf(await back(browser, url)).page, `${app}/done`);
  const again = await back(browser, url);
  assert.deepEqual([again.status, JSON.parse(again.text).type], [401, 'user_invalid_token']);
  const late = createBrowser(target);
  const lateUrl = fake.authorize(await begin(late));
  target.clock.advance(601_000);
  assert.equal((await back(late, lateUrl)).status, 401);
  await assertNobody(late);
});

test('parallel callbacks with one state: one opens a session', async () => {
  const browser = createBrowser(target);
  const url = fake.authorize(await begin(browser));
  const cookie = [...(browser.cookies.get('localhost:8080') ?? [])].map((pair) => pair.join('=')).join('; ');
  users += 1;
  const real = target.origin + new URL(url).pathname + new URL(url).search;
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => fetch(real, { redirect: 'manual', headers: { Cookie: cookie } })),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [302, ...Array(19).fill(401)]);
  assert.equal((await rowsOf(target, 'sessions')).length, users);
});

test('login CSRF: a login that another browser began opens nothing, and is over', async () => {
  const attacker = createBrowser(target);
  const url = fake.authorize(await begin(attacker));
  const victim = createBrowser(target);
  assertFailed(await back(victim, url), 401, 'user_invalid_token');
  await assertNobody(victim);
  assert.equal((await back(attacker, url)).status, 401);
  await assertNobody(attacker);
});

test('mix-up: an answer for another provider, another project, or that names another issuer', async () => {
  const evil = await startFakeProvider();
  await addProvider(target, { key: 'evil', kind: 'oidc', config: configOf(evil) });
  const browser = createBrowser(target);
  const atFake = await begin(browser);
  for (const path of [callbackOf('evil'), callbackOf('fake', 'neighbour')]) {
    const url = new URL(fake.authorize(atFake));
    const answer = await back(browser, path + url.search);
    assert.deepEqual([answer.status, JSON.parse(answer.text).type], [401, 'user_invalid_token'], path);
  }
  const calls = evil.calls.length;
  assertFailed(await back(browser, fake.authorize(atFake, { iss: evil.issuer })), 424, 'user_oauth2_provider_error');
  const silent = createBrowser(target);
  assertFailed(await back(silent, fake.authorize(await begin(silent), { iss: '' })), 424, 'user_oauth2_provider_error');
  assert.equal(evil.calls.length, calls);
  await assertNobody(browser);
});

const spoiled: readonly [string, number, string, () => void][] = [
  ['another nonce', 401, 'user_oauth2_unauthorized', () => (fake.claims = { nonce: 'another' })],
  ['no nonce', 424, 'user_oauth2_provider_error', () => (fake.claims = { nonce: undefined })],
  ['alg none', 424, 'user_oauth2_provider_error', () => (fake.signs = 'not at all')],
  ['HS256 with the client secret', 424, 'user_oauth2_provider_error', () => (fake.signs = 'with the client secret')],
  ['the signature of another key', 424, 'user_oauth2_provider_error', () => (fake.signs = 'with another key')],
  ['a foreign issuer', 401, 'user_oauth2_unauthorized', () => (fake.claims = { iss: 'https://evil.example' })],
  ['another audience', 401, 'user_oauth2_unauthorized', () => (fake.claims = { aud: 'another' })],
  ['another authorized party', 401, 'user_oauth2_unauthorized', () => (fake.claims = { aud: ['svc', 'b'], azp: 'b' })],
  ['one audience, and another authorized party', 401, 'user_oauth2_unauthorized', () => (fake.claims = { azp: 'b' })],
  ['an authorized party that is no text', 401, 'user_oauth2_unauthorized', () => (fake.claims = { azp: null })],
  ['an end in the past', 401, 'user_oauth2_unauthorized', () => (fake.claims = { exp: 1 })],
  ['no subject', 424, 'user_oauth2_provider_error', () => (fake.claims = { sub: undefined })],
  ['an empty subject', 400, 'user_missing_id', () => (fake.claims = { sub: '' })],
  ['a subject of 300 characters', 400, 'user_missing_id', () => (fake.claims = { sub: 'x'.repeat(300) })],
  ['a subject with a control character', 400, 'user_missing_id', () => (fake.claims = { sub: 'a\u0000b' })],
];
for (const [name, code, type, spoil] of spoiled) {
  test(`an ID token with ${name} opens nothing`, async () => {
    const browser = createBrowser(target);
    const url = fake.authorize(await begin(browser));
    spoil();
    try {
      assertFailed(await back(browser, url), code, type);
      await assertNobody(browser);
    } finally {
      fake.claims = {};
      fake.signs = 'properly';
    }
  });
}

test('a discovery document that names another issuer is refused', async () => {
  const liar = await startFakeProvider();
  liar.document = { issuer: `${liar.issuer}/` };
  await addProvider(target, { key: 'liar', kind: 'oidc', config: configOf(liar) });
  assertFailed(await createBrowser(target).step(startUrl('sessions', 'liar')), 424, 'user_oauth2_provider_error');
});

test('a discovery document without a page to log in at is a provider that does not work', async () => {
  for (const [at, address] of [
    null,
    5,
    [1],
    '/a',
    'javascript:alert(1)',
    'data:text/html,x',
    'https://u:p@evil.example/',
  ].entries()) {
    const liar = await startFakeProvider();
    liar.document = { authorization_endpoint: address } as never;
    await addProvider(target, { key: `pageless${at}`, kind: 'oidc', config: configOf(liar) });
    const end = await createBrowser(target).step(startUrl('sessions', `pageless${at}`));
    assertFailed(end, 424, 'user_oauth2_provider_error');
  }
});

test('a page whose platform was removed during the login is not led to', async () => {
  const path = '/project/platforms';
  const { client: key } = await aServerKey(target);
  const made = await key.post(`${path}/web`, {
    platformId: 'unique()',
    name: 'Gone',
    hostname: 'gone.example.com',
    key: '',
  });
  const page = 'https://gone.example.com/done';
  const browser = createBrowser(target);
  const { location } = await browser.step(startUrl('tokens', 'fake', { success: page, failure: `${app}/failed` }));
  assert.ok(location !== null);
  (await key.delete(`${path}/${made.expect(201).string('$id')}`)).expect(204);
  assertFailed(await back(browser, fake.authorize(location)), 400, 'general_argument_invalid');
  assert.equal((await rowsOf(target, 'sessions')).length, users);
});

const nonsense: readonly [string, FakeProvider['intercept']][] = [
  ['does not answer', () => true],
  ['hangs up', (_, response) => Boolean(response.destroy())],
  ['answers HTML', (_, response) => Boolean(response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'))],
  [
    'answers no JSON',
    (_, response) => Boolean(response.writeHead(200, { 'content-type': 'application/json' }).end('{')),
  ],
  [
    'answers a list',
    (_, response) => Boolean(response.writeHead(200, { 'content-type': 'application/json' }).end('[]')),
  ],
  ['answers 500', (_, response) => Boolean(response.writeHead(500).end())],
  ['redirects', (_, response) => Boolean(response.writeHead(302, { location: 'http://127.0.0.1/' }).end())],
  [
    'answers more than it may',
    (_, response) =>
      Boolean(response.writeHead(200, { 'content-type': 'application/json' }).end(`"${'x'.repeat(300_000)}"`)),
  ],
  [
    'refuses the client',
    (_, response) =>
      Boolean(
        response
          .writeHead(401, { 'content-type': 'application/json' })
          .end('{"error":"invalid_client","error_description":"TOLD"}'),
      ),
  ],
];
for (const [name, intercept] of nonsense) {
  test(`a provider that ${name} leads to the failure page in time, at the start and at the end`, async () => {
    const own = await startFakeProvider();
    const key = `own-${own.issuer.split(':').at(-1)}`;
    await addProvider(target, { key, kind: 'oidc', config: configOf(own) });
    own.intercept = intercept;
    const begun = performance.now();
    assertFailed(await createBrowser(target).step(startUrl('sessions', key)), 424, 'user_oauth2_provider_error');
    own.intercept = () => false;
    const browser = createBrowser(target);
    const url = own.authorize(await begin(browser, key));
    own.intercept = ({ url: path }, response) => path === '/token' && intercept({} as never, response);
    const end = await back(browser, url);
    assertFailed(end, 424, 'user_oauth2_provider_error');
    assert.ok(performance.now() - begun < 10_000);
    assert.doesNotMatch(end.location ?? '', /TOLD/);
    await assertNobody(browser);
  });
}

test('a code that the provider does not accept, and errors that it sends back', async () => {
  const browser = createBrowser(target);
  const url = fake.authorize(await begin(browser));
  fake.intercept = ({ url: path }, response) =>
    path === '/token' &&
    Boolean(response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}'));
  assertFailed(await back(browser, url), 401, 'user_oauth2_unauthorized');
  fake.intercept = () => false;
  for (const [error, code, type] of [
    ['access_denied', 401, 'user_oauth2_unauthorized'],
    ['user_cancelled_login', 401, 'user_oauth2_unauthorized'],
    ['user_cancelled_authorize', 401, 'user_oauth2_unauthorized'],
    ['invalid_scope', 400, 'user_oauth2_bad_request'],
  ] as const) {
    const cancelled = createBrowser(target);
    assertFailed(await back(cancelled, fake.authorize(await begin(cancelled), { error, code: '' })), code, type);
  }
  const empty = createBrowser(target);
  assertFailed(await back(empty, fake.authorize(await begin(empty), { code: '' })), 400, 'user_oauth2_bad_request');
});

test('foreign pages are not led to, whether the login succeeds or fails', async () => {
  const pages = [
    'https://evil.example/',
    'javascript:alert(1)',
    '//evil.example',
    'https://localhost@evil.example/',
    'http://app.example.com/',
    'https://localhost\\@evil.example/',
    'data:text/html,x',
    '/relative',
    // The service itself: an address of the API would be called with what the browser holds.
    `http://localhost:8080/v1${startUrl('sessions', 'fake').replace(/^.*\/v1/, '')}`,
  ];
  // Its pages do what their addresses say; only the one at the end of a login may stand there.
  for (const own of ['sign-out?project=main', 'reset?project=main&userId=a&secret=b', 'invitation', 'done/../verify'])
    assertFailed(
      await createBrowser(target).step(
        startUrl('sessions', 'fake', { success: `http://localhost:8080/v1/auth/${own}`, failure: `${app}/failed` }),
      ),
      ...([400, 'general_argument_invalid'] as const),
    );
  for (const page of pages)
    for (const given of [{ success: page }, { failure: page }, { success: page, failure: page }]) {
      const answer = await createBrowser(target).step(startUrl('sessions', 'fake', given));
      assert.deepEqual([answer.status, JSON.parse(answer.text).type], [400, 'general_argument_invalid'], page);
    }
  assertFailed(
    await createBrowser(target).step(
      startUrl('sessions', 'fake', { success: 'https://evil.example/', failure: `${app}/failed` }),
    ),
    ...([400, 'general_argument_invalid'] as const),
  );
  const unknown = await createBrowser(target).step(
    startUrl('sessions', 'fake', { failure: `${app}/failed` }, 'nobody'),
  );
  assert.deepEqual([unknown.status, JSON.parse(unknown.text).type], [404, 'project_not_found']);
});

test('a provider that the project does not have, or that is disabled, is refused at the start and at the end', async () => {
  const { runtime, features } = target.appliance;
  assertFailed(await createBrowser(target).step(startUrl('sessions', 'google')), 412, 'project_provider_disabled');
  const browser = createBrowser(target);
  const url = fake.authorize(await begin(browser));
  const by = { projectId: 'main', actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  const enable = (enabled: boolean) =>
    runtime.db.work(by, (unit) => features.providers.update(unit, target.project, 'fake', { enabled }));
  await enable(false);
  assertFailed(await createBrowser(target).step(startUrl('sessions', 'fake')), 412, 'project_provider_disabled');
  assertFailed(await back(browser, url), 412, 'project_provider_disabled');
  await enable(true);
  await assertNobody(browser);
  await assertWorks();
});

test('a page of another origin cannot use the session of the browser to add an identity', async () => {
  const { secret, userId } = (await guest.post('/account/sessions/anonymous', {})).expect(201).body;
  users += 1;
  for (const headers of [
    { Referer: 'https://evil.example/' },
    { 'Sec-Fetch-Site': 'cross-site' },
    // The page to sign in with, on which somebody else may do so.
    { Referer: 'http://localhost:8080/v1/auth/sign-in?project=main', 'Sec-Fetch-Site': 'same-origin' },
    {},
  ] as Record<string, string>[]) {
    const browser = createBrowser(target);
    browser.cookies.set('localhost:8080', new Map([['svc_main', String(secret)]]));
    const { location } = await browser.step(startUrl('sessions', 'fake'), { headers });
    const rows = (await rowsOf(target, 'login_transactions')).filter((row) => row.user_id === userId);
    assert.deepEqual([typeof location, rows.length], ['string', 0]);
    assert.equal(browser.cookies.get('localhost:8080')?.get('svc_main'), secret);
    await back(browser, fake.authorize(location ?? '', { error: 'access_denied', code: '' }));
    assert.equal(browser.cookies.get('localhost:8080')?.get('svc_main'), secret);
  }
  // A login that has not succeeded ends nothing.
  (await createClient(target, { session: String(secret) }).get('/account')).expect(200);
});

test('the database reveals neither state, nor verifier, nor secret', async () => {
  const location = await begin(createBrowser(target));
  const state = new URL(location).searchParams.get('state') ?? '?';
  const text = JSON.stringify([await rowsOf(target, 'login_transactions'), await rowsOf(target, 'providers')]);
  for (const secret of [state, new URL(location).searchParams.get('nonce') ?? '?', '"secret"', 'clientSecret'])
    assert.ok(!text.includes(secret), secret);
  assert.ok(!target.log().includes(state));
});
