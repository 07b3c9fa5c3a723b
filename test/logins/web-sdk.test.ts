// The ways in by the web SDK as published, in a real browser; and the page that a mailed link leads to.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onPage } from '../browser/page.js';
import { scene } from '../browser/scene.js';
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

test('a mailed link: the page consumes nothing, its button logs in, and the link is spent', (t) =>
  scene(t, 'localhost', async ({ service, browser, open, endpoint }) => {
    const email = aContact('email');
    const shop = await open('localhost');
    await shop.evaluate(`globalThis.email = '${email}'`);
    await onPage(shop, (account) =>
      account.createMagicURLToken({ userId: 'dora', email: Reflect.get(globalThis, 'email') }),
    );
    const { link = '' } = (await lastMessageTo(service, email)).locals;
    const url = link.replace(/^.*\/v1/, endpoint);
    const visit = async () => {
      const page = await browser.newPage();
      const problems: string[] = [];
      page.on('pageerror', ({ message }) => problems.push(message));
      page.on('console', (line) => line.type() === 'error' && problems.push(line.text()));
      await page.goto(url);
      return { page, problems };
    };
    for (let scanner = 0; scanner < 3; scanner++) await (await visit()).page.close();
    assert.deepEqual(await rowsOf(service, 'sessions'), []);

    const { page, problems } = await visit();
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('You are logged in.').waitFor();
    assert.deepEqual(problems, []);
    assert.ok(!page.url().includes('secret'));
    assert.equal((await onPage(shop, (account) => account.get())).value?.$id, 'dora');

    const again = (await visit()).page;
    await again.getByRole('button', { name: 'Log in' }).click();
    await again.getByText('This link is not valid').waitFor();
    assert.equal((await rowsOf(service, 'sessions')).length, 1);
  }));

for (const kind of ['a code of the app', 'a recovery code'] as const) {
  test(`a mailed link: somebody with a second factor is asked for it, and gives ${kind}`, (t) =>
    scene(t, 'localhost', async ({ service, browser, open, endpoint }) => {
      const user = await aGuardedUser(service);
      const shop = await open('localhost');
      await shop.evaluate(`globalThis.email = '${user.email}'`);
      await onPage(shop, (account) =>
        account.createMagicURLToken({ userId: 'unique()', email: Reflect.get(globalThis, 'email') }),
      );
      const { link = '' } = (await lastMessageTo(service, user.email)).locals;
      const page = await browser.newPage();
      await page.goto(link.replace(/^.*\/v1/, endpoint));
      await page.getByRole('button', { name: 'Log in' }).click();
      const code = page.getByLabel('The code of your authenticator app, or a recovery code');
      const give = async (otp: string) => {
        await code.fill(otp);
        await page.getByRole('button', { name: 'Continue' }).click();
      };
      await give('no such code');
      await page.getByText('This code is not valid.').waitFor();
      assert.equal((await onPage(shop, (account) => account.get())).error?.type, 'user_more_factors_required');
      await give(kind === 'a recovery code' ? (user.recoveryCodes[0] ?? '') : user.app.nextCode());
      await page.getByText('You are logged in.').waitFor();
      assert.equal((await onPage(shop, (account) => account.get())).value?.$id, user.id);
    }));
}
