// Logins at an identity provider that a browser ends on pages of the service, as the application has none, or none for the second factor.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser } from '../harness/actors.js';
import { createClient } from '../harness/client.js';
import { messagesTo } from '../harness/messages.js';
import { createPlainBrowser } from '../hosted-pages/browser.js';
import { aGuardedUser, verify } from '../second-factor/people.js';
import { app, assertFailed, createBrowser, endOf, type Step, startUrl } from './browser.js';
import { aSomebody } from './identity-provider.js';
import { aProvider, startOpen } from './setup.js';

const target = await startOpen();
const idp = await aProvider(target);
const html = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const cookieName = 'svc_main';
const pages = 'http://localhost:8080/v1/auth/';
const success = `${app}/done`;

/** Opens an address as a browser does and follows it to a page of the service or of the application. */
async function visit(url: string, browser = createBrowser(target), headers: Readonly<Record<string, string>> = {}) {
  let at: Step = await browser.step(url, { headers: { ...html, ...headers } });
  for (let steps = 0; steps < 20 && at.location !== null; steps++) {
    if (at.location.startsWith(pages) || at.location.startsWith(app)) break;
    at = await browser.step(at.location, { headers: html });
  }
  return { browser, end: at };
}
/** The page that the service shows at the end, in the same browser. */
async function shown({ browser, end }: Awaited<ReturnType<typeof visit>>) {
  const page = createPlainBrowser(target);
  for (const [name, value] of browser.cookies.get('localhost:8080') ?? []) page.jar.set(name, value);
  return page.open(end.location ?? '');
}
const emailOf = async (session: string | undefined) =>
  (await createClient(target, { session: session ?? 'none' }).get('/account')).expect(200).string('email');

test('a login without a page of the application ends on the page that says so, with the session in the cookie', async () => {
  idp.user = aSomebody();
  const visited = await visit(startUrl('sessions', 'corp', {}));
  assert.equal(visited.end.status, 302);
  assert.equal((await shown(visited)).heading, 'You are signed in');
  assert.equal(await emailOf(visited.browser.cookie(cookieName)), idp.user.email);
  // Nothing of the session stands in the address.
  assert.equal(visited.end.location, `${pages}done?project=main`);
});

test('the account page lists the identity, and unlinks it', async () => {
  idp.user = aSomebody();
  const page = await shown(await visit(startUrl('sessions', 'corp', {})));
  await page.open('/v1/auth/account?project=main');
  const listed = new RegExp(`Corp</span><small class="hint">${idp.user.email}<`, 'i');
  assert.match(page.html, listed);
  await page.submit({}, {}, 'account-identity');
  assert.equal(page.message, 'Saved.');
  assert.doesNotMatch(page.html, listed);
});

test('the token flow without a page stays JSON, as only a program can use it', async () => {
  idp.user = aSomebody();
  const { end } = await visit(startUrl('tokens', 'corp', {}));
  assert.deepEqual([end.status, Object.keys(JSON.parse(end.text)).includes('secret')], [201, true]);
});

const callback = 'http://localhost:8080/v1/account/sessions/oauth2/callback/corp/main';
const failures: [string, () => Promise<string>, RegExp][] = [
  ['a provider that is not there', async () => startUrl('sessions', 'nowhere', {}), /not available/],
  [
    'a page that is foreign',
    async () => startUrl('sessions', 'corp', { success: 'https://evil.example/' }),
    /an invalid address/,
  ],
  ['a state that is made up', async () => `${callback}?state=made-up&code=x`, /started in another browser/],
  [
    'a login in another browser',
    async () => await createBrowser(target).until(startUrl('sessions', 'corp', {}), callback),
    /started in another browser/,
  ],
];
for (const [name, url, message] of failures) {
  test(`${name}: a page says so, or JSON if no page is asked for`, async () => {
    const visited = await visit(await url());
    assert.ok(visited.end.location?.startsWith(`${pages}failed?project=main`), String(visited.end.location));
    const page = await shown(visited);
    assert.equal(page.heading, 'You are not signed in');
    assert.match(page.message, message);
    assert.equal(page.jar.get(cookieName), undefined);
    const plain = await createBrowser(target).step(await url());
    assert.match(plain.headers.get('content-type') ?? '', /json/);
    assert.ok(plain.status >= 400);
  });
}

test('a user who cancels at the provider gets a message and can try again', async () => {
  const browser = createBrowser(target);
  const url = await browser.until(startUrl('sessions', 'corp', { success }), callback);
  const cancelled = new URL(url);
  cancelled.searchParams.delete('code');
  cancelled.searchParams.set('error', 'access_denied');
  const page = await shown(await visit(cancelled.href, browser));
  assert.match(page.message, /cancelled/);
  assert.match(page.html, new RegExp(`<a href="sign-in\\?project=main&amp;success=${encodeURIComponent(success)}`));
});

test('an unknown project is answered with the error itself', async () => {
  const { end } = await visit(startUrl('sessions', 'corp', {}, 'nothing'));
  assert.deepEqual([end.status, JSON.parse(end.text).type], [404, 'project_not_found']);
});

for (const given of [{ success }, {}] as const) {
  test(`with the second factor on, the page asks for it and leads to ${'success' in given ? 'the application' : 'the end'}`, async () => {
    const user = await aGuardedUser(target);
    await verify(target, user.id, 'email');
    idp.user = aSomebody({ email: user.email });
    const visited = await visit(startUrl('sessions', 'corp', given));
    assert.equal(visited.end.status, 302);
    const pending = visited.browser.cookie(cookieName) ?? '';
    (await createClient(target, { session: pending }).get('/account')).refused(401, 'user_more_factors_required');
    const page = await shown(visited);
    assert.equal(page.heading, 'Confirm that it is you');
    await page.submit({ otp: '000000' });
    assert.match(page.message, /wrong/);
    const { location } = await page.submit({ otp: user.app.nextCode() });
    assert.equal(location.href, 'success' in given ? success : `${pages}done?project=main`);
    assert.equal(await emailOf(page.jar.get(cookieName)), user.email);
  });
}

test('begun on the sign-in page, a login with the second factor on comes back to it and ends at the application', async () => {
  const user = await aGuardedUser(target);
  await verify(target, user.id, 'email');
  idp.user = aSomebody({ email: user.email });
  const page = createPlainBrowser(target);
  await page.open(`/v1/auth/sign-in?project=main&success=${encodeURIComponent(success)}`);
  const [, href = ''] = /<a class="button provider" href="([^"]*oauth2[^"]*)"/.exec(page.html) ?? [];
  const visited = await visit(href.replaceAll('&amp;', '&'), createBrowser(target), { Referer: page.url.href });
  const factor = await shown(visited);
  assert.equal(factor.heading, 'Confirm that it is you');
  assert.equal((await factor.submit({ otp: user.app.nextCode() })).location.href, success);
  assert.equal(await emailOf(factor.jar.get(cookieName)), user.email);
});

test('a page of the application for failures still gets them all, and a program the envelope', async () => {
  const user = await aGuardedUser(target);
  await verify(target, user.id, 'email');
  idp.user = aSomebody({ email: user.email });
  assertFailed((await visit(startUrl('sessions', 'corp'))).end, 401, 'user_more_factors_required');
  const end = await createBrowser(target).open(startUrl('sessions', 'corp', { success }));
  const { type, pendingSession } = JSON.parse(end.text);
  assert.deepEqual([end.status, type, typeof pendingSession.secret], [401, 'user_more_factors_required', 'string']);
});

test('an existing user gets a mail about an identity that is linked or removed; a new account gets none', async () => {
  const templates = async (whom: string) => (await messagesTo(target, whom)).map(({ template }) => template);
  const user = await aLoggedInUser(target);
  const browser = createBrowser(target);
  browser.cookies.set('localhost:8080', new Map([[cookieName, user.secret]]));
  const someone = aSomebody();
  idp.user = someone;
  assert.equal(endOf((await visit(startUrl('sessions', 'corp'), browser, { Referer: `${app}/` })).end).page, success);
  const [told] = (await messagesTo(target, user.email)).filter(({ template }) => template === 'identity-linked');
  assert.deepEqual([told?.to, told?.locals.provider, told?.locals.account], [user.email, 'corp', someone.email]);
  await visit(startUrl('sessions', 'corp'));
  assert.equal((await templates(user.email)).filter((name) => name === 'identity-linked').length, 1);

  const session = browser.cookie(cookieName) ?? '';
  const client = createClient(target, { session });
  const [identity] = (await client.get('/account/identities')).expect(200).list('identities');
  (await client.delete(`/account/identities/${identity?.$id}`)).expect(204);
  assert.equal((await templates(user.email)).at(-1), 'identity-unlinked');

  const owner = await aLoggedInUser(target);
  await verify(target, owner.id, 'email');
  idp.user = aSomebody({ email: owner.email });
  await visit(startUrl('sessions', 'corp'));
  assert.deepEqual((await templates(owner.email)).slice(-1), ['identity-linked']);

  const newcomer = aSomebody();
  idp.user = newcomer;
  await visit(startUrl('sessions', 'corp'));
  assert.deepEqual(await templates(newcomer.email ?? ''), []);
});
