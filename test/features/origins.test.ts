// Which pages may read answers, and which may act with a cookie.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Answer, createClient } from '../harness/client.js';
import { nothing, recordedBy, rowsOf } from '../harness/database.js';
import { changeSettings } from '../harness/project.js';

const target = await startAppliance({ settings: { SVC_BASE_URL: 'http://localhost:8080/v1' } });
const guest = createClient(target);
const key = await aServerKey(target);
for (const hostname of ['app.example.com', '*.wild.example'])
  (await key.client.post('/project/platforms/web', { platformId: 'unique()', name: '', hostname })).expect(201);
const apps = [
  ['android', 'applicationId', 'com.example.Shop'],
  ['apple', 'bundleIdentifier', 'com.example.shop-2'],
  ['linux', 'packageName', 'shop_app'],
] as const;
for (const [type, member, id] of apps)
  (await key.client.post(`/project/platforms/${type}`, { platformId: type, name: 'App', [member]: id })).expect(201);
const abroad = await aServerKey(target, { projectId: target.neighbour.id });
const elsewhere = { platformId: 'unique()', name: '', hostname: 'elsewhere.example' };
(await abroad.client.post('/project/platforms/web', elsewhere)).expect(201);

const granted = (answer: Answer) => answer.headers.get('Access-Control-Allow-Origin');
/** [origin, its own project allows it, some project does] */
const origins: [string, boolean, boolean][] = [
  ['https://app.example.com', true, true],
  ['https://app.example.com:8443', true, true],
  ['https://a.wild.example', true, true],
  ['https://b.a.wild.example', true, true],
  ['http://localhost:3000', true, true],
  ['http://127.0.0.1:5173', true, true],
  ['http://localhost:8080', true, true],
  ['appwrite-android://com.example.shop', true, true],
  ['appwrite-ios://com.example.shop-2', true, true],
  ['appwrite-macos://com.example.shop-2', true, true],
  ['appwrite-linux://shop_app', true, true],
  ['appwrite-ios://com.example.shop', false, false],
  ['appwrite-windows://shop_app', false, false],
  ['appwrite-android://com.example', false, false],
  ['appwrite-android://', false, false],
  ['appwrite-web://com.example.shop', false, false],
  ['https://com.example.shop', false, false],
  ['android://com.example.shop', false, false],
  ['https://elsewhere.example', false, true],
  ['https://wild.example', false, false],
  ['https://notwild.example', false, false],
  ['http://app.example.com', false, false],
  ['https://sub.app.example.com', false, false],
  ['https://app.example.com.evil.example', false, false],
  ['https://app.example.com@evil.example', false, false],
  ['https://app.example.com/', false, false],
  ['https://example.com', false, false],
  ['https://com', false, false],
  ['http://localhost.evil.example', false, false],
  ['ftp://localhost', false, false],
  ['file://', false, false],
  ['null', false, false],
  ['*', false, false],
  ['no origin at all', false, false],
];

for (const [origin, own, some] of origins) {
  test(`a page of ${origin} may ${own ? '' : 'not '}read answers`, async () => {
    const answer = (await guest.get('/account', { Origin: origin })).refused(401, 'general_unauthorized_scope');
    assert.equal(granted(answer), own ? origin : null);
    assert.equal(answer.headers.get('Access-Control-Allow-Credentials'), own ? 'true' : null);
    assert.match(answer.headers.get('Vary') ?? '', /\bOrigin\b/);
    assert.equal(answer.headers.has('Access-Control-Expose-Headers'), own);
    if (own)
      assert.match(answer.headers.get('Access-Control-Expose-Headers') ?? '', /X-Fallback-Cookies.*X-Request-Id/);
  });
  test(`a preflight of ${origin} is ${some ? '' : 'not '}granted`, async () => {
    const asked = { Origin: origin, 'Access-Control-Request-Method': 'PATCH' };
    const answer = (await guest.with({ project: null }).request('OPTIONS', '/account', undefined, asked)).expect(204);
    assert.equal(granted(answer), some ? origin : null);
    assert.match(answer.headers.get('Vary') ?? '', /\bOrigin\b/);
    assert.equal(answer.headers.get('Access-Control-Max-Age'), some ? '600' : null);
    const allowed = answer.headers.get('Access-Control-Allow-Headers') ?? '';
    const common = ['X-Service-Project', 'X-Appwrite-Session', 'Content-Type'];
    for (const name of [...common, 'X-Fallback-Cookies', 'X-SDK-Name', 'Baggage', 'Traceparent'])
      assert.equal(allowed.includes(name), some, name);
    assert.equal(/DELETE/.test(answer.headers.get('Access-Control-Allow-Methods') ?? ''), some);
    assert.ok(!allowed.includes('*'));
  });
  test(`a page of ${origin} may ${some ? '' : 'not '}read answers that belong to no project`, async () => {
    const nowhere = guest.with({ project: 'no-such-project' });
    const asked: [Promise<Answer>, number][] = [
      [nowhere.get('/account', { Origin: origin }), 404],
      [nowhere.post('/account/sessions/email', {}, { Origin: origin }), 404],
      [guest.with({ project: null }).get('/account', { Origin: origin }), 404],
      [guest.get('/no-such-route', { Origin: origin }), 404],
      [guest.request('PUT', '/account', {}, { Origin: origin }), 405],
      [guest.get('/ping', { Origin: origin }), 200],
      [guest.with({ project: null }).get('//ping', { Origin: origin }), 200],
    ];
    for (const [asking, status] of asked) {
      const answer = (await asking).expect(status);
      assert.equal(granted(answer), some ? origin : null);
      assert.equal(answer.headers.get('Access-Control-Allow-Credentials'), some ? 'true' : null);
      assert.match(answer.headers.get('Vary') ?? '', /\bOrigin\b/);
      assert.equal(/X-Request-Id/.test(answer.headers.get('Access-Control-Expose-Headers') ?? ''), some);
    }
    for (const path of ['//healthz', '//readyz', '//metrics'])
      assert.equal(granted((await guest.get(path, { Origin: origin })).expect(200)), null, path);
  });
  test(`a page of ${origin} may ${own ? '' : 'not '}act with a cookie`, async () => {
    const { secret } = await aLoggedInUser(target);
    const headers = { Cookie: `svc_main=${secret}`, Origin: origin, 'Content-Type': 'application/json' };
    const body = { name: 'Changed' };
    const act = () => guest.request('PATCH', '/account/name', body, headers);
    if (own) return void (await act()).expect(200);
    const { value, recorded } = await recordedBy(target, act);
    value.refused(403, 'general_unknown_origin');
    assert.deepEqual(recorded, nothing);
    (await guest.get('/account', headers)).refused(403, 'general_unknown_origin');
    assert.equal(granted(value), null);
    const { email, password } = await aUser(target);
    const login = await guest.request('POST', '/account/sessions/email', { email, password }, headers);
    login.refused(403, 'general_unknown_origin');
  });
}

const warnings = (own: { log(): string }) =>
  own
    .log()
    .split('\n')
    .filter((line) => line.includes('"origin.refused"'))
    .map((line) => JSON.parse(line));

test('a refused origin is one line of the log, with the command that allows it', async () => {
  const own = await startAppliance({ settings: { SVC_BASE_URL: 'https://api.example.com/v1' } });
  const client = createClient(own);
  /** [origin, what the operator is told] */
  const refused: [string, RegExp][] = [
    ['https://app.example.com', /^if the page is yours: svc platform add --project main --hostname app\.example\.com$/],
    ['http://localhost:5173', /svc platform add --project main --hostname localhost$/],
    ['http://192.0.2.7:5173', /^serve the page over https/],
    ['null', /^serve the page from a web server/],
    [
      'appwrite-ios://com.example.app',
      /^if the app is yours: svc platform add --project main --type apple --package com\.example\.app$/,
    ],
    ['appwrite-android://', /^name the app in its code/],
    ['https://a;reboot', /^use a page over https/],
  ];
  for (const [origin] of refused)
    for (let times = 0; times < 2; times++) (await client.get('/ping', { Origin: origin })).expect(200);
  for (const [origin] of refused)
    for (let times = 0; times < 2; times++) (await client.get('/account', { Origin: origin })).expect(401);
  const lines = warnings(own);
  assert.deepEqual(
    lines.map(({ origin, project, level }) => [origin, project, level]),
    refused.map(([origin]) => [origin, 'main', 'warn']),
  );
  for (const [at, [, next]] of refused.entries()) assert.match(lines[at].next, next);

  const preflight = { Origin: 'https://app.example.com', 'Access-Control-Request-Method': 'GET' };
  for (let times = 0; times < 2; times++) await client.request('OPTIONS', '/account', undefined, preflight);
  const [line, ...more] = warnings(own).slice(lines.length);
  assert.deepEqual([line.origin, line.project, more], ['https://app.example.com', undefined, []]);
  assert.match(line.next, /--project ID --hostname app\.example\.com$/);
});

test('many refused origins are few lines and few entries', async () => {
  const own = await startAppliance();
  // Its round at the start would begin a new count. Stopping again writes what was counted.
  await own.appliance.features.refusals.worker.stop();
  for (let number = 0; number < 30; number++)
    (await createClient(own).get('/account', { Origin: `https://n${number}.example` })).expect(401);
  assert.equal(warnings(own).length, 10);
  await own.appliance.features.refusals.worker.stop();
  const entries = (await rowsOf(own, 'audit_entries')).filter(({ action }) => action === 'requestsRefused');
  const found = entries.map(({ data }) => JSON.parse(String(data))).filter(({ reason }) => /origin/.test(reason));
  assert.deepEqual(
    found
      .map(({ count, origin }) => [count, origin ?? ''])
      .sort()
      .slice(0, 2),
    [
      [1, 'https://n0.example'],
      [1, 'https://n1.example'],
    ],
  );
  assert.deepEqual(
    found.filter(({ origin }) => origin === undefined).map(({ count }) => count),
    [20],
  );
});

const page = 'http://localhost:3000';
const json = 'application/json';
/** [what is sent beside the cookie, answer to an unsafe request, answer to a read] */
const cookieRequests: [string, Record<string, string>, number, number][] = [
  ['an origin and JSON', { Origin: page, 'Content-Type': json }, 200, 200],
  ['JSON with its charset', { Origin: page, 'Content-Type': `${json}; charset=utf-8` }, 200, 200],
  [
    'the word of the browser that it is the same origin',
    { 'Sec-Fetch-Site': 'same-origin', 'Content-Type': json },
    200,
    200,
  ],
  [
    'the word of the browser that it is the same site',
    { 'Sec-Fetch-Site': 'same-site', 'Content-Type': json },
    403,
    200,
  ],
  [
    'the word of the browser that it is another site',
    { 'Sec-Fetch-Site': 'cross-site', 'Content-Type': json },
    403,
    200,
  ],
  ['no origin, as from a program', { 'Content-Type': json }, 200, 200],
  ['the text of a form', { Origin: page, 'Content-Type': 'text/plain' }, 415, 200],
  ['a form', { Origin: page, 'Content-Type': 'application/x-www-form-urlencoded' }, 415, 200],
  ['JSON in another name', { Origin: page, 'Content-Type': 'text/json' }, 415, 200],
  ['JSON beside another type', { Origin: page, 'Content-Type': `text/plain, ${json}` }, 415, 200],
];
for (const [name, headers, unsafe, read] of cookieRequests) {
  test(`a cookie with ${name}: ${unsafe} for a change, ${read} for a read`, async () => {
    const { secret } = await aLoggedInUser(target);
    const all = { ...headers, Cookie: `svc_main=${secret}` };
    const change = await guest.request('PATCH', '/account/name', JSON.stringify({ name: 'Changed' }), all);
    assert.equal(change.status, unsafe, change.text);
    (await guest.get('/account', all)).expect(read);
  });
}

/** [what the browser sends beside the cookie and the project, answer] */
const logouts: [string, Record<string, string>, number][] = [
  ['an origin of a platform', { Origin: page }, 204],
  ['the word that it is the same origin', { 'Sec-Fetch-Site': 'same-origin' }, 204],
  ['the media type of what is not there', { Origin: page, 'Content-Type': 'text/plain' }, 204],
  ['an empty body', { Origin: page, 'Content-Length': '0' }, 204],
  ['a foreign origin', { Origin: 'https://evil.example' }, 403],
  ['the word that it is another site', { 'Sec-Fetch-Site': 'cross-site' }, 403],
  ['no origin, as from a program', {}, 204],
];
for (const [name, headers, status] of logouts) {
  test(`logout by cookie, without a body, with ${name}: ${status}`, async () => {
    const { secret } = await aLoggedInUser(target);
    const cookie = { Cookie: `svc_main=${secret}` };
    (await guest.delete('/account/sessions/current', { ...cookie, ...headers })).expect(status);
    (await guest.get('/account', cookie)).expect(status === 204 ? 401 : 200);
  });
}

test('with a cookie, a change needs the project in a header, which no form can send', async () => {
  const { secret } = await aLoggedInUser(target);
  const headers = { Cookie: `svc_main=${secret}`, Origin: page };
  const client = guest.with({ project: null });
  const path = '/account/name?project=main';
  (await client.request('PATCH', path, { name: 'X' }, headers)).refused(403, 'general_unknown_origin');
  (await client.get('/account?project=main', headers)).expect(200);
});

test('a session in a header asks for no origin, and a foreign page still cannot read the answer', async () => {
  const { client } = await aLoggedInUser(target);
  const answer = await client.request('PATCH', '/account/name', { name: 'X' }, { Origin: 'https://evil.example' });
  assert.equal(granted(answer.expect(200)), null);
});

test('a project with cookies for other sites wants an origin for reads too', async () => {
  const own = await startAppliance({ settings: { SVC_BASE_URL: 'https://api.example.com/v1' } });
  await changeSettings(own, { 'cookie.sameSite': 'none' });
  const { secret } = await aLoggedInUser(own);
  const cookie = { Cookie: `__Host-svc_main=${secret}` };
  (await createClient(own).get('/account', cookie)).refused(403, 'general_unknown_origin');
  (await createClient(own).delete('/account/sessions/current', cookie)).refused(403, 'general_unknown_origin');
  (await createClient(own).get('/account', { ...cookie, Origin: 'https://api.example.com' })).expect(200);
});

test('a service with a public address allows its own origin, not localhost', async () => {
  const own = await startAppliance({ settings: { SVC_BASE_URL: 'https://api.example.com/v1' } });
  const client = createClient(own);
  const seen = async (origin: string) => granted(await client.get('/account', { Origin: origin }));
  assert.equal(await seen('https://api.example.com'), 'https://api.example.com');
  for (const origin of ['http://localhost:3000', 'http://api.example.com', 'https://api.example.com:444'])
    assert.equal(await seen(origin), null, origin);
});

test('a platform counts at once, and no longer when it is removed', async () => {
  const origin = 'https://soon.example.org';
  assert.equal(granted(await guest.get('/account', { Origin: origin })), null);
  const body = { platformId: 'soon', name: '', hostname: 'soon.example.org' };
  (await key.client.post('/project/platforms/web', body)).expect(201);
  assert.equal(granted(await guest.get('/account', { Origin: origin })), origin);
  (await key.client.delete('/project/platforms/soon')).expect(204);
  assert.equal(granted(await guest.get('/account', { Origin: origin })), null);
});
