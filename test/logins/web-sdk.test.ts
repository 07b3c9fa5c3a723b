// The ways in by the web SDK as published, in a real browser; and the page that a mailed link leads to.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserContext } from 'playwright-core';
import { hostedScene } from '../browser/hosted.js';
import { onPage } from '../browser/page.js';
import { scene } from '../browser/scene.js';
import type { TestAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { lastMessageTo } from '../harness/messages.js';
import { aGuardedUser } from '../second-factor/people.js';
import { aContact, secretFor } from './setup.js';

test('web SDK: an anonymous visitor becomes a user without noticing', (t) =>
  scene(t, 'localhost', async ({ browser, open }) => {
    const page = await open('localhost');
    const session = await onPage(page, (account) => account.createAnonymousSession());
    const [before] = await browser.cookies();
    const upgraded = await onPage(page, (account) =>
      account.updateEmail({ email: 'visitor@mail.example', password: 'a fine password' }),
    );
    assert.equal(upgraded.value?.$id, session.value?.userId);
    const [after] = await browser.cookies();
    assert.notEqual(after?.value, before?.value);
    assert.equal((await onPage(page, (account) => account.get())).value?.email, 'visitor@mail.example');
  }));

test('web SDK: code by mail, in a browser that keeps cookies', (t) =>
  scene(t, 'localhost', async ({ service, open }) => {
    const page = await open('localhost');
    const token = await onPage(page, (account) =>
      account.createEmailToken({ userId: 'carla', email: 'carla@mail.example', phrase: true }),
    );
    assert.deepEqual([token.value?.userId, token.value?.secret], ['carla', '']);
    const secret = await secretFor(service, 'carla@mail.example');
    await page.evaluate(`globalThis.secret = '${secret}'`);
    const session = await onPage(page, (account) =>
      account.createSession({ userId: 'carla', secret: Reflect.get(globalThis, 'secret') }),
    );
    assert.equal(session.value?.provider, 'token');
    assert.equal((await onPage(page, (account) => account.get())).value?.$id, 'carla');
  }));

/** The link in the mail that somebody has asked for. */
async function linkFor(service: TestAppliance, email: string): Promise<string> {
  const asked = { userId: 'unique()', email };
  (await createClient(service).post('/account/tokens/magic-url', asked)).expect(201);
  return (await lastMessageTo(service, email)).locals.link ?? '';
}
/** Who the cookie of the browser is; the body of the answer, whatever it is. */
async function whoIs(service: TestAppliance, browser: BrowserContext) {
  const cookie = (await browser.cookies()).find(({ name }) => name === 'svc_main');
  return (await createClient(service, { session: cookie?.value ?? 'none' }).get('/account')).body;
}

test('a mailed link: the page consumes nothing, its button logs in, and the link is spent', (t) =>
  hostedScene(t, async ({ service, fresh }) => {
    const email = aContact('email');
    const link = await linkFor(service, email);
    const browser = await fresh();
    const visit = async () => {
      const page = await browser.newPage();
      const problems: string[] = [];
      page.on('pageerror', ({ message }) => problems.push(message));
      page.on('console', (line) => {
        const { url } = line.location();
        // The browser asks for this one by itself, now and then.
        if (line.type() === 'error' && !url.endsWith('/favicon.ico')) problems.push(`${line.text()} ${url}`);
      });
      await page.goto(link);
      return { page, problems };
    };
    for (let scanner = 0; scanner < 3; scanner++) await (await visit()).page.close();
    assert.deepEqual(await rowsOf(service, 'sessions'), []);

    const { page, problems } = await visit();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('You are signed in').waitFor();
    assert.deepEqual(problems, []);
    assert.ok(!page.url().includes('secret'));
    assert.equal((await whoIs(service, browser)).email, email);

    const again = (await visit()).page;
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.getByText('This code or link is wrong').waitFor();
    assert.equal((await rowsOf(service, 'sessions')).length, 1);
  }));

for (const kind of ['a code of the app', 'a recovery code'] as const) {
  test(`a mailed link: a user with a second factor is asked for it, and gives ${kind}`, (t) =>
    hostedScene(t, async ({ service, fresh }) => {
      const user = await aGuardedUser(service);
      const browser = await fresh();
      const page = await browser.newPage();
      await page.goto(await linkFor(service, user.email));
      await page.getByRole('button', { name: 'Sign in' }).click();
      const give = async (otp: string) => {
        await page.fill('[name=otp]', otp);
        await page.getByRole('button', { name: 'Continue' }).click();
      };
      await give('no such code');
      await page.getByText('This code or link is wrong').waitFor();
      assert.equal((await whoIs(service, browser)).type, 'user_more_factors_required');
      await give(kind === 'a recovery code' ? (user.recoveryCodes[0] ?? '') : user.app.nextCode());
      await page.getByText('You are signed in').waitFor();
      assert.equal((await whoIs(service, browser)).$id, user.id);
    }));
}
