// The account page and its forms, without scripts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { lastMessageTo } from '../harness/messages.js';
import { aContact, withSms } from '../logins/setup.js';
import { linkOf } from '../proofs/proofs.js';
import { scan } from '../second-factor/people.js';
import { createPlainBrowser } from './browser.js';

const target = await startAppliance({ settings: withSms });
const app = 'http://localhost:3000/home';
const place = `project=main&success=${encodeURIComponent(app)}`;
const page = (name: string) => `/v1/auth/${name}?${place}`;
const cookie = 'svc_main';
const newPassword = 'another fine password';
/** Longer than a login counts as fresh. */
const stale = 21 * 60_000;

type Browser = ReturnType<typeof createPlainBrowser>;
const clientOf = (browser: Browser) => createClient(target, { session: browser.jar.get(cookie) ?? 'none' });
const accountOf = async (browser: Browser) => (await clientOf(browser).get('/account')).expect(200).body;
const problemAt = ({ html }: Browser, id: string) => html.match(new RegExp(`id="${id}-problem"[^>]*>([^<]+)<`))?.[1];

/** A browser that shows the account page of a new user. */
async function opened() {
  const user = await aUser(target);
  const browser = createPlainBrowser(target);
  await browser.open(page('account'));
  return { user, browser };
}

/** The same after a login, which every visitor is asked for. */
async function signedIn() {
  const { user, browser } = await opened();
  await browser.submit({ email: user.email, password: user.password });
  return { user, browser };
}

test('a visitor without a session signs in and comes back', async () => {
  const user = await aUser(target);
  const browser = createPlainBrowser(target);
  const response = await fetch(`${target.origin}${page('account-email')}`, { redirect: 'manual' });
  assert.equal(response.status, 302);
  await browser.open(response.headers.get('Location') ?? '');
  assert.deepEqual([browser.heading, browser.message], ['Sign in', '']);
  await browser.submit({ email: user.email, password: user.password });
  assert.equal(browser.heading, 'Change your email address');
  assert.match(browser.html, new RegExp(user.email));
  await browser.open(page('account'));
  assert.match(browser.html, new RegExp(`href="${app}"[^>]*>Back to the application`));
});

test('the name', async () => {
  const { browser } = await signedIn();
  await browser.open(page('account-name'));
  await browser.submit({ name: 'Änne <b>' });
  assert.deepEqual([browser.heading, browser.message], ['Your account', 'Saved.']);
  assert.match(browser.html, /Änne &lt;b&gt;/);
  assert.equal((await accountOf(browser)).name, 'Änne <b>');
});

test('the email address: wrong password, taken, free; the link confirms it', async () => {
  const { user, browser } = await signedIn();
  const { email: taken } = await aUser(target);
  const email = aContact('email');
  await browser.open(page('account-email'));
  await browser.submit({ email, current: 'a wrong password' });
  assert.equal(problemAt(browser, 'current'), 'This is not your current password.');
  assert.match(browser.html, new RegExp(`name="email"[^>]* value="${email}"`));
  await browser.submit({ email: taken, current: user.password });
  assert.match(problemAt(browser, 'email') ?? '', /already an account/);
  await browser.submit({ email, current: user.password });
  assert.match(browser.message, /on its way/);
  assert.match(browser.html, /Not confirmed/);
  await browser.open(await linkOf(target, email, 'email-verification'));
  await browser.submit({});
  await browser.open(page('account'));
  assert.doesNotMatch(browser.html, /Not confirmed/);
  const { email: changed, emailVerification } = await accountOf(browser);
  assert.deepEqual([changed, emailVerification], [email, true]);
});

test('another link for an address that is not confirmed', async () => {
  const { user, browser } = await signedIn();
  await browser.submit({ by: 'email' }, {}, 'account-proof');
  assert.match(browser.message, /on its way/);
  assert.equal((await lastMessageTo(target, user.email)).template, 'email-verification');
});

test('the phone number, which a code confirms', async () => {
  const { user, browser } = await signedIn();
  const phone = aContact('phone');
  await browser.open(page('account-phone'));
  await browser.submit({ phone: '12', current: user.password });
  assert.match(problemAt(browser, 'phone') ?? '', /country code/);
  await browser.submit({ phone: phone.replace(/^\+(\d)/, '00$1 '), current: user.password });
  assert.equal(browser.heading, 'Confirm your phone number');
  await browser.submit({ secret: '000000' });
  assert.match(problemAt(browser, 'code') ?? '', /wrong/);
  await browser.submit({ secret: (await lastMessageTo(target, phone)).locals.code ?? '' });
  assert.equal(browser.message, 'Saved.');
  const { phone: changed, phoneVerification } = await accountOf(browser);
  assert.deepEqual([changed, phoneVerification], [phone, true]);
});

test('a new password ends the other sessions', async () => {
  const { user, browser } = await signedIn();
  const other = createPlainBrowser(target);
  await other.open(page('sign-in'));
  await other.submit({ email: user.email, password: user.password });
  await browser.open(page('account-password'));
  await browser.submit({ current: user.password, password: 'short' });
  assert.match(problemAt(browser, 'password') ?? '', /at least 8/);
  await browser.submit({ current: user.password, password: newPassword });
  assert.match(browser.message, /password was changed/);
  assert.equal((await clientOf(other).get('/account')).status, 401);
  await accountOf(browser);
});

test('an authenticator app: its QR code, a wrong code, recovery codes, and turning it off', async () => {
  const { browser } = await signedIn();
  await browser.open(page('account-authenticator'));
  await browser.submit({});
  assert.match(browser.html, /<svg class="qr"/);
  const uri = browser.html.match(/name="uri" value="([^"]+)"/)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const authenticator = scan(target, uri);
  await browser.submit({ otp: '000000' });
  assert.match(problemAt(browser, 'otp') ?? '', /wrong/);
  assert.match(browser.html, /<svg class="qr"/);
  await browser.submit({ otp: authenticator.code().replace(/^.../, '$& ') });
  const codes = () => [...browser.html.matchAll(/<code>([^<]+)<\/code>/g)].map(([, code]) => code);
  const first = codes();
  assert.deepEqual(
    [browser.heading, browser.message, first.length],
    ['Recovery codes', 'The authenticator app is on.', 10],
  );
  assert.equal((await accountOf(browser)).mfa, true);
  await browser.open(page('account-codes'));
  assert.deepEqual(codes(), []);
  await browser.submit({});
  assert.equal(codes().length, 10);
  assert.notDeepEqual(codes(), first);
  await browser.open(page('account-authenticator'));
  await browser.submit({});
  assert.equal((await accountOf(browser)).mfa, false);
  assert.match(browser.html, /Authenticator app<\/small><span>Off/);
});

test('other sessions: one, and all', async () => {
  const { user, browser } = await signedIn();
  const others: Browser[] = [];
  for (let count = 0; count < 3; count++) {
    const other = createPlainBrowser(target);
    await other.open(page('sign-in'));
    await other.submit({ email: user.email, password: user.password });
    others.push(other);
  }
  const statuses = () => Promise.all(others.map(async (other) => (await clientOf(other).get('/account')).status));
  await browser.open(page('account'));
  await browser.submit({}, {}, 'account-session');
  assert.deepEqual((await statuses()).sort(), [200, 200, 401]);
  await browser.submit({ sessionId: '' }, {}, 'account-session');
  assert.deepEqual(await statuses(), [401, 401, 401]);
  await accountOf(browser);
});

test('what needs a recent login leads to the sign-in page and back', async () => {
  const { user, browser } = await signedIn();
  target.clock.advance(stale);
  await browser.open(page('account-delete'));
  await browser.submit({});
  assert.deepEqual([browser.heading, browser.message], ['Sign in', 'Please sign in again first.']);
  await browser.submit({ email: user.email, password: user.password });
  assert.equal(browser.heading, 'Delete your account');
  const { location } = await browser.submit({});
  assert.equal(location.href, app);
  assert.equal(browser.jar.get(cookie), undefined);
  const { email, password } = user;
  (await createClient(target).post('/account/sessions/email', { email, password })).refused(
    401,
    'user_invalid_credentials',
  );
});

test('an anonymous user gets an address and a password, and keeps the account', async () => {
  const { secret, userId } = (await createClient(target).post('/account/sessions/anonymous', {})).expect(201).body;
  const browser = createPlainBrowser(target);
  browser.jar.set(cookie, String(secret));
  await browser.open(page('account-email'));
  const email = aContact('email');
  await browser.submit({ email, password: newPassword });
  assert.match(browser.message, /on its way/);
  assert.notEqual(browser.jar.get(cookie), secret);
  const account = await accountOf(browser);
  assert.deepEqual([account.$id, account.email], [userId, email]);
  (await createClient(target).post('/account/sessions/email', { email, password: newPassword })).expect(201);
});

test('a form of another site changes nothing', async () => {
  const { browser } = await signedIn();
  const before = await accountOf(browser);
  await browser.open(page('account-name'));
  await browser.submit({ name: 'Mallory' }, { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' });
  assert.equal((await accountOf(browser)).name, before.name);
});

test('a browser opens the page from a bookmark and from another site', async () => {
  const { browser } = await signedIn();
  for (const site of ['none', 'cross-site', 'same-site']) {
    const response = await fetch(`${target.origin}${page('account')}`, {
      headers: { Cookie: `${cookie}=${browser.jar.get(cookie)}`, 'Sec-Fetch-Site': site, Accept: 'text/html' },
      redirect: 'manual',
    });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('Content-Security-Policy') ?? '', /frame-ancestors 'none'/);
    assert.equal(response.headers.get('Cache-Control'), 'no-store');
  }
});
