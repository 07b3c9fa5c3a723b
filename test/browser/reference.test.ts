// The pages for developers in Chromium: what they show, that they ask no other host, and nothing for axe to find.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AxeResults } from 'axe-core';
import type { BrowserContext, Page } from 'playwright-core';
import { aServerKey } from '../harness/actors.js';
import { root } from '../harness/checkout.js';
import { changeSettings } from '../harness/project.js';
import { hostedScene } from './hosted.js';

const axe = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');

/** Waits until the page says so; its policy refuses what a test would evaluate there. */
const stateIs = (page: Page, text: RegExp) => page.locator('#state', { hasText: text }).waitFor();

/** A page, and what it complained of or asked of another host. */
async function watchedPage(context: BrowserContext, endpoint: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    const { url } = message.location();
    // The browser looks for an icon of the site by itself, whatever the page says.
    const isComplaint = ['error', 'warning'].includes(message.type()) && !url.endsWith('/favicon.ico');
    if (isComplaint) complaints.push(`${message.text()} ${url}`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${endpoint}/`)) complaints.push(request.url());
  });
  return { page, complaints };
}

test('the API reference shows operations, schemas and, to a key, the collections of the project', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    await changeSettings(service, { 'api.reference': true });
    const { client, secret } = await aServerKey(service);
    (await client.post('/databases', { databaseId: 'blog', name: 'Blog' })).expect(201);
    const posts = { collectionId: 'posts', name: 'Posts' };
    (await client.post('/databases/blog/collections', posts)).expect(201);
    const { page, complaints } = await watchedPage(await fresh(), endpoint);
    await page.goto(`${endpoint}/docs?project=main`);
    await stateIs(page, /^\d+ operations$/);
    const count = async () => Number.parseInt((await page.textContent('#state')) ?? '', 10);
    const known = await count();
    assert.ok(known > 200, String(known));
    await page.fill('#find', 'post /account/sessions/email');
    const login = page.locator('details:visible').first();
    await login.locator('summary').click();
    await login.getByText('password: string').waitFor();
    await login.getByText('user_invalid_credentials:').waitFor();
    await page.fill('#find', 'DocumentList');
    const schema = page.locator('details:visible', { hasText: 'DocumentList' }).first();
    await schema.locator('summary').click();
    await schema.getByText('documents: list of Document').waitFor();
    await page.fill('#find', '/databases/blog/collections/posts/documents');
    assert.equal(await page.locator('details:visible').count(), 0);
    await page.fill('[name=key]', secret);
    await page.click('text=Load');
    await page.locator('details:visible').first().waitFor();
    assert.ok((await count()) > known);
    // What cannot be found is no list of half a service.
    await page.fill('[name=key]', 'wrong');
    await page.click('text=Load');
    await stateIs(page, /^The description could not be loaded: /);
    assert.deepEqual(
      complaints.filter((one) => !one.includes('401')),
      [],
    );
  }));

test('the GraphQL page runs queries with variables, exactly, and lists the schema', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    await changeSettings(service, { 'api.reference': true });
    const { client, secret } = await aServerKey(service);
    (await client.post('/databases', { databaseId: 'blog', name: 'Blog' })).expect(201);
    (await client.post('/databases/blog/collections', { collectionId: 'posts', name: 'Posts' })).expect(201);
    const attributes = '/databases/blog/collections/posts/attributes';
    (await client.post(`${attributes}/bigint`, { key: 'views', required: false })).expect(202);
    const { page, complaints } = await watchedPage(await fresh(), endpoint);
    await page.goto(`${endpoint}/graphql?project=main`);
    await page.getByText('documentList(').waitFor();
    const run = async (query: string, variables: string) => {
      await page.fill('[name=query]', query);
      await page.fill('[name=variables]', variables);
      await page.press('[name=query]', 'Control+Enter');
      await stateIs(page, /^(Status|Not sent)/);
      return { state: await page.textContent('#state'), result: (await page.textContent('#result')) ?? '' };
    };
    await page.fill('[name=key]', secret);
    const create = `mutation ($data: JSON!) {
      documentCreate(databaseId: "blog", collectionId: "posts", documentId: "one", data: $data) { data } }`;
    const made = await run(create, '{"data": {"views": 9007199254740993}}');
    assert.match(made.state ?? '', /^Status 200/);
    assert.match(made.result, /\n {6}"data": \{\n {8}"views": 9007199254740993\n/);
    assert.match((await run('{ nothing }', '')).state ?? '', /^Status 400/);
    assert.match((await run('{ __typename }', '{"half":')).state ?? '', /^Not sent/);
    assert.deepEqual(
      complaints.filter((one) => !one.includes('400')),
      [],
    );
  }));

for (const [width, colorScheme] of [
  [360, 'light'],
  [360, 'dark'],
  [1280, 'light'],
  [1280, 'dark'],
] as const)
  test(`axe finds nothing on either at ${width} px, ${colorScheme}`, (t) =>
    hostedScene(t, async ({ service, endpoint, fresh }) => {
      await changeSettings(service, { 'api.reference': true });
      // Axe is a script of the test's, which the policy of the pages would refuse.
      const page = await (await fresh({ viewport: { width, height: 800 }, colorScheme, bypassCSP: true })).newPage();
      for (const [name, ready] of [
        ['docs', 'details'],
        ['graphql', '#schema pre'],
      ]) {
        await page.goto(`${endpoint}/${name}?project=main`);
        await page
          .locator(ready ?? '')
          .first()
          .waitFor();
        if (name === 'docs') await page.locator('summary').first().click();
        else await page.click('text=Run');
        await page.evaluate(axe);
        const found = (await page.evaluate('axe.run()')) as AxeResults;
        const problems = found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
        assert.deepEqual(problems, [], name);
        assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, name);
      }
    }));
