// The web SDK as published, in a real browser: what a developer's first page does, and what foreign pages cannot do.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { openChromium } from '../harness/browser.js';
import { selfSigned } from '../harness/certificate.js';
import { onPage, servePage, visible } from './page.js';
import { projectId, startService } from './service.js';

type Scene = {
  service: Awaited<ReturnType<typeof startService>>;
  browser: BrowserContext;
  /** Opens the page under this host name. */
  open(hostname: string): Promise<Page>;
  endpoint: string;
};

/** A service under a host name, a site that uses it, and a browser without any past; all of them end with the test. */
async function scene(t: TestContext, publicHost: string, act: (scene: Scene) => Promise<void>): Promise<void> {
  const chromium = await openChromium(t);
  if (chromium === undefined) return;
  const secure = publicHost.endsWith('.example');
  const certificate = secure ? selfSigned(['*.shop.example']) : undefined;
  const scheme = secure ? 'https' : 'http';
  const service = await startService(publicHost, certificate);
  const endpoint = `${scheme}://${publicHost}:${service.port}/v1`;
  const site = await servePage(endpoint, projectId, certificate);
  const browser = await chromium.newContext();
  const open = async (hostname: string) => {
    const page = await browser.newPage();
    await page.goto(`${scheme}://${hostname}:${site.port}/`);
    return page;
  };
  try {
    await act({ service, browser, open, endpoint });
  } finally {
    await chromium.close();
    await site.close();
    await service.close();
  }
}

const signUp = (page: Page) =>
  onPage(page, (account) =>
    account.create({ userId: 'anna', email: 'anna@shop.test', password: 'tall-green-bicycle', name: 'Anna' }),
  );
const logIn = (page: Page) =>
  onPage(page, (account) =>
    account.createEmailPasswordSession({ email: 'anna@shop.test', password: 'tall-green-bicycle' }),
  );
const read = (page: Page) => onPage(page, (account) => account.get());
const logOut = (page: Page) => onPage(page, (account) => account.deleteSession({ sessionId: 'current' }));

/** A request as any page may send it without asking first: no header that needs a preflight, but with the cookies. */
const simpleRequest = (page: Page, endpoint: string) =>
  page.evaluate(
    `fetch('${endpoint}/account?project=${projectId}', { credentials: 'include' }).then((r) => r.status, (e) => e.name)`,
  );

const refused = { name: 'TypeError', code: undefined, type: undefined };

test('sign-up, login, reload, prefs and logout on a page of another port', (t) =>
  scene(t, 'localhost', async ({ browser, open }) => {
    const page = await open('localhost');
    assert.equal((await read(page)).error?.type, 'general_unauthorized_scope');
    assert.equal((await signUp(page)).value?.$id, 'anna');

    const answer = page.waitForResponse((response) => response.url().endsWith('/account/sessions/email'));
    const session = await logIn(page);
    assert.equal(session.value?.userId, 'anna');
    const setCookie = (await (await answer).allHeaders())['set-cookie'] ?? '';
    const attributes = setCookie.split('; ').slice(1);
    assert.deepEqual(
      attributes.filter((one) => !one.startsWith('Max-Age=')),
      ['Path=/', 'HttpOnly', 'SameSite=Lax'],
    );

    const [cookie, ...others] = await browser.cookies();
    assert.deepEqual(others, []);
    assert.ok(cookie);
    assert.equal(cookie.name, `svc_${projectId}`);
    const { domain, path, httpOnly, sameSite, secure } = cookie;
    const expected = { domain: 'localhost', path: '/', httpOnly: true, sameSite: 'Lax', secure: false };
    assert.deepEqual({ domain, path, httpOnly, sameSite, secure }, expected);
    assert.ok(Math.abs(cookie.expires - Date.parse(session.value.expire) / 1000) < 60);
    assert.deepEqual(await visible(page), { cookie: '', fallback: null });

    await page.reload();
    assert.equal((await read(page)).value?.email, 'anna@shop.test');
    await onPage(page, (account) => account.updatePrefs({ prefs: { theme: 'dark' } }));
    assert.deepEqual((await onPage(page, (account) => account.getPrefs())).value, { theme: 'dark' });

    assert.equal((await logOut(page)).error, undefined);
    assert.deepEqual(await browser.cookies(), []);
    await page.reload();
    assert.equal((await read(page)).error?.type, 'general_unauthorized_scope');
  }));

test('a page on a registered host name over https, and its unregistered neighbour', (t) =>
  scene(t, 'api.shop.example', async ({ service, browser, open, endpoint }) => {
    await service.addPlatform('app.shop.example');
    const page = await open('app.shop.example');
    assert.equal((await signUp(page)).value?.$id, 'anna');
    assert.equal((await logIn(page)).value?.userId, 'anna');
    const [cookie] = await browser.cookies();
    assert.equal(cookie?.name, `__Host-svc_${projectId}`);
    assert.deepEqual([cookie?.secure, cookie?.httpOnly, cookie?.sameSite], [true, true, 'Lax']);
    await page.reload();
    assert.equal((await read(page)).value?.email, 'anna@shop.test');

    // Of the same site, so the browser sends the cookie along; only the service can refuse.
    const neighbour = await open('forgotten.shop.example');
    assert.deepEqual((await read(neighbour)).error, refused);
    const before = service.answered().length;
    assert.equal(await simpleRequest(neighbour, endpoint), 'TypeError');
    const [{ status, type, actor } = {}] = service.answered().slice(before);
    assert.deepEqual({ status, type, actor }, { status: 403, type: 'general_unknown_origin', actor: undefined });
    assert.equal((await logOut(page)).error, undefined);
    assert.deepEqual(await browser.cookies(), []);
  }));

test('a page of a foreign site is refused', (t) =>
  scene(t, 'localhost', async ({ service, open, endpoint }) => {
    const page = await open('localhost');
    await signUp(page);
    await logIn(page);

    const foreign = await open('evil.example');
    const before = service.answered().length;
    const preflight = foreign.waitForEvent('requestfailed');
    assert.deepEqual((await read(foreign)).error, refused);
    await preflight;
    assert.deepEqual((await logIn(foreign)).error, refused);
    assert.deepEqual(
      service
        .answered()
        .slice(before)
        .map(({ method, status }) => ({ method, status })),
      [
        { method: 'OPTIONS', status: 204 },
        { method: 'OPTIONS', status: 204 },
      ],
    );

    // The browser asks nobody about this one; the cookie stays behind, and the answer is kept from the page.
    const seen = service.answered().length;
    assert.equal(await simpleRequest(foreign, endpoint), 'TypeError');
    const [{ status, actor } = {}] = service.answered().slice(seen);
    assert.deepEqual({ status, actor }, { status: 401, actor: 'guest' });

    for (const [method, path] of [
      ['OPTIONS', '/account'],
      ['GET', `/account?project=${projectId}`],
    ] as const) {
      const { headers } = await fetch(`http://127.0.0.1:${service.port}/v1${path}`, {
        method,
        headers: { Origin: 'http://evil.example', 'Access-Control-Request-Method': 'GET' },
      });
      assert.deepEqual(
        [...headers.keys()].filter((name) => name.startsWith('access-control-')),
        [],
      );
    }
    assert.equal((await read(page)).value?.$id, 'anna');
  }));

test('where the browser drops the cookie as cross-site, the SDK keeps the session itself', (t) =>
  scene(t, 'localhost', async ({ browser, open }) => {
    const page = await open('127.0.0.1');
    await signUp(page);
    assert.equal((await logIn(page)).value?.userId, 'anna');
    assert.deepEqual(await browser.cookies(), []);
    const { fallback } = await visible(page);
    assert.match(fallback ?? '', new RegExp(`^\\{"svc_${projectId}":"ss_[^"]+"\\}$`));

    await page.reload();
    const request = page.waitForRequest((one) => one.method() === 'GET' && one.url().endsWith('/account'));
    assert.equal((await read(page)).value?.email, 'anna@shop.test');
    assert.equal((await (await request).allHeaders())['x-fallback-cookies'], fallback);
    const sessions = await onPage(page, (account) => account.listSessions());
    assert.deepEqual(
      sessions.value?.sessions.map(({ current }) => current),
      [true],
    );

    assert.equal((await logOut(page)).error, undefined);
    assert.equal((await visible(page)).fallback, '[]');
    assert.equal((await read(page)).error?.type, 'general_unauthorized_scope');
  }));
