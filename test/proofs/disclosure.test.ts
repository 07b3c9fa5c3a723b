// Who finds the secrets of verification and recovery in the answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { linkOf, page } from './proofs.js';

const away = 'https://api.example.com/v1';
/** Nobody listens there, so what was to be sent still waits. */
const withMail = { SVC_SMTP_URL: 'smtp://127.0.0.1:1', SVC_MAIL_FROM: 'no-reply@shop.example' };
const proxied = { 'X-Forwarded-For': '203.0.113.9' };

/** [SVC_TOKENS_IN_RESPONSE, further settings, secret for: anybody here, anybody behind a proxy, a server key] */
const table: [string, Record<string, string>, boolean, boolean, boolean][] = [
  ['auto', {}, true, false, true],
  ['any', {}, true, true, true],
  ['key', {}, false, false, true],
  ['never', {}, false, false, false],
  ['auto', { SVC_BASE_URL: away }, false, false, true],
  ['any', { SVC_BASE_URL: away }, true, true, true],
  ['auto', { SVC_TRUSTED_PROXIES: '127.0.0.1/32' }, false, false, true],
  ['auto', withMail, false, false, true],
  ['any', withMail, false, false, true],
  ['key', withMail, false, false, true],
  ['never', withMail, false, false, false],
];
for (const [value, further, here, behindProxy, byKey] of table) {
  const also = Object.keys(further).join() || 'nothing';
  test(`${value} with ${also} set: here ${here}, behind a proxy ${behindProxy}, server key ${byKey}`, async () => {
    const target = await startAppliance({ settings: { SVC_TOKENS_IN_RESPONSE: value, ...further } });
    const { client: key } = await aServerKey(target);
    const own = new URL(String(target.appliance.runtime.config.baseUrl)).origin;
    const url = further.SVC_BASE_URL === undefined ? page : `${own}/proof`;
    const guest = createClient(target);
    const user = await aLoggedInUser(target);
    const recovery = { email: user.email, url };
    const asks = [
      [here, () => guest.post('/account/recovery', recovery)],
      [here, () => guest.post('/account/recovery', { ...recovery, email: 'nobody@mail.example' })],
      [here, () => user.client.post('/account/verifications/email', { url })],
      [behindProxy, () => guest.post('/account/recovery', recovery, proxied)],
      [behindProxy, () => guest.post('/account/recovery', recovery, { Forwarded: 'for=203.0.113.9' })],
      [behindProxy, () => user.client.post('/account/verifications/email', { url }, proxied)],
      [byKey, () => key.post('/account/recovery', recovery)],
      [byKey, () => key.post('/account/recovery', recovery, proxied)],
    ] as const;
    for (const [index, [isDisclosed, ask]] of asks.entries()) {
      const secret = (await ask()).expect(201).string('secret');
      assert.match(secret, isDisclosed ? /^[\w-]{43}$/ : /^$/, `request ${index}`);
    }
    const sent = (await linkOf(target, user.email, 'recovery')).searchParams.get('secret');
    assert.match(String(sent), /^[\w-]{43}$/, 'the message has it in any case');
  });
}
