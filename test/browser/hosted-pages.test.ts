// The hosted pages in Chromium: nothing for axe to find, every ceremony by the keyboard alone, and all of it without scripts too.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AxeResults } from 'axe-core';
import type { Page, Response } from 'playwright-core';
import { root } from '../harness/checkout.js';
import { withSms } from '../logins/setup.js';
import { linkOf } from '../proofs/proofs.js';
import { hostedScene } from './hosted.js';
import { accountPages, brand, error, hostedPages, signInOn, withProvider } from './pages.js';

const axe = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');

/** Fails for what axe finds on a page, and for a page that is wider than the window. */
async function examine(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await examineShown(page);
}

async function examineShown(page: Page): Promise<void> {
  const address = page.url();
  await page.evaluate(axe);
  const found = (await page.evaluate('axe.run()')) as AxeResults;
  const problems = found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  assert.deepEqual(problems, [], address);
  assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, address);
}

for (const [width, colorScheme, color] of [
  [360, 'light', '#ffe600'],
  [360, 'dark', '#1a0033'],
  [768, 'light', '#0a7f5a'],
  [1280, 'light', '#e0ffe0'],
  [1280, 'dark', '#ff00aa'],
] as const) {
  test(`axe finds nothing at ${width} px, ${colorScheme}`, (t) =>
    hostedScene(
      t,
      async ({ service, endpoint, fresh }) => {
        await withProvider(service);
        // Axe is a script of ours, which the policy of the pages would refuse.
        const options = { viewport: { width, height: 800 }, colorScheme, bypassCSP: true };
        const english = await (await fresh(options)).newPage();
        for (const { path } of hostedPages) await examine(english, `${endpoint}/auth/${path}`);
        await examine(english, endpoint);
        await signInOn(english, service, endpoint);
        for (const { path } of accountPages) await examine(english, `${endpoint}/auth/${path}`);
        await english.goto(`${endpoint}/auth/account-authenticator?project=main`);
        await english.click('button.main');
        await english.waitForSelector('.qr');
        await examineShown(english);
        await english.goto(`${endpoint}/auth/sign-up?project=main`);
        await english.fill('#email', 'anna@mail.example');
        await english.fill('#password', 'short');
        await english.click('button.main');
        await english.waitForSelector('#password-problem:not(:empty)');
        await examineShown(english);
        await examine(english, `${endpoint}/auth/sign-in?project=unknown`);
        await brand(service, color);
        const german = await (await fresh({ ...options, locale: 'de-DE' })).newPage();
        for (const { path } of hostedPages) {
          const refused = path.includes('error=') ? '' : error('general_rate_limit_exceeded');
          await examine(german, `${endpoint}/auth/${path}${refused}`);
        }
        await signInOn(german, service, endpoint);
        await examine(german, `${endpoint}/auth/account?project=main`);
      },
      withSms,
    ));
}

test('every page weighs at most 40 KiB with all that it loads', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    await withProvider(service);
    await brand(service, '#0a7f5a');
    const page = await (await fresh()).newPage();
    await signInOn(page, service, endpoint);
    for (const { path } of [...hostedPages, ...accountPages]) {
      const responses: Response[] = [];
      const add = (response: Response) => responses.push(response);
      page.on('response', add);
      await page.goto(`${endpoint}/auth/${path}`, { waitUntil: 'networkidle' });
      page.off('response', add);
      const sizes = await Promise.all(responses.map(async (response) => (await response.body()).length));
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      assert.ok(bytes > 4000 && bytes <= 40 * 1024, `${path}: ${bytes} bytes`);
    }
  }));

test('the account page by the keyboard alone', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    const page = await (await fresh()).newPage();
    await signInOn(page, service, endpoint);
    await follow(page, 'a[href^="account?"]', '**/auth/account?**');
    await follow(page, 'a[href^="account-name"]', '**/auth/account-name?**');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('Berta');
    await follow(page, 'button.main', '**notice=saved**');
    assert.match((await page.textContent('[aria-labelledby=profile]')) ?? '', /Berta/);
    await follow(page, 'a[href^="account-delete"]', '**/auth/account-delete?**');
    await follow(page, 'button.main', '**notice=accountDeleted**');
  }));

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 20; presses++) {
    if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)}) === true`)) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`the keyboard does not reach ${selector}`);
}
async function type(page: Page, field: string, text: string): Promise<void> {
  await tabTo(page, `[name=${field}]`);
  await page.keyboard.type(text);
}
async function follow(page: Page, selector: string, pattern: string): Promise<void> {
  await tabTo(page, selector);
  await page.keyboard.press('Enter');
  await page.waitForURL(pattern);
}

for (const javaScriptEnabled of [true, false]) {
  test(`sign-up, login and a new password by the keyboard alone, ${javaScriptEnabled ? 'with' : 'without'} scripts`, (t) =>
    hostedScene(t, async ({ service, endpoint, fresh }) => {
      // A page cannot be asked for its focus without scripts; the order of Tab is the same.
      const browser = await fresh({ javaScriptEnabled });
      const page = await browser.newPage();
      const fill = async (field: string, text: string) =>
        javaScriptEnabled ? type(page, field, text) : page.locator(`[name=${field}]`).pressSequentially(text);
      const press = async (selector: string, pattern: string) => {
        if (javaScriptEnabled) return follow(page, selector, pattern);
        await page.locator(selector).press('Enter');
        await page.waitForURL(pattern);
      };
      const email = 'keyboard@mail.example';
      await page.goto(`${endpoint}/auth/sign-in?project=main`);
      await press('a[href^="sign-up"]', '**/auth/sign-up?**');
      await fill('name', 'Anna');
      await fill('email', email);
      await fill('password', 'a fine long password');
      await press('button.main', '**/auth/done?**');
      assert.equal((await browser.cookies()).length, 1);

      await press('a[href^="sign-out"]', '**/auth/sign-out?**');
      await press('button.main', '**/auth/sign-in?**notice=signedOut**');
      assert.equal((await browser.cookies()).length, 0);
      await fill('email', email);
      await fill('password', 'a fine long password');
      await press('button.main', '**/auth/done?**');
      assert.equal((await browser.cookies()).length, 1);

      await browser.clearCookies();
      await page.goto(`${endpoint}/auth/sign-in?project=main`);
      await press('a[href^="recovery"]', '**/auth/recovery?**');
      await fill('email', email);
      await press('button.main', '**/auth/recovery?**notice=sent**');
      await page.goto((await linkOf(service, email, 'recovery')).href);
      await fill('password', 'another fine password');
      await press('button.main', '**/auth/sign-in?**notice=changed**');
      await fill('email', email);
      await fill('password', 'another fine password');
      await press('button.main', '**/auth/done?**');
      assert.equal((await browser.cookies()).length, 1);
    }));
}
