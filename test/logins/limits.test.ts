// How often codes are sent and secrets tried, with the product's own numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey, aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { hour, minute } from '../harness/clock.js';
import { recordedBy } from '../harness/database.js';
import { aContact, ask, askAndRead, redeemPath, sentLogins, withSms } from './setup.js';

const target = await startAppliance({
  settings: { ...withSms, SVC_RATE_LIMITS: '', SVC_TRUSTED_PROXIES: '127.0.0.0/8' },
});
const limited = 'general_rate_limit_exceeded';

let addresses = 0;
/** A client with an address that nobody used yet. */
function stranger(): Client {
  addresses += 1;
  return createClient(target, { headers: { 'X-Forwarded-For': `198.51.100.${addresses}` } });
}
async function statuses(count: number, make: () => Promise<{ status: number }>): Promise<number[]> {
  const seen: number[] = [];
  for (let index = 0; index < count; index++) seen.push((await make()).status);
  return seen;
}
const times = (count: number, status: number): number[] => Array(count).fill(status);

for (const way of sentLogins) {
  test(`${way.name}: three to one recipient in a quarter of an hour, for all callers together`, async () => {
    const contact = aContact(way.channel);
    assert.deepEqual(await statuses(3, () => ask(stranger(), way, contact)), times(3, 201));
    const { value, recorded } = await recordedBy(target, () => ask(stranger(), way, contact));
    const refused = value.refused(429, limited);
    assert.ok(Number(refused.headers.get('Retry-After')) >= 1);
    assert.deepEqual(recorded, { audit: [], events: [], messages: [] });
    const { client } = await aServerKey(target);
    (await ask(client, way, contact)).refused(429, limited);
    target.clock.advance(15 * minute);
    (await ask(stranger(), way, contact)).expect(201);
  });

  test(`${way.name}: twenty from one address in an hour`, async () => {
    const client = stranger();
    assert.deepEqual(await statuses(21, () => ask(client, way, aContact(way.channel))), [...times(20, 201), 429]);
    target.clock.advance(hour);
    (await ask(client, way, aContact(way.channel))).expect(201);
  });
}

test('a link for a new password is sent however many codes strangers have sent to the address, three in a quarter of an hour', async () => {
  const [, code] = sentLogins;
  assert.ok(code);
  target.clock.advance(hour);
  const { email } = await aUser(target);
  assert.deepEqual(await statuses(4, () => ask(stranger(), code, email)), [...times(3, 201), 429]);
  const recover = () => stranger().post('/account/recovery', { email, url: 'http://localhost:3000/reset' });
  assert.deepEqual(await statuses(4, recover), [...times(3, 201), 429]);
  // Those of the owner leave the codes alone in turn.
  target.clock.advance(15 * minute);
  assert.deepEqual(await statuses(4, recover), [...times(3, 201), 429]);
  (await ask(stranger(), code, email)).expect(201);
});

test('thirty wrong secrets from one address in a quarter of an hour, and every right one is given back', async () => {
  const [, code] = sentLogins;
  assert.ok(code);
  target.clock.advance(hour);
  const client = stranger();
  for (let login = 0; login < 35; login++) {
    const given = await askAndReadFrom(login);
    (await client.post(redeemPath, given)).expect(201);
  }
  const wrong = () => client.post(redeemPath, { userId: 'nobody', secret: '123456' });
  assert.deepEqual(await statuses(31, wrong), [...times(30, 401), 429]);
  (await client.put('/account/sessions/magic-url', { userId: 'a', secret: 'b' })).refused(429, limited);
  (await client.put('/account/sessions/phone', { userId: 'a', secret: 'b' })).refused(429, limited);

  async function askAndReadFrom(login: number) {
    // The harness asks from the loopback address, which may ask twenty times in an hour.
    if (login % 15 === 0) target.clock.advance(hour);
    return askAndRead(target, code as (typeof sentLogins)[number], aContact('email'));
  }
});

test('thirty anonymous accounts from one address in an hour', async () => {
  const client = stranger();
  const login = () => client.post('/account/sessions/anonymous');
  assert.deepEqual(await statuses(31, login), [...times(30, 201), 429]);
  (await stranger().post('/account/sessions/anonymous')).expect(201);
  target.clock.advance(hour);
  (await login()).expect(201);
});
