// The hosted pages without scripts: sign-up, sign-in, codes, links, second factor, recovery, verification.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { lastMessageTo } from '../harness/messages.js';
import { changeSettings } from '../harness/project.js';
import { aContact, withSms } from '../logins/setup.js';
import { linkOf } from '../proofs/proofs.js';
import { aGuardedUser, lastCode, verify } from '../second-factor/people.js';
import { aTeam } from '../teams/setup.js';
import { createPlainBrowser } from './browser.js';

const target = await startAppliance({ settings: withSms });
const success = 'http://localhost:3000/welcome?from=login';
const place = `project=main&success=${encodeURIComponent(success)}`;
const page = (name: string) => `/v1/auth/${name}?${place}`;
const password = 'a fine long password';
const cookie = 'svc_main';

/** The second factors that a page offers. */
const offeredFactors = (html: string) => [
  ...(html.includes('id="otp"') ? ['otp'] : []),
  ...['email', 'phone'].filter((factor) => html.includes(`name="factor" value="${factor}"`)),
  ...(html.includes('id="recovery"') ? ['recovery'] : []),
];

/** Who the browser's cookie is. */
async function whoIs(browser: ReturnType<typeof createPlainBrowser>): Promise<string> {
  const client = createClient(target, { session: browser.jar.get(cookie) ?? 'none' });
  return (await client.get('/account')).expect(200).string('email');
}

test('sign-up opens a session and leads to the page of the application', async () => {
  const browser = createPlainBrowser(target);
  await browser.open(page('sign-up'));
  const email = aContact('email');
  const { response, location } = await browser.submit({ name: 'Anna', email, password });
  assert.deepEqual([response.status, location.href], [302, success]);
  assert.equal(await whoIs(browser), email);
});

test('sign-in: wrong and right, and wrong input is not in the address', async () => {
  const { email, password: right } = await aUser(target);
  const browser = createPlainBrowser(target);
  await browser.open(page('sign-in'));
  await browser.submit({ email, password: 'wrong password' });
  assert.match(browser.message, /Incorrect email or password/);
  assert.ok(!browser.url.href.includes('wrong') && !browser.url.href.includes(email.split('@')[0] ?? email));
  assert.equal(browser.jar.get(cookie), undefined);
  await browser.submit({ email: 'no address', password: 'x' });
  assert.match(browser.message, /Enter an email address/);
  assert.match(browser.html, /name="email"[^>]* value="no address"[^>]* aria-invalid="true"/);
  const { location } = await browser.submit({ email, password: right });
  assert.equal(location.href, success);
  assert.equal(await whoIs(browser), email);
});

test('a refused sign-up says what is wrong at its field, and keeps the rest', async () => {
  const { email } = await aUser(target);
  const browser = createPlainBrowser(target);
  await browser.open(page('sign-up'));
  const problemAt = (id: string) => browser.html.match(new RegExp(`id="${id}-problem" role="alert">([^<]+)<`))?.[1];
  const other = aContact('email');
  for (const [given, field, problem] of [
    [{ email, password }, 'email', /already an account/],
    [{ email: other, password: 'short' }, 'password', /at least 8 characters/],
    [{ email: other, password: 'password123' }, 'password', /most common/],
    [{ email: other, password: other }, 'password', /own name or address/],
  ] as const) {
    const { response } = await browser.submit({ name: 'Anna "B" <C>', ...given });
    assert.ok([400, 409].includes(response.status));
    assert.match(problemAt(field) ?? '', problem);
    assert.match(browser.html, /name="name"[^>]* value="Anna &quot;B&quot; &lt;C&gt;"/);
    assert.ok(browser.html.includes(`value="${given.email}"`));
    assert.ok(!browser.html.includes(given.password) || given.password === other);
    assert.doesNotMatch(browser.url.href, /error|Anna|%7B/);
  }
  const { location } = await browser.submit({ name: 'Anna', email: other, password });
  assert.equal(location.href, success);
});

test('without an address to lead to, the page itself says that it is done', async () => {
  const { email, password: right } = await aUser(target);
  const browser = createPlainBrowser(target);
  await browser.open('/v1/auth/sign-in?project=main');
  await browser.submit({ email, password: right });
  assert.deepEqual([browser.url.pathname, browser.heading], ['/v1/auth/done', 'You are signed in']);
});

test('with the second factor on, the page asks for it', async () => {
  const anna = await aGuardedUser(target);
  const browser = createPlainBrowser(target);
  await browser.open(page('sign-in'));
  await browser.submit({ email: anna.email, password: anna.password });
  assert.equal(browser.heading, 'Confirm that it is you');
  const pending = browser.jar.get(cookie);
  await browser.submit({ otp: '000000' });
  assert.match(browser.html, /id="otp-problem"[^>]*>This code or link is wrong/);
  assert.doesNotMatch(browser.html, /id="recovery-problem"/);
  await browser.submit({ otp: 'nothing', form: 'recovery' });
  assert.match(browser.html, /<details open>[\s\S]*id="recovery-problem"[^>]*>This code or link is wrong/);
  assert.doesNotMatch(browser.html, /id="otp-problem"/);
  const { location } = await browser.submit({ otp: anna.app.nextCode().replace(/^.../, '$& ') });
  assert.equal(location.href, success);
  assert.notEqual(browser.jar.get(cookie), pending);
  assert.equal(await whoIs(browser), anna.email);

  const late = createPlainBrowser(target);
  await late.open(page('second-factor'));
  await late.submit({ otp: '000000' });
  assert.match(late.message, /too long/);
});

test('a second factor by mail or SMS after a first factor of another kind', async () => {
  const { email, password: right, id } = await aGuardedUser(target);
  await verify(target, id, 'email');
  await verify(target, id, 'phone');
  for (const factor of ['email', 'phone']) {
    const browser = createPlainBrowser(target);
    await browser.open(page('sign-in'));
    await browser.submit({ email, password: right });
    assert.deepEqual(offeredFactors(browser.html), ['otp', 'email', 'phone', 'recovery']);
    await browser.submit({ factor }, {}, 'challenge');
    assert.match(browser.message, /on its way/);
    await browser.submit({ otp: '000000' });
    assert.match(browser.message, /wrong/);
    const { location } = await browser.submit({ otp: (await lastCode(target, id)).replace(/^.../, '$&-') });
    assert.equal(location.href, success);
    assert.equal(await whoIs(browser), email);
    target.clock.advance(901_000);
  }
  const plain = await aGuardedUser(target);
  const browser = createPlainBrowser(target);
  await browser.open(page('sign-in'));
  await browser.submit({ email: plain.email, password: plain.password });
  assert.deepEqual(offeredFactors(browser.html), ['otp', 'recovery']);
  // An address without the factors offers all.
  await browser.open(page('second-factor'));
  assert.deepEqual(offeredFactors(browser.html), ['otp', 'email', 'phone', 'recovery']);
  await browser.submit({ factor: 'email' }, {}, 'challenge');
  assert.match(browser.message, /no confirmed email address/);
});

test('a code by SMS logs in, by a number as people write it', async () => {
  const phone = aContact('phone');
  const browser = createPlainBrowser(target);
  await browser.open(page('sign-in'));
  assert.match(browser.html, /href="phone\?/);
  await browser.open(page('phone'));
  await browser.submit({ phone: '0151 23' });
  assert.match(browser.message, /with its country code/);
  assert.match(browser.html, /name="phone"[^>]* value="0151 23"/);
  await browser.submit({
    phone: `00${phone.slice(1, 2)} (${phone.slice(2, 5)}) ${phone.slice(5, 8)}-${phone.slice(8)}`,
  });
  assert.match(browser.message, /text message is on its way/);
  assert.match(browser.html, /<a href="phone\?/);
  await browser.submit({ secret: '000000' });
  assert.match(browser.message, /wrong/);
  const { location } = await browser.submit({
    secret: (await lastMessageTo(target, phone)).locals.code?.replace(/^.../, ' $& ') ?? '',
  });
  assert.equal(location.href, success);
  const client = createClient(target, { session: browser.jar.get(cookie) ?? 'none' });
  assert.equal((await client.get('/account')).expect(200).string('phone'), phone);
});

test('where no SMS can be sent, no page offers one', async () => {
  const without = await startAppliance();
  const browser = createPlainBrowser(without);
  await browser.open(page('sign-in'));
  assert.doesNotMatch(browser.html, /phone\?/);
  await browser.open(page('second-factor'));
  assert.doesNotMatch(browser.html, /value="phone"/);
  await browser.open(page('phone'));
  await browser.submit({ phone: '+14155550123' });
  assert.match(browser.message, /SMS are not available/);
});

test('signing out ends the session; a second time, and a foreign page, do no harm', async () => {
  const { email, password: right } = await aUser(target);
  const browser = createPlainBrowser(target);
  await browser.open('/v1/auth/sign-in?project=main');
  await browser.submit({ email, password: right });
  const session = browser.jar.get(cookie) ?? '';
  await browser.open(page('sign-out'));
  await browser.submit({}, { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site', Referer: '' });
  const client = createClient(target, { session });
  (await client.get('/account')).expect(200);
  assert.equal(browser.jar.get(cookie), session);
  await browser.open(page('sign-out'));
  const { location } = await browser.submit({});
  assert.deepEqual([location.href, browser.jar.size], [success, 0]);
  (await client.get('/account')).refused(401, 'general_unauthorized_scope');
  await browser.open('/v1/auth/sign-out?project=main');
  await browser.submit({});
  assert.match(browser.message, /signed out/);
});

test('an invitation logs in and joins the team; with the second factor on, after that', async () => {
  const team = await aTeam(target);
  const guarded = await aGuardedUser(target);
  const url = `http://localhost:8080/v1/auth/invitation?success=${encodeURIComponent(success)}`;
  for (const email of [aContact('email'), guarded.email]) {
    (await team.owner.client.post(team.memberships, { email, roles: [], url })).expect(201);
    const { locals } = await lastMessageTo(target, email);
    const browser = createPlainBrowser(target);
    await browser.open(String(locals.link));
    assert.equal(browser.heading, 'You are invited to a team');
    const first = await browser.submit({});
    if (email === guarded.email) {
      assert.equal(browser.heading, 'Confirm that it is you');
      await browser.submit({ otp: guarded.app.nextCode() });
      assert.equal(browser.heading, 'You are invited to a team');
      assert.equal((await browser.submit({})).location.href, success);
    } else assert.equal(first.location.href, success);
    assert.equal(await whoIs(browser), email);
    const client = createClient(target, { session: browser.jar.get(cookie) ?? 'none' });
    assert.equal((await client.get('/teams')).expect(200).body.total, 1);
    const again = createPlainBrowser(target);
    await again.open(String(locals.link));
    await again.submit({});
    assert.match(again.message, /already in this team/);
  }
});

for (const form of ['code', 'link'] as const) {
  test(`a mailed ${form} logs in`, async () => {
    const email = aContact('email');
    const browser = createPlainBrowser(target);
    await browser.open(page('email'));
    await browser.submit({ email, form });
    assert.match(browser.message, /on its way/);
    if (form === 'code') {
      await browser.submit({ secret: 'no-code' });
      assert.match(browser.message, /wrong/);
      const { location } = await browser.submit({ secret: (await lastMessageTo(target, email)).locals.code ?? '' });
      assert.equal(location.href, success);
    } else {
      await browser.open(await linkOf(target, email, 'magic-link'));
      const { location } = await browser.submit({});
      assert.equal(location.href, success);
    }
    assert.equal(await whoIs(browser), email);
  });
}

test('a lost password is replaced, and a short one is refused without spending the link', async () => {
  const { email } = await aUser(target);
  const browser = createPlainBrowser(target);
  await browser.open(page('recovery'));
  await browser.submit({ email });
  assert.match(browser.message, /on its way/);
  await browser.open(await linkOf(target, email, 'recovery'));
  await browser.submit({ password: 'short' });
  assert.match(browser.message, /at least 8 characters/);
  await browser.submit({ password });
  assert.deepEqual([browser.url.pathname, browser.jar.size], ['/v1/auth/sign-in', 0]);
  assert.match(browser.message, /changed/);
  const { location } = await browser.submit({ email, password });
  assert.equal(location.href, success);
});

test('an address is confirmed by the form, not by opening the page', async () => {
  const user = await aUser(target);
  const session = (await createClient(target).post('/account/sessions/email', user)).expect(201).string('secret');
  const client = createClient(target, { session });
  const url = 'http://localhost:8080/v1/auth/verify';
  (await client.post('/account/verifications/email', { url })).expect(201);
  const browser = createPlainBrowser(target);
  // The browser of the mail program, without a session.
  await browser.open(await linkOf(target, user.email, 'email-verification'));
  assert.equal((await client.get('/account')).body.emailVerification, false);
  await browser.submit({});
  assert.equal(browser.heading, 'Email address confirmed');
  assert.equal((await client.get('/account')).body.emailVerification, true);
});

test('a project that hides its users does not log in after a sign-up', async () => {
  await changeSettings(target, { 'signup.hideExisting': true });
  const { email } = await aUser(target);
  const seen: string[] = [];
  for (const address of [email, aContact('email')]) {
    const browser = createPlainBrowser(target);
    await browser.open(page('sign-up'));
    await browser.submit({ name: '', email: address, password });
    seen.push(`${browser.url.href} ${browser.message} ${browser.jar.size}`);
  }
  assert.equal(seen[0], seen[1]);
  await changeSettings(target, { 'signup.hideExisting': false });
});

test('foreign pages submit nothing, and the pages lead nowhere foreign', async () => {
  const { email, password: right } = await aUser(target);
  const browser = createPlainBrowser(target);
  for (const headers of [{ Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }, { Origin: 'null' }]) {
    await browser.open(page('sign-in'));
    const { response } = await browser.submit({ email, password: right }, headers as unknown as Record<string, string>);
    assert.equal(response.headers.getSetCookie().length, 0);
    assert.equal(browser.jar.size, 0);
  }
  const guest = createClient(target);
  for (const bad of [
    'https://evil.example/',
    'javascript:alert(1)',
    '//evil.example',
    'http://localhost:3000@evil.example/',
  ])
    (await guest.get(`/auth/sign-in?project=main&success=${encodeURIComponent(bad)}`)).refused(
      400,
      'general_argument_invalid',
    );
  (await guest.get('/auth/sign-in?project=nothing')).refused(404, 'project_not_found');
  const asked = await fetch(`${target.origin}/v1/auth/sign-in?project=<nothing>`, { headers: { Accept: 'text/html' } });
  assert.deepEqual([asked.status, asked.headers.get('content-type')], [404, 'text/html; charset=utf-8']);
  assert.match(
    await asked.text(),
    /<h1>This page cannot be shown<\/h1>[\s\S]*incomplete[\s\S]*There is no such project[^<]*svc project list/,
  );
});

test('pages run nothing but their own, and repeat nothing of their address that could be a page', async () => {
  const planted = '%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E{{nonce}}';
  for (const name of [
    'sign-in',
    'sign-up',
    'email',
    'phone',
    'code',
    'link',
    'second-factor',
    'recovery',
    'reset',
    'verify',
    'done',
    'verified',
    'remove-address',
    'failed',
    'invitation',
    'sign-out',
  ]) {
    const browser = createPlainBrowser(target);
    await browser.open(`${page(name)}&error=${planted}&notice=${planted}&userId=${planted}&secret=${planted}`);
    const policy = browser.headers.get('Content-Security-Policy') ?? '';
    const [, nonce = 'none'] = /script-src 'nonce-([\w-]{22})'/.exec(policy) ?? [];
    assert.match(policy, /default-src 'none'.*form-action 'self' http:\/\/localhost:3000; frame-ancestors 'none'/);
    assert.doesNotMatch(browser.html.replaceAll(` nonce="${nonce}"`, ' own'), /<(script|style)(?! own>)|<script>alert/);
    assert.doesNotMatch(browser.html, /https?:\/\/(?!localhost)/);
    assert.equal(browser.headers.get('Referrer-Policy'), 'same-origin');
  }
});

test('pages speak the language of the browser', async () => {
  const seen: string[] = [];
  for (const language of ['de-AT, en;q=0.5', 'es', 'fr-CA', 'pt-BR', 'ja']) {
    const browser = createPlainBrowser(target, { 'Accept-Language': language });
    await browser.open(page('sign-in'));
    seen.push(`${browser.heading} ${/<html lang="(\w+)">/.exec(browser.html)?.[1]}`);
  }
  assert.deepEqual(seen, ['Anmelden de', 'Iniciar sesión es', 'Connexion fr', 'Entrar pt', 'Sign in en']);
});

test('programs that send the forms get the described errors', async () => {
  const anna = await aGuardedUser(target);
  const send = async (name: string, fields: Record<string, string>, cookies = '') => {
    const response = await fetch(`${target.origin}/v1/auth/${name}?project=main`, {
      method: 'POST',
      headers: { Accept: 'application/json', Cookie: cookies, 'Sec-Fetch-Site': 'same-origin' },
      body: new URLSearchParams(fields),
      redirect: 'manual',
    });
    const { type } = (await response.json()) as { type: string };
    target.verifyAnswers();
    return type;
  };
  const { email } = anna;
  assert.equal(await send('sign-in', { email, password: anna.password }), 'user_more_factors_required');
  const ways = ['password', 'emailOtp', 'magicUrl', 'phone'] as const;
  const all = (isOn: boolean) => Object.fromEntries(ways.map((way) => [`login.${way}`, isOn]));
  await changeSettings(target, all(false));
  const off = 'user_auth_method_unsupported';
  assert.equal(await send('sign-in', { email, password: anna.password }), off);
  assert.equal(await send('sign-up', { email: aContact('email'), password }), off);
  assert.equal(await send('email', { email, form: 'code' }), off);
  assert.equal(await send('email', { email, form: 'link' }), off);
  assert.equal(await send('phone', { phone: aContact('phone') }), off);
  await changeSettings(target, all(true));
});
