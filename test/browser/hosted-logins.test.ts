// Logins on the hosted pages in Chromium, whose requests carry what a real browser sends: origin, referrer, Fetch Metadata, cookies.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserContext } from 'playwright-core';
import { aUser } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { aSomebody, startIdentityProvider } from '../oauth2/identity-provider.js';
import { addProvider } from '../oauth2/setup.js';
import { linkOf } from '../proofs/proofs.js';
import { aGuardedUser, verify } from '../second-factor/people.js';
import { hostedScene } from './hosted.js';

/** The account that the browser is logged in to. */
async function accountOf(service: TestAppliance, browser: BrowserContext) {
  const cookie = (await browser.cookies()).find(({ name }) => name === 'svc_main');
  return (await createClient(service, { session: cookie?.value ?? 'none' }).get('/account')).expect(200).body;
}

test('a login by password and authenticator app', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    const { email, password, app } = await aGuardedUser(service);
    const browser = await fresh();
    const page = await browser.newPage();
    await page.goto(`${endpoint}/auth/sign-in?project=main`);
    await page.fill('[name=email]', email);
    await page.fill('[name=password]', password);
    await page.click('button.main');
    assert.equal(await page.textContent('h1'), 'Confirm that it is you');
    await page.fill('[name=otp]', app.nextCode());
    await page.click('button.main');
    assert.equal(await page.textContent('h1'), 'You are signed in');
    assert.equal((await accountOf(service, browser)).email, email);
  }));

test('who confirms an address in the browser of the login keeps session and password', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    const user = await aUser(service);
    const browser = await fresh();
    const page = await browser.newPage();
    await page.goto(`${endpoint}/auth/sign-in?project=main`);
    await page.fill('[name=email]', user.email);
    await page.fill('[name=password]', user.password);
    await page.click('button.main');
    const session = (await browser.cookies())[0]?.value ?? '';
    const client = createClient(service, { session });
    (await client.post('/account/verifications/email', { url: `${endpoint}/auth/verify` })).expect(201);
    await page.goto((await linkOf(service, user.email, 'email-verification')).href);
    await page.click('button.main');
    assert.equal(await page.textContent('h1'), 'Email address confirmed');
    const account = await accountOf(service, browser);
    assert.deepEqual([account.$id, account.emailVerification], [user.id, true]);
    const { email, password } = user;
    (await createClient(service).post('/account/sessions/email', { email, password })).expect(201);
  }));

test('a login at an identity provider, begun on the sign-in page, with the second factor on', (t) =>
  hostedScene(
    t,
    async ({ service, endpoint, fresh }) => {
      const idp = await startIdentityProvider([`${endpoint}/account/sessions/oauth2/callback/corp/main`]);
      const { issuer, clientId, clientSecret } = idp;
      await addProvider(service, { key: 'corp', kind: 'oidc', config: { issuer, clientId, clientSecret } });
      const user = await aGuardedUser(service);
      await verify(service, user.id, 'email');
      idp.user = aSomebody({ email: user.email });
      const browser = await fresh();
      const page = await browser.newPage();
      const logIn = async (address: string) => {
        await page.goto(address);
        if (address.includes('/sign-in?')) await page.click('a[href*="oauth2/corp"]');
        assert.equal(await page.textContent('h1'), 'Confirm that it is you');
        await page.fill('[name=otp]', user.app.nextCode());
        await page.click('button.main');
        assert.equal(await page.textContent('h1'), 'You are signed in');
        assert.equal((await accountOf(service, browser)).$id, user.id);
        await browser.clearCookies();
      };
      await logIn(`${endpoint}/auth/sign-in?project=main`);
      // Begun by an application that names no page at all.
      await logIn(`${endpoint}/account/sessions/oauth2/corp?project=main`);

      await page.goto(`${endpoint}/account/sessions/oauth2/callback/corp/main?state=made-up&code=x`);
      assert.equal(await page.textContent('h1'), 'You are not signed in');
    },
    { SVC_WEBHOOK_ALLOW_INSECURE: 'true' },
  ));
