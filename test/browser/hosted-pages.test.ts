// The hosted pages in Chromium: nothing for axe to find, every ceremony by the keyboard alone, and all of it without scripts too.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { root } from '../harness/checkout.js';
import { linkOf } from '../proofs/proofs.js';
import { hostedScene } from './hosted.js';
import { hostedPages } from './pages.js';

const axe = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');

for (const [width, colorScheme] of [
  [360, 'light'],
  [360, 'dark'],
  [1280, 'light'],
  [1280, 'dark'],
] as const) {
  test(`axe finds nothing at ${width} px, ${colorScheme}`, (t) =>
    hostedScene(t, async ({ endpoint, fresh }) => {
      // Axe is a script of ours, which the policy of the pages would refuse.
      const browser = await fresh({ viewport: { width, height: 800 }, colorScheme, bypassCSP: true });
      const page = await browser.newPage();
      for (const { path, name } of hostedPages) {
        await page.goto(`${endpoint}/auth/${path}`);
        await page.evaluate(axe);
        const found = (await page.evaluate('axe.run()')) as AxeResults;
        const problems = found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
        assert.deepEqual(problems, [], name);
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        assert.equal(overflow, 0, name);
      }
    }));
}

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

      await browser.clearCookies();
      await press('a[href^="sign-in"]', '**/auth/sign-in?**');
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
