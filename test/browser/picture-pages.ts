// Makes the pictures of docs/: `npm run pictures`. Not a test.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTexts, sampleVariables } from '#src/features/index.js';
import { createTemplates } from '#src/platform/templates/templates.js';
import { aServerKey } from '../harness/actors.js';
import { openChromium } from '../harness/browser.js';
import { root } from '../harness/checkout.js';
import { withSms } from '../logins/setup.js';
import { addProvider } from '../oauth2/setup.js';
import { hostedScene } from './hosted.js';
import { accountPages, brand, hostedPages, signInOn, withProvider } from './pages.js';
import { openWithKey } from './reference.js';

const folder = join(root, 'docs/pictures');
const client = { clientId: 'shop', clientSecret: 'a secret' };

test('pictures of every hosted page', (t) =>
  hostedScene(
    t,
    async ({ service, endpoint, fresh }) => {
      mkdirSync(folder, { recursive: true });
      await withProvider(service);
      for (const key of ['google', 'github']) await addProvider(service, { key, kind: 'oauth2', config: client });
      const [light, dark] = await Promise.all(
        (['light', 'dark'] as const).map(async (colorScheme) => {
          const browser = await fresh({ viewport: { width: 360, height: 640 }, colorScheme });
          const page = await browser.newPage();
          await signInOn(page, service, endpoint);
          return async (name: string, path: string) => {
            await page.goto(`${endpoint}/auth/${path}`);
            await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`), fullPage: true });
          };
        }),
      );
      const take = async (name: string, path: string) => {
        await light?.(name, path);
        await dark?.(name, path);
      };
      for (const { name, path } of [...hostedPages, ...accountPages]) await take(name, path);
      await brand(service, '#0a7f5a');
      await take('sign-in-branded', 'sign-in?project=main');
    },
    withSms,
  ));

test('pictures of mails', async (t) => {
  const chromium = await openChromium(t);
  if (chromium === undefined) return;
  mkdirSync(folder, { recursive: true });
  const texts = createTexts(createTemplates({ dataDir: '/nowhere', templatesDir: '/nowhere' }), () => {});
  const values = { ...sampleVariables, project: 'The Fruit Shop', name: 'Ada', color: '#0a7f5a' };
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await (await chromium.newContext({ viewport: { width: 600, height: 400 }, colorScheme })).newPage();
    for (const message of ['email-verification', 'email-code', 'new-device'] as const) {
      await page.setContent((await texts.compose(message, 'en', values)).html);
      await page.screenshot({ path: join(folder, `mail-${message}-${colorScheme}.png`), fullPage: true });
    }
  }
  await chromium.close();
});

test('pictures of the pages for developers', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    mkdirSync(folder, { recursive: true });
    const { client, secret } = await aServerKey(service);
    (await client.post('/databases', { databaseId: 'blog', name: 'Blog' })).expect(201);
    (await client.post('/databases/blog/collections', { collectionId: 'posts', name: 'Posts' })).expect(201);
    const attribute = { key: 'title', size: 100, required: true };
    (await client.post('/databases/blog/collections/posts/attributes/string', attribute)).expect(202);
    for (const colorScheme of ['light', 'dark'] as const)
      for (const name of ['docs', 'graphql']) {
        const page = await (await fresh({ viewport: { width: 1280, height: 800 }, colorScheme })).newPage();
        await openWithKey(page, `${endpoint}/${name}?project=main`, secret);
        await page
          .locator(name === 'docs' ? '#viewer section' : '.graphiql-query-editor .view-lines')
          .first()
          .waitFor();
        // Both viewers go on drawing for a moment.
        await page.waitForTimeout(2000);
        await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
      }
  }));
