// The mailbox in a browser: opened by the operator's link once, on this machine only, and the mails of others do no harm in it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { createPlainBrowser } from '../hosted-pages/browser.js';

const target = await startAppliance();
const { mailboxAccess, mailbox } = target.appliance.features.courier;
const cookie = 'svc_tx_mailbox';
const guest = createClient(target);

/** Sends a code to an address, which is kept in the mailbox. */
async function sendCode(email: string): Promise<string> {
  (await guest.post('/account/tokens/email', { userId: 'unique()', email })).expect(201);
  const [mail] = await mailbox.list(target.appliance.runtime.db, null, 1);
  return mail?.$id ?? 'none';
}
async function opened() {
  const browser = createPlainBrowser(target);
  await browser.open(`/v1/mailbox?token=${mailboxAccess.issue()}`);
  await browser.submit({});
  return browser;
}

test('the link of the operator opens the mailbox once', async () => {
  const id = await sendCode('anna@mail.example');
  const browser = createPlainBrowser(target);
  await browser.open('/v1/mailbox');
  assert.match(browser.html, /svc mail open/);
  assert.doesNotMatch(browser.html, /anna@mail/);
  const token = mailboxAccess.issue();
  await browser.open(`/v1/mailbox?token=${token}`);
  assert.equal(browser.jar.size, 0, 'opening the link redeems nothing');
  await browser.submit({});
  assert.deepEqual([browser.url.pathname, browser.url.search], ['/v1/mailbox', '']);
  assert.match(browser.html, new RegExp(`href="mailbox/${id}"[\\s\\S]*anna@mail\\.example`));
  const second = createPlainBrowser(target);
  await second.open(`/v1/mailbox?token=${token}`);
  const { response } = await second.submit({});
  assert.equal(response.status, 401);
  assert.match(second.html, /was used/);
  assert.equal(second.jar.size, 0);
});

test('a message is shown with its code, its text and its HTML, which runs nothing', async () => {
  const id = await sendCode('bert@mail.example');
  const browser = await opened();
  await browser.open(`/v1/mailbox/${id}`);
  const code = (await mailbox.find(target.appliance.runtime.db, null, id))?.code ?? 'none';
  assert.ok(browser.html.includes(`<p class="code">${code}</p>`));
  assert.match(browser.html, new RegExp(`<iframe src="${id}/html"[^>]*sandbox="`));
  assert.match(browser.headers.get('Content-Security-Policy') ?? '', /frame-src 'self'.*frame-ancestors 'none'/);
  await browser.open(`/v1/mailbox/${id}/html`);
  assert.ok(browser.html.includes(code));
  const policy = browser.headers.get('Content-Security-Policy') ?? '';
  assert.match(policy, /default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-popups/);
  assert.match(policy, /frame-ancestors 'self'/);
  assert.doesNotMatch(policy, /script-src|allow-scripts|allow-same-origin/);
});

test('an expired link, a changed token and a late browser are refused', async () => {
  const browser = await opened();
  const late = mailboxAccess.issue();
  target.clock.advance(601_000);
  assert.equal(mailboxAccess.redeem(late), undefined);
  const token = mailboxAccess.issue();
  for (const wrong of [token.replace('link', 'browser'), `${token}x`, token.replace(/\.\d/, '.9'), '', 'link.1.x.y'])
    assert.equal(mailboxAccess.redeem(wrong), undefined, wrong);
  assert.equal(mailboxAccess.admits(token), false);
  await browser.open('/v1/mailbox');
  assert.match(browser.html, /Newest first/);
  target.clock.advance(43_200_000);
  browser.jar.set(cookie, browser.jar.get(cookie) ?? '');
  await browser.open('/v1/mailbox');
  assert.match(browser.html, /svc mail open/);
});

test('nobody finds it through a proxy, away from localhost, or with a mail server', async () => {
  const through = await fetch(`${target.origin}/v1/mailbox`, { headers: { 'X-Forwarded-For': '203.0.113.9' } });
  assert.equal(through.status, 404);
  for (const settings of [
    { SVC_BASE_URL: 'https://api.example.com/v1' },
    { SVC_SMTP_URL: 'smtp://127.0.0.1:2525', SVC_MAIL_FROM: 'svc@example.com' },
  ]) {
    const other = await startAppliance({ settings });
    for (const path of ['/v1/mailbox', '/v1/mailbox/x', '/v1/mailbox/x/html'])
      assert.equal((await fetch(`${other.origin}${path}`)).status, 404, path);
  }
});
