// The application that docs/pages.md shows, as it stands there: a server without a script in the browser.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../harness/free-port.js';
import { blockNoted } from '../harness/readme.js';
import { hostedScene } from './hosted.js';

test('the application of docs/pages.md signs a user up, in, and out, without scripts in the browser', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    const { text } = blockNoted('docs/pages.md', 'saved as app.mjs, run by test/browser');
    const port = String(await freePort());
    const home = `http://localhost:${port}/`;
    const folder = mkdtempSync(join(tmpdir(), 'svc-pages-'));
    const file = join(folder, 'app.mjs');
    const source = text.replace('http://localhost:8080/v1', endpoint).replace("'shop'", `'${service.project.id}'`);
    writeFileSync(file, source.replaceAll('3000', port));
    const app = spawn(process.execPath, [file], { stdio: ['ignore', 'ignore', 'inherit'] });
    try {
      await answers(home);
      const browser = await fresh({ javaScriptEnabled: false });
      const page = await browser.newPage();
      await page.goto(home);
      assert.equal(new URL(page.url()).pathname, '/v1/auth/sign-in');
      await page.click('a[href^="sign-up"]');
      await page.fill('[name=name]', 'Ben <b>');
      await page.fill('[name=email]', 'ben@mail.example');
      await page.fill('[name=password]', 'a fine long password');
      await page.click('button.main');
      assert.equal(page.url(), home);
      assert.match((await page.textContent('p')) ?? '', /^Welcome, Ben <b>\.$/);

      await page.click('a[href*="/account?"]');
      assert.equal(await page.textContent('h1'), 'Your account');
      await page.click(`a[href="${home}"]`);
      await page.click('a[href*="/sign-out?"]');
      await page.click('button.main');
      assert.equal(new URL(page.url()).pathname, '/v1/auth/sign-in');
      assert.deepEqual(await browser.cookies(), []);
      await page.fill('[name=email]', 'ben@mail.example');
      await page.fill('[name=password]', 'a fine long password');
      await page.click('button.main');
      assert.match((await page.textContent('p')) ?? '', /^Welcome/);
    } finally {
      app.kill();
      await once(app, 'exit');
      rmSync(folder, { recursive: true });
    }
  }));

/** Waits until somebody answers at the address. */
async function answers(address: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const isThere = await fetch(address, { redirect: 'manual' }).then(
      () => true,
      () => false,
    );
    if (isThere) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`nobody answers at ${address}`);
}
