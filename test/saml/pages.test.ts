// SAML and the pages of the service: the sign-in page leads to the provider, and a login without a page of the application ends on one of ours.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlainBrowser } from '../hosted-pages/browser.js';
import { type Browser, createBrowser } from '../oauth2/browser.js';
import { startOpen } from '../oauth2/setup.js';
import { aGuardedUser, verify } from '../second-factor/people.js';
import { documentOf, encoded, partsOf, signed } from './forge.js';
import { acsOf, addForged, app, begin, saidOf, startOf } from './setup.js';

const target = await startOpen();
await addForged(target, 'corp', { emailDomains: ['corp.example'] });
const pages = 'http://localhost:8080/v1/auth/';

/** Posts a response as a browser does that shows pages. */
async function finish(browser: Browser, url: string, given: object = {}, key = 'corp'): Promise<URL> {
  const { relayState, requestId } = await begin(browser, key, url);
  const SAMLResponse = encoded(signed(documentOf(partsOf(saidOf(target, key, requestId, given)))));
  const { location, text } = await browser.step(acsOf(key), {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      Origin: `https://${key}.example`,
      Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    },
    body: new URLSearchParams({ SAMLResponse, RelayState: relayState }).toString(),
  });
  assert.ok(location, text);
  return new URL(location);
}

test("the sign-in page has the provider, whose login ends at the page's target", async () => {
  const page = await createPlainBrowser(target).open(`${pages}sign-in?project=main&success=${app}/done`);
  const [, link = ''] = /href="([^"]*account\/sessions\/saml\/corp[^"]*)"/.exec(page.html) ?? [];
  const browser = createBrowser(target);
  const end = await finish(browser, link.replaceAll('&amp;', '&'));
  assert.equal(end.href, `${app}/done`);
  assert.match(browser.cookie('svc_main') ?? '', /^ss_/);
});

test('a login without a page of the application ends on the page that says so', async () => {
  const browser = createBrowser(target);
  const end = await finish(browser, startOf('corp', {}));
  assert.equal(end.href, `${pages}done?project=main`);
  assert.match(browser.cookie('svc_main') ?? '', /^ss_/);
});

test('a response that does not hold ends on the page that says so, without a session', async () => {
  const browser = createBrowser(target);
  const end = await finish(browser, startOf('corp', {}), { audience: 'https://other.example' });
  assert.ok(end.href.startsWith(`${pages}failed?project=main`), end.href);
  assert.equal(browser.cookie('svc_main'), undefined);
});

test('an account with a second factor ends on the page that asks for it', async () => {
  const user = await aGuardedUser(target);
  await verify(target, user.id, 'email');
  await addForged(target, 'theirs', { emailDomains: [user.email.slice(user.email.indexOf('@') + 1)] });
  const browser = createBrowser(target);
  const end = await finish(browser, startOf('theirs', {}), { attributes: { email: [user.email] } }, 'theirs');
  assert.ok(end.href.startsWith(pages), end.href);
  const page = createPlainBrowser(target);
  for (const [name, value] of browser.cookies.get('localhost:8080') ?? []) page.jar.set(name, value);
  assert.match((await page.open(end.href)).html, /name="otp"/);
});
