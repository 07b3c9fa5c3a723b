// The page that the README shows, as it stands there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { serveSite } from '../harness/browser.js';
import { blockNoted } from '../harness/readme.js';
import { webSdk } from './page.js';
import { scene } from './scene.js';

test('the page of the README signs a user up, logs in and reads the account', (t) =>
  scene(t, 'localhost', async ({ service, browser, endpoint }) => {
    const { text } = blockNoted('README.md', 'run by test/browser');
    const content = text.replace('http://localhost:8080/v1', endpoint).replace("'shop'", `'${service.project.id}'`);
    const address = `https://cdn.jsdelivr.net/npm/appwrite@${manifest.devDependencies.appwrite}`;
    // What that address answers is the file that the package names for it.
    await browser.route(address, (route) => route.fulfill({ contentType: 'text/javascript', body: webSdk }));
    const site = await serveSite({ '/': { type: 'text/html', content } });
    try {
      const page = await browser.newPage();
      await page.goto(`http://localhost:${site.port}/`);
      await page.waitForFunction("document.title === 'Carla'");
      assert.equal((await browser.cookies())[0]?.httpOnly, true);
    } finally {
      await site.close();
    }
  }));
