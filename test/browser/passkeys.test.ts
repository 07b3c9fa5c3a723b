// Passkeys in Chromium with a virtual authenticator: on a page of an application, with the code of docs/passkeys.md, and on the hosted pages.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { aUser } from '../harness/actors.js';
import { serveSite } from '../harness/browser.js';
import { root } from '../harness/checkout.js';
import { hostedScene, withAuthenticator } from './hosted.js';

const [, example = ''] = /```js\n([\s\S]*?)```/.exec(readFileSync(join(root, 'docs/passkeys.md'), 'utf8')) ?? [];

test('an application page registers a passkey and logs in by it, with the address and without', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    const script = `const endpoint = '${endpoint}'; const project = 'main'; ${example}`;
    const content = `<!doctype html><title>A shop</title><script>${script}</script>`;
    const site = await serveSite({ '/': { type: 'text/html', content } });
    const browser = await fresh();
    const page = await browser.newPage();
    const { id, email, password } = await aUser(service);
    await page.goto(`http://localhost:${site.port}/`);
    await withAuthenticator(page);
    await page.evaluate(`post('/account/sessions/email', ${JSON.stringify({ email, password })})`);
    const registered = (await page.evaluate(`registerPasskey('My laptop')`)) as Record<string, string>;
    assert.deepEqual([Object.keys(registered).sort(), registered.name], [['$createdAt', '$id', 'name'], 'My laptop']);
    await assert.rejects(page.evaluate(`registerPasskey('Again')`), /InvalidStateError|already/);
    await browser.clearCookies();
    for (const named of [`'${email}'`, 'undefined']) {
      const session = (await page.evaluate(`logInByPasskey(${named})`)) as Record<string, unknown>;
      assert.deepEqual([session.userId, session.provider, session.factors], [id, 'passkey', ['passkey']]);
    }
    const [cookie] = await browser.cookies();
    assert.equal(cookie?.httpOnly, true);
    await site.close();
  }));

test('the hosted pages add a passkey and sign in with it', (t) =>
  hostedScene(t, async ({ service, endpoint, fresh }) => {
    const browser = await fresh();
    const page = await browser.newPage();
    const { email, password } = await aUser(service);
    await page.goto(`${endpoint}/auth/sign-in?project=main`);
    const cdp = await withAuthenticator(page);
    await page.fill('[name=email]', email);
    await page.fill('[name=password]', password);
    await page.click('button.main');
    await page.waitForURL('**/auth/done?**');
    await page.click('a.main');
    await page.click('#passkey');
    await page.waitForURL('**/auth/account?**notice=passkeyAdded');
    assert.match((await page.textContent('[aria-labelledby=passkeys] li')) ?? '', /Chrome, Linux/);
    await browser.clearCookies();
    await page.goto(
      `${endpoint}/auth/sign-in?project=main&success=${encodeURIComponent(`${endpoint}/auth/verified?project=main`)}`,
    );
    await page.click('#passkey');
    await page.waitForURL('**/auth/verified?**');
    assert.equal((await browser.cookies()).length, 1);

    await browser.clearCookies();
    await cdp.send('WebAuthn.disable');
    await cdp.send('WebAuthn.enable');
    await page.goto(`${endpoint}/auth/sign-in?project=main`);
    await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'usb',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: false,
      },
    });
    await page.evaluate(`navigator.credentials.get = () => Promise.reject(new Error('cancelled'))`);
    await page.click('#passkey');
    await page.waitForSelector('#problem:not([hidden])');
    assert.deepEqual(await browser.cookies(), []);
  }));
