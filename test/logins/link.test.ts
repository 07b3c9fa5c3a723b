// Where a mailed link leads, and that following it changes nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy, rowsOf, runSql } from '../harness/database.js';
import { lastMessageTo } from '../harness/messages.js';
import { changeSettings } from '../harness/project.js';
import { exchangeBytes } from '../harness/socket.js';
import { aContact, redeemPath } from './setup.js';

const target = await startAppliance({ settings: { SVC_BASE_URL: 'https://api.shop.example/v1' } });
const guest = createClient(target);
const path = '/account/tokens/magic-url';
const { runtime, features } = target.appliance;
await runtime.db.work(
  { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' },
  (unit) =>
    features.projects.addPlatform(unit, target.project.id, {
      id: 'web',
      name: '',
      type: 'web',
      hostname: 'app.shop.example',
    }),
);
target.clock.advance(500);

async function linkFor(given: object = {}) {
  const email = aContact('email');
  const answer = (await guest.post(path, { userId: 'unique()', email, ...given })).expect(201);
  const link = (await lastMessageTo(target, email)).locals.link ?? '';
  return { answer, link, url: new URL(link) };
}

test('without an address of its own the link leads to the page of the service', async () => {
  const { answer, url } = await linkFor();
  assert.equal(`${url.origin}${url.pathname}`, 'https://api.shop.example/v1/auth/link');
  const { secret, ...rest } = Object.fromEntries(url.searchParams);
  assert.match(secret ?? '', /^[A-Za-z0-9_-]{43}$/);
  const { userId, expire } = answer.body;
  assert.deepEqual(rest, { userId, expire, project: target.project.id });
});

const addresses: [string, string][] = [
  ['https://app.shop.example/welcome', 'https://app.shop.example/welcome?'],
  ['https://app.shop.example', 'https://app.shop.example/?'],
  ['https://app.shop.example:8443/a?b=c%20d+e&b=2&empty', 'https://app.shop.example:8443/a?b=c%20d+e&b=2&empty&'],
  ['https://api.shop.example/ours?x=%26', 'https://api.shop.example/ours?x=%26&'],
];
for (const [given, before] of addresses) {
  test(`a link to ${given} keeps the application's parameters`, async () => {
    const { link, url } = await linkFor({ url: given });
    assert.ok(link.startsWith(`${before}userId=`), link);
    assert.deepEqual([...url.searchParams.keys()].slice(-4), ['userId', 'secret', 'expire', 'project']);
  });
}

test('text of the caller cannot replace the secret', async () => {
  const { answer, url } = await linkFor({ url: 'https://app.shop.example/?secret=planted&userId=planted&a=1' });
  assert.equal(url.searchParams.getAll('secret').length, 1);
  assert.notEqual(url.searchParams.get('secret'), 'planted');
  assert.deepEqual(url.searchParams.getAll('userId'), [answer.body.userId]);
  assert.equal(url.searchParams.get('a'), '1');
});

const foreign = [
  ...['https://evil.example/', 'http://app.shop.example/', 'https://app.shop.example.evil.example/', '//evil.example/'],
  ...['https://user@app.shop.example/', 'javascript:alert(1)', 'app.shop.example'],
  ...[
    'https://app.shop.example\\@evil.example/',
    'https://app.shop.example/\r\nBcc: a@evil.example',
    ' ',
    'x'.repeat(2049),
  ],
];
for (const url of foreign) {
  test(`no link leads to ${JSON.stringify(url).slice(0, 60)}`, async () => {
    const { value, recorded } = await recordedBy(target, () =>
      guest.post(path, { userId: 'unique()', email: aContact('email'), url }),
    );
    value.refused(400, 'general_argument_invalid');
    assert.deepEqual(recorded, nothing);
  });
}

test('neither Host nor a proxy header decides the target of a link', async () => {
  const email = aContact('email');
  const body = JSON.stringify({ userId: 'unique()', email });
  const head = [
    ...['POST /v1/account/tokens/magic-url HTTP/1.1', 'Host: evil.example', 'X-Forwarded-Host: evil.example'],
    ...['X-Forwarded-Proto: https', 'Forwarded: host=evil.example', `X-Service-Project: ${target.project.id}`],
    ...['Content-Type: application/json', `Content-Length: ${body.length}`, 'Connection: close'],
  ];
  assert.match(await exchangeBytes(target, `${head.join('\r\n')}\r\n\r\n${body}`), /^HTTP\/1.1 201 /);
  const link = (await lastMessageTo(target, email)).locals.link ?? '';
  assert.ok(link.startsWith('https://api.shop.example/v1/auth/link?'), link);
});

test('twenty scanners follow the link, and the click still counts', async () => {
  const { answer, url } = await linkFor();
  const local = `/auth/link${url.search}`;
  const { recorded } = await recordedBy(target, async () => {
    for (let visit = 0; visit < 20; visit++) {
      const page = (await guest.with({ project: null }).get(local)).expect(200);
      assert.equal(page.headers.get('Set-Cookie'), null);
      (await guest.with({ project: null }).request('HEAD', local)).expect(200);
    }
  });
  assert.deepEqual(recorded, nothing);
  const given = { userId: answer.string('userId'), secret: url.searchParams.get('secret') };
  (await guest.post(redeemPath, given)).expect(201);
  (await guest.with({ project: null }).get(local)).expect(200);
});

test('links of earlier mails lead to the page too, with its parameters', async () => {
  const { url } = await linkFor();
  const earlier = guest.with({ project: null });
  const { headers } = (await earlier.get(`/pages/magic-url${url.search}`)).expect(302);
  const page = new URL(headers.get('Location') ?? '');
  assert.equal(`${page.origin}${page.pathname}`, 'https://api.shop.example/v1/auth/link');
  for (const name of ['userId', 'secret', 'project'])
    assert.equal(page.searchParams.get(name), url.searchParams.get(name));
  (await earlier.get('/pages/magic-url')).refused(404, 'project_not_found');
});

test("the page names its project, runs only its own scripts, and repeats only its form's members of the address", async () => {
  await runSql(target, 'update projects set name = ? where id = ?', ['<Shop> & "Sons"', target.project.id]);
  target.clock.advance(500);
  const planted = '?project=main&userId=%3Cscript%3Ealert(1)%3C/script%3E&secret=unmistakable';
  const pages = [await guest.get(`/auth/link${planted}`), await guest.get('/auth/link?project=main')];
  const nonces = pages.map((page) => {
    page.expect(200);
    const policy = page.headers.get('Content-Security-Policy') ?? '';
    const [, nonce = ''] = /script-src 'nonce-([\w-]{22})'/.exec(policy) ?? [];
    assert.match(policy, /^default-src 'none'; .*frame-ancestors 'none'; base-uri 'none'$/);
    assert.equal(page.text.split(`nonce="${nonce}"`).length, 3);
    assert.doesNotMatch(page.text.replaceAll(`nonce="${nonce}"`, ''), /<(script|style)(?! )|<script>alert|\{\{/);
    assert.match(page.text, /<p class="project">&lt;Shop&gt; &amp; &quot;Sons&quot;<\/p>/);
    assert.deepEqual(
      ['Content-Type', 'Cache-Control', 'Referrer-Policy', 'X-Content-Type-Options'].map((n) => page.headers.get(n)),
      ['text/html; charset=utf-8', 'no-store', 'same-origin', 'nosniff'],
    );
    return nonce;
  });
  assert.notEqual(nonces[0], nonces[1]);
  (await guest.with({ project: null }).get('/auth/link')).refused(404, 'project_not_found');
});

test('a holder of a session gets the page too, also if cookies need a page of the project', async () => {
  await changeSettings(target, { 'cookie.sameSite': 'none' });
  target.clock.advance(500);
  const { secret } = (await guest.post('/account/sessions/anonymous')).expect(201).body;
  const mail = { Cookie: `__Host-svc_main=${secret}`, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' };
  (await guest.with({ project: null }).get('/account?project=main', mail)).refused(403, 'general_unknown_origin');
  (await guest.with({ project: null }).get('/auth/link?project=main', mail)).expect(200);
});

test('the stored answer of a request does not contain the secret', async () => {
  const { url } = await linkFor();
  const secret = url.searchParams.get('secret') ?? 'none';
  for (const table of ['one_time_secrets', 'messages', 'audit_entries', 'events'])
    assert.ok(!JSON.stringify(await rowsOf(target, table)).includes(secret), table);
  assert.ok(!target.log().includes(secret));
});
