// The web SDK as published, in a real browser: what a developer's first page does, and what foreign pages cannot do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { onPage, visible } from './page.js';
import { answered, register, scene } from './scene.js';

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
const simpleRequest = (page: Page, url: string) =>
  page.evaluate(`fetch('${url}', { credentials: 'include' }).then((r) => r.status, (e) => e.name)`);

const refused = { name: 'TypeError', code: undefined, type: undefined };

test('sign-up, login, reload, prefs and logout on a page of another port', (t) =>
  scene(t, 'localhost', async ({ service, browser, open }) => {
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
    assert.equal(cookie.name, `svc_${service.project.id}`);
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
    await register(service, 'app.shop.example');
    const page = await open('app.shop.example');
    assert.equal((await signUp(page)).value?.$id, 'anna');
    assert.equal((await logIn(page)).value?.userId, 'anna');
    const [cookie] = await browser.cookies();
    assert.equal(cookie?.name, `__Host-svc_${service.project.id}`);
    assert.deepEqual([cookie?.secure, cookie?.httpOnly, cookie?.sameSite], [true, true, 'Lax']);
    assert.deepEqual(await visible(page), { cookie: '', fallback: null });
    await page.reload();
    assert.equal((await read(page)).value?.email, 'anna@shop.test');

    // Of the same site, so the browser sends the cookie along; only the service can refuse.
    const neighbour = await open('forgotten.shop.example');
    assert.deepEqual((await read(neighbour)).error, refused);
    const before = answered(service).length;
    assert.equal(await simpleRequest(neighbour, `${endpoint}/account?project=${service.project.id}`), 'TypeError');
    const [{ status, type, actor } = {}] = answered(service).slice(before);
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
    const before = answered(service).length;
    const preflight = foreign.waitForEvent('requestfailed');
    assert.deepEqual((await read(foreign)).error, refused);
    await preflight;
    assert.deepEqual((await logIn(foreign)).error, refused);
    assert.deepEqual(
      answered(service)
        .slice(before)
        .map(({ method, status }) => ({ method, status })),
      [
        { method: 'OPTIONS', status: 204 },
        { method: 'OPTIONS', status: 204 },
      ],
    );

    // The browser asks nobody about this one; the cookie stays behind, and the answer is kept from the page.
    const seen = answered(service).length;
    assert.equal(await simpleRequest(foreign, `${endpoint}/account?project=${service.project.id}`), 'TypeError');
    const [{ status, actor } = {}] = answered(service).slice(seen);
    assert.deepEqual({ status, actor }, { status: 401, actor: 'guest' });

    for (const [method, origin, granted] of [
      ['OPTIONS', 'http://evil.example', false],
      ['GET', 'http://evil.example', false],
      ['OPTIONS', 'http://localhost:1', true],
      ['GET', 'http://localhost:1', true],
    ] as const) {
      const url = `${service.origin}/v1/account?project=${service.project.id}`;
      const headers = { Origin: origin, 'Access-Control-Request-Method': 'GET' };
      const names = [...(await fetch(url, { method, headers })).headers.keys()];
      assert.equal(
        names.some((name) => name.startsWith('access-control-')),
        granted,
        `${method} ${origin}`,
      );
    }
    assert.equal((await read(page)).value?.$id, 'anna');
  }));

test('a page reads what went wrong before its project was known, pings, and logs out by a bare fetch', (t) =>
  scene(t, 'localhost', async ({ service, browser, open, endpoint }) => {
    const page = await open('localhost');
    const mistyped = `new Appwrite.Client().setEndpoint('${endpoint}').setProject('mistyped')`;
    const outcome = await page.evaluate(`attempt(() => new Appwrite.Account(${mistyped}).get())`);
    assert.deepEqual(outcome, { error: { name: 'AppwriteException', code: 404, type: 'project_not_found' } });
    assert.deepEqual(await page.evaluate(`attempt(() => client.ping())`), { value: { message: 'Pong!' } });

    await signUp(page);
    await logIn(page);
    const headers = `{ 'X-Appwrite-Project': '${service.project.id}' }`;
    const options = `{ method: 'DELETE', credentials: 'include', headers: ${headers} }`;
    const bare = `fetch('${endpoint}/account/sessions/current', ${options}).then((answer) => answer.status)`;
    assert.equal(await page.evaluate(bare), 204);
    assert.deepEqual(await browser.cookies(), []);
  }));

test('the SDK keeps the session itself if the browser drops the cookie as cross-site', (t) =>
  scene(t, 'localhost', async ({ service, browser, open }) => {
    const page = await open('127.0.0.1');
    await signUp(page);
    assert.equal((await logIn(page)).value?.userId, 'anna');
    assert.deepEqual(await browser.cookies(), []);
    const { fallback } = await visible(page);
    const names = [`svc_${service.project.id}`, `a_session_${service.project.id}`];
    const kept = JSON.parse(fallback ?? '') as Record<string, string>;
    // The second name is the one that the SDK's socket reads.
    assert.deepEqual(Object.keys(kept), names);
    assert.match(kept[names[0] ?? ''] ?? '', /^ss_/);
    assert.equal(kept[names[1] ?? ''], kept[names[0] ?? '']);

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
