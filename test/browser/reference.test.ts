// Tests the pages for developers in Chromium: the viewers, their requests, their policy, and axe.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AxeResults } from 'axe-core';
import type { BrowserContext, Page, Response } from 'playwright-core';
import { aServerKey } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import { root } from '../harness/checkout.js';
import { changeSettings } from '../harness/project.js';
import { hostedScene } from './hosted.js';
import { openWithKey, typeIn } from './reference.js';

const axe = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');

/** A page, and what it complained of or asked of another host. */
async function watchedPage(context: BrowserContext, endpoint: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    const { url } = message.location();
    // The browser looks for an icon of the site by itself, whatever the page says.
    if (message.type() === 'error' && !url.endsWith('/favicon.ico')) complaints.push(`${message.text()} ${url}`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  context.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${endpoint}/`) && !/^(?:data|blob):/.test(url)) complaints.push(url);
  });
  return { page, complaints };
}

/** A collection with two attributes. Returns the secret of a server key. */
async function withPosts(service: TestAppliance): Promise<string> {
  const { client, secret } = await aServerKey(service);
  (await client.post('/databases', { databaseId: 'blog', name: 'Blog' })).expect(201);
  (await client.post('/databases/blog/collections', { collectionId: 'posts', name: 'Posts' })).expect(201);
  const attributes = '/databases/blog/collections/posts/attributes';
  (await client.post(`${attributes}/string`, { key: 'title', size: 100, required: true })).expect(202);
  (await client.post(`${attributes}/bigint`, { key: 'views', required: false })).expect(202);
  return secret;
}

/** Sends the example of a new document in the API reference. */
async function tryToCreate(page: Page): Promise<Response> {
  const sidebar = page.locator('aside');
  await sidebar.getByText('Login and sessions').first().waitFor();
  await sidebar.getByText('Posts: documents').first().click();
  await sidebar.getByText('Creates a document', { exact: true }).last().click();
  await page.getByRole('button', { name: '(post /databases/blog/collections/posts/documents)' }).click();
  const answered = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.getByRole('dialog').getByRole('button', { name: /^Send/ }).first().click();
  const response = await answered;
  assert.equal(response.status(), 201);
  return response;
}

test('the API reference creates a document of an own collection with a server key', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    const secret = await withPosts(service);
    const context = await fresh({ viewport: { width: 1280, height: 900 } });
    const { page, complaints } = await watchedPage(context, endpoint);
    await openWithKey(page, `${endpoint}/docs?project=main`, secret);
    const response = await tryToCreate(page);
    assert.equal(response.url(), `${endpoint}/databases/blog/collections/posts/documents`);
    assert.equal((await response.json()).title, '<TITLE>');
    assert.ok(!String(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')).includes(secret));
    assert.deepEqual(complaints, []);
  }));

test('GraphiQL completes the collection of a moment before, and runs queries exactly', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    const { client, secret } = await aServerKey(service);
    (await client.post('/databases', { databaseId: 'blog', name: 'Blog' })).expect(201);
    const { page, complaints } = await watchedPage(await fresh({ viewport: { width: 1280, height: 900 } }), endpoint);
    await openWithKey(page, `${endpoint}/graphql?project=main`, secret);
    await page.locator('.graphiql-query-editor .view-lines').waitFor();
    (await client.post('/databases/blog/collections', { collectionId: 'posts', name: 'Posts' })).expect(201);
    const attributes = '/databases/blog/collections/posts/attributes';
    (await client.post(`${attributes}/bigint`, { key: 'views', required: false })).expect(202);
    await new Promise((resolve) => setTimeout(resolve, 5100));

    const suggestion = page.locator('.suggest-widget .monaco-list-row');
    await typeIn(page, 'mutation Make { documentCreate(databaseId: "');
    await suggestion.filter({ hasText: 'blog' }).first().click();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.type(', collectionId: "');
    await suggestion.filter({ hasText: 'posts' }).first().click();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.type(', documentId: "one", data: { vi');
    await suggestion.filter({ hasText: 'views' }).first().click();
    const answered = page.waitForResponse((response) => response.request().postData()?.includes('Make') ?? false);
    await typeIn(
      page,
      'mutation Make { documentCreate(databaseId: "blog", collectionId: "posts", documentId: "one", data: { views: 9007199254740993 }) { data } }',
    );
    await page.keyboard.press('Control+Enter');
    assert.equal((await answered).status(), 200);
    await page.locator('.result-window').getByText('9007199254740993').waitFor();
    assert.ok(!String(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')).includes(secret));
    assert.deepEqual(complaints, []);
  }));

test('the policy of both pages refuses scripts that the service did not write', (t) =>
  hostedScene(t, async ({ endpoint, fresh }) => {
    const page = await (await fresh()).newPage();
    for (const name of ['docs', 'graphql']) {
      await page.goto(`${endpoint}/${name}?project=main`);
      const run = await page.evaluate(`(() => {
        const script = document.createElement('script');
        script.textContent = 'globalThis.ran = true';
        document.body.append(script);
        const foreign = document.createElement('img');
        foreign.setAttribute('onerror', 'globalThis.ran = true');
        foreign.src = 'openapi.json';
        document.body.append(foreign);
        return new Promise((resolve) => setTimeout(() => resolve(globalThis.ran === true), 500));
      })()`);
      assert.equal(run, false, name);
      await assert.rejects(page.evaluate(`fetch('https://cdn.example/')`), /Failed to fetch/);
    }
  }));

for (const [width, colorScheme] of [
  [360, 'light'],
  [1280, 'dark'],
] as const)
  test(`axe finds nothing on both pages at ${width} px, ${colorScheme}`, (t) =>
    hostedScene(t, async ({ service, endpoint, fresh }) => {
      const secret = await withPosts(service);
      // Axe is a script of the test's, which the policy of the pages would refuse.
      const page = await (await fresh({ viewport: { width, height: 800 }, colorScheme, bypassCSP: true })).newPage();
      for (const [name, ready] of [
        ['docs', '#viewer section'],
        ['graphql', '.graphiql-query-editor .view-lines'],
      ]) {
        await openWithKey(page, `${endpoint}/${name}?project=main`, secret);
        await page
          .locator(ready ?? '')
          .first()
          .waitFor();
        // The reference then names the section in view.
        await page.mouse.move(width / 2, 600);
        await page.mouse.wheel(0, 500);
        await page.evaluate(axe);
        assert.deepEqual(
          problemsOf((await page.evaluate(`axe.run({ resultTypes: ['violations'] })`)) as AxeResults),
          [],
          name,
        );
        assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, name);
      }
    }));

test('axe finds nothing in the dialog that sends a request', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    const secret = await withPosts(service);
    const page = await (await fresh({ viewport: { width: 1280, height: 800 }, bypassCSP: true })).newPage();
    await openWithKey(page, `${endpoint}/docs?project=main`, secret);
    await tryToCreate(page);
    await page.getByText('201 Created').first().waitFor();
    await page.evaluate(axe);
    // The dialog is modal: its readers do not meet the main part of the page behind it.
    const options = `{ rules: { 'landmark-no-duplicate-main': { enabled: false } } }`;
    const found = (await page.evaluate(`axe.run('[role=dialog]', ${options})`)) as AxeResults;
    assert.deepEqual(problemsOf(found), []);
  }));

const problemsOf = ({ violations }: AxeResults) => violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);

test('a page that is switched off says how to switch it on', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    await changeSettings(service, { 'api.reference': false });
    const page = await (await fresh({ viewport: { width: 360, height: 640 }, bypassCSP: true })).newPage();
    for (const name of ['docs', 'graphql']) {
      const response = await page.goto(`${endpoint}/${name}?project=main`);
      assert.equal(response?.status(), 404);
      await page.getByText('svc project update main --set api.reference=true').waitFor();
      await page.evaluate(axe);
      assert.deepEqual(problemsOf((await page.evaluate(`axe.run({ resultTypes: ['violations'] })`)) as AxeResults), []);
    }
  }));
