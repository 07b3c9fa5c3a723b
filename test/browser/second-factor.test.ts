// The second factor on a page of the web SDK: the login is refused, what the refusal hands out carries the challenge, and completing it logs in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuthenticationFactor, AuthenticatorType } from 'appwrite';
import type { Page } from 'playwright-core';
import { scan } from '../second-factor/people.js';
import { onPage, visible } from './page.js';
import { scene } from './scene.js';

const logIn = (page: Page) =>
  onPage(page, (account) =>
    account.createEmailPasswordSession({ email: 'anna@shop.test', password: 'tall-green-bicycle' }),
  );
const read = (page: Page) => onPage(page, (account) => account.get());
const logOut = (page: Page) => onPage(page, (account) => account.deleteSession({ sessionId: 'current' }));
/** The page's own; its type stands for the part that is used. */
declare const document: { readonly title: string };

/** What a person types into the page. It travels in the page's name: a function that runs there sees nothing of the test. */
const type = (page: Page, otp: string) => page.evaluate(`document.title = '${otp}'`);

/** Signs up, enrols an app and turns the second factor on. */
async function enrol(page: Page, service: Parameters<typeof scan>[0]) {
  await onPage(page, (account) =>
    account.create({ userId: 'anna', email: 'anna@shop.test', password: 'tall-green-bicycle', name: 'Anna' }),
  );
  assert.equal((await logIn(page)).value?.userId, 'anna');
  const begun = await onPage(page, (account) => account.createMFAAuthenticator({ type: 'totp' as AuthenticatorType }));
  const app = scan(service, begun.value?.uri ?? '');
  await type(page, app.code());
  const verified = await onPage(page, (account) =>
    account.updateMFAAuthenticator({ type: 'totp' as AuthenticatorType, otp: document.title }),
  );
  assert.equal(verified.value?.$id, 'anna');
  assert.equal((await onPage(page, (account) => account.updateMFA({ mfa: true }))).value?.mfa, true);
  assert.equal((await logOut(page)).error, undefined);
  return app;
}

/** Answers a challenge with what was typed. */
const complete = (page: Page) =>
  onPage(page, async (account) => {
    const { $id } = await account.createMFAChallenge({ factor: 'totp' as AuthenticationFactor });
    return account.updateMFAChallenge({ challengeId: $id, otp: document.title });
  });

test('a login by challenge with the cookie', (t) =>
  scene(t, 'localhost', async ({ service, browser, open }) => {
    const page = await open('localhost');
    const app = await enrol(page, service);
    assert.equal((await logIn(page)).error?.type, 'user_more_factors_required');
    assert.equal((await read(page)).error?.type, 'user_more_factors_required');
    await page.reload();
    assert.equal((await onPage(page, (account) => account.listMFAFactors())).value?.totp, true);
    assert.equal((await visible(page)).cookie, '');
    const [pending] = await browser.cookies();
    assert.ok(pending && Math.abs(pending.expires - service.clock.now() / 1000 - 600) < 60);

    await type(page, app.nextCode());
    assert.deepEqual((await complete(page)).value?.factors, ['password', 'totp']);
    const [cookie, ...others] = await browser.cookies();
    assert.deepEqual([others, cookie?.httpOnly, cookie?.value === pending.value], [[], true, false]);
    await page.reload();
    assert.equal((await read(page)).value?.$id, 'anna');
    assert.equal((await logOut(page)).error, undefined);
    assert.equal((await read(page)).error?.type, 'general_unauthorized_scope');
  }));

test('the page reads the secret from the refusal if the browser drops the cookie', (t) =>
  scene(t, 'localhost', async ({ service, browser, open }) => {
    const page = await open('127.0.0.1');
    const app = await enrol(page, service);
    // The SDK keeps the fallback of successful answers only, so the page reads what its exception holds.
    await page.evaluate(`account
      .createEmailPasswordSession({ email: 'anna@shop.test', password: 'tall-green-bicycle' })
      .catch(({ response }) => client.setSession(JSON.parse(response).pendingSession.secret))`);
    assert.equal((await read(page)).error?.type, 'user_more_factors_required');
    await type(page, app.nextCode());
    assert.deepEqual((await complete(page)).value?.factors, ['password', 'totp']);
    assert.deepEqual(await browser.cookies(), []);
    await page.reload();
    assert.equal((await read(page)).value?.$id, 'anna');
  }));
