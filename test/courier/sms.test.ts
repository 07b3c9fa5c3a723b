// SMS through a gateway of one's own and through Twilio's API, both played by a real HTTP server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { startReceiver } from '../harness/receiver.js';
import { called } from '../webhooks/setup.js';
import { messageOf, send, standing, sweep } from './setup.js';

const number = '+14155550123';
const code = { message: 'phone-code', to: number, variables: { code: '161803' } as never } as const;
const receiver = await startReceiver();
const { host } = new URL(receiver.origin);
const insecure = { SVC_WEBHOOK_ALLOW_INSECURE: 'true' };
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const gateway = await startAppliance({ settings: { ...insecure, SVC_SMS_URL: `http://shop:p%40ss@${host}/send?v=1` } });

test('the gateway gets number and text as JSON, with Basic authentication', async () => {
  const id = await send(gateway, { ...code, locale: 'de-CH' });
  const [call] = await called(receiver, 1);
  assert.deepEqual([call?.method, call?.url], ['POST', '/send?v=1']);
  assert.equal(call?.headers.authorization, basic('shop:p@ss'));
  assert.equal(call?.headers['content-type'], 'application/json');
  assert.equal(call?.headers['idempotency-key'], id);
  const body = '161803 ist Ihr Code für Project main. Er gilt einmal, 10 Minuten lang. Geben Sie ihn niemandem.';
  assert.deepEqual(JSON.parse(String(call?.body)), { to: number, body });
  const row = await standing(gateway, id, 'sent');
  assert.deepEqual([row.sealed, row.error, Number(row.attempt), row.channel], ['', '', 1, 'sms']);
});

const answers = [
  { status: 200, state: 'sent' },
  { status: 204, state: 'sent' },
  { status: 302, state: 'retrying', more: '; redirects are not followed' },
  { status: 400, state: 'failed' },
  { status: 401, state: 'retrying' },
  { status: 422, state: 'failed' },
  { status: 429, state: 'retrying' },
  { status: 503, state: 'retrying' },
];
for (const { status, state, more = '' } of answers) {
  test(`a gateway that answers ${status}: ${state}`, async () => {
    receiver.answer = (response) => response.writeHead(status, { location: '/elsewhere' }).end();
    const before = receiver.calls.length;
    const row = await standing(gateway, await send(gateway, code), state);
    assert.equal(row.error, state === 'sent' ? '' : `the gateway answered ${status}${more}`);
    assert.equal(receiver.calls.length, before + 1);
    receiver.answer = (response) => response.end();
  });
}

test('Twilio gets a form, and the same SMS again after an outage', async () => {
  const api = encodeURIComponent(`${receiver.origin}/`);
  const settings = { ...insecure, SVC_SMS_URL: `twilio://AC123:tok%3Aen@/?from=+15005550006&api=${api}` };
  const target = await startAppliance({ settings });
  receiver.answer = (response) => response.writeHead(500).end();
  const before = receiver.calls.length;
  const id = await send(target, code);
  await standing(target, id, 'retrying');
  receiver.answer = (response) => response.writeHead(201).end('{"sid":"SM1"}');
  target.clock.advance(40_000);
  await sweep(target);
  assert.equal((await messageOf(target, id)).state, 'sent');
  const calls = receiver.calls.slice(before);
  assert.equal(calls.length, 2);
  for (const { method, url, headers, body } of calls) {
    assert.deepEqual([method, url], ['POST', '/2010-04-01/Accounts/AC123/Messages.json']);
    assert.equal(headers.authorization, basic('AC123:tok:en'));
    assert.equal(headers['content-type'], 'application/x-www-form-urlencoded');
    const form = Object.fromEntries(new URLSearchParams(String(body)));
    const text = '161803 is your code for Project main. It works once, for 10 minutes. Give it to nobody.';
    assert.deepEqual(form, { To: number, From: '+15005550006', Body: text });
  }
  receiver.answer = (response) => response.end();
});

test('a messaging service of Twilio stands for its numbers', async () => {
  const api = encodeURIComponent(receiver.origin);
  const settings = { ...insecure, SVC_SMS_URL: `twilio://AC123:token@/?from=MG42&api=${api}` };
  const target = await startAppliance({ settings });
  const before = receiver.calls.length;
  await send(target, code);
  const calls = await called(receiver, before + 1);
  const form = new URLSearchParams(String(calls.at(-1)?.body));
  assert.deepEqual([form.get('MessagingServiceSid'), form.get('From')], ['MG42', null]);
});

test('a gateway in the internal network is not called unless the guard allows it', async () => {
  const target = await startAppliance({ settings: { SVC_SMS_URL: `https://shop:secret@127.0.0.1:${receiver.port}/` } });
  const before = receiver.connections();
  const row = await standing(target, await send(target, code), 'retrying');
  assert.match(String(row.error), /the address is not public/);
  assert.equal(receiver.connections(), before);
  assert.doesNotMatch(target.log(), /secret|161803|4155550123/);
});

test('without a gateway an SMS is kept', async () => {
  const target = await startAppliance();
  const id = await send(target, code);
  assert.equal((await messageOf(target, id)).state, 'kept');
  const { runtime, features } = target.appliance;
  const shown = await features.courier.mailbox.find(runtime.db, target.project.id, id);
  assert.deepEqual([shown?.to, shown?.code, shown?.links, shown?.html], [number, '161803', [], '']);
});
