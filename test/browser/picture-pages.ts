// Makes the pictures of docs/pages.md: `npm run pictures`. Not a test.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';
import { hostedScene } from './hosted.js';
import { hostedPages } from './pages.js';

const folder = join(root, 'docs/pictures');

test('pictures of every hosted page', (t) =>
  hostedScene(t, async ({ endpoint, fresh }) => {
    mkdirSync(folder, { recursive: true });
    for (const colorScheme of ['light', 'dark'] as const) {
      const browser = await fresh({ viewport: { width: 360, height: 640 }, colorScheme });
      const page = await browser.newPage();
      for (const { name, path } of hostedPages) {
        await page.goto(`${endpoint}/auth/${path}`);
        await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
      }
    }
  }));
