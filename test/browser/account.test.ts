// The account page in Chromium, as a new user lives through it: sign-up, passkey, authenticator app, a lost phone, recovery, deletion.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { linkOf } from '../proofs/proofs.js';
import { scan } from '../second-factor/people.js';
import { hostedScene, withAuthenticator } from './hosted.js';

const email = 'anna@mail.example';
const password = 'a fine long password';
const heading = (page: Page) => page.textContent('h1');

/** Sends the form of the page and waits for the next one. */
async function send(page: Page, fields: Readonly<Record<string, string>>, pattern: string): Promise<void> {
  for (const [name, value] of Object.entries(fields)) await page.fill(`[name=${name}]`, value);
  await page.click('button.main');
  await page.waitForURL(pattern);
}

test('a user signs up, secures the account, loses the app, recovers and leaves', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    const browser = await fresh();
    const page = await browser.newPage();
    const foreign: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(endpoint)) foreign.push(request.url());
    });
    await page.goto(`${endpoint}/auth/account?project=main`);
    assert.equal(await heading(page), 'Sign in');
    await page.click('a[href^="sign-up"]');
    await send(page, { name: 'Anna', email, password: 'short' }, '**/auth/sign-up?**');
    assert.match((await page.textContent('#password-problem')) ?? '', /at least 8/);
    await send(page, { password }, '**/auth/account?**');

    await withAuthenticator(page);
    await page.click('#passkey');
    await page.waitForURL('**notice=passkeyAdded**');
    await page.click('a[href^="account-authenticator"]');
    await page.click('button.main');
    const app = scan(service, await page.inputValue('[name=uri]'));
    await page.fill('[name=otp]', app.code());
    await page.click('button.main');
    const codes = await page.locator('code').allTextContents();
    assert.equal(codes.length, 10);
    await page.click('a[href^="account?"]');
    await page.click('a[href^="sign-out"]');
    await send(page, {}, '**/auth/sign-in?**');

    await send(page, { email, password }, '**/auth/second-factor?**');
    await page.click('summary');
    await page.fill('#recovery', codes[3] ?? '');
    await page.click('details button');
    await page.waitForURL('**/auth/done?**');
    await page.click('a.main');
    await page.click('a[href^="account-authenticator"]');
    await send(page, {}, '**/auth/account?**');

    await browser.clearCookies();
    await page.goto(`${endpoint}/auth/sign-in?project=main`);
    await page.click('a[href^="recovery"]');
    await send(page, { email }, '**notice=sent**');
    await page.goto((await linkOf(service, email, 'recovery')).href);
    await send(page, { password: 'another fine password' }, '**/auth/sign-in?**');
    await page.click('#passkey');
    await page.waitForURL('**/auth/done?**');
    await page.goto(`${endpoint}/auth/account-delete?project=main`);
    await send(page, {}, '**notice=accountDeleted**');
    assert.deepEqual([await browser.cookies(), foreign], [[], []]);
  }));

test('a passkey needs a recent login: the user signs in again and is back', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    const page = await (await fresh()).newPage();
    await page.goto(
      `${endpoint}/auth/sign-up?project=main&success=${encodeURIComponent(`${endpoint}/auth/account?project=main`)}`,
    );
    await send(page, { email, password }, '**/auth/account?**');
    await withAuthenticator(page);
    service.clock.advance(21 * 60_000);
    await page.click('#passkey');
    await page.waitForURL('**/auth/sign-in?**error=user_challenge_required**');
    await send(page, { email, password }, '**/auth/account?**');
    await page.click('#passkey');
    await page.waitForURL('**notice=passkeyAdded**');
    await page.click('summary');
    await page.fill('li [name=name]', 'My laptop');
    await page.click('button[value=rename]');
    assert.match((await page.textContent('[aria-labelledby=passkeys] li')) ?? '', /My laptop/);
    await page.click('summary');
    await page.click('button[value=remove]');
    await page.waitForSelector('[aria-labelledby=passkeys] ul:not(:has(li))', { state: 'attached' });
  }));
