// Messages that strangers have sent leave room for the codes of the second factor, and those have bounds of their own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitClasses } from '#src/contract/limits.js';
import { aLoggedInUser, type LoggedInUser } from '../harness/actors.js';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { day, hour, minute } from '../harness/clock.js';
import { lastCode, pendingOf, verify } from './people.js';

const settings = {
  ...{ SVC_SMS_URL: 'https://user:password@sms.example/send' },
  ...{ SVC_RATE_LIMITS: '', SVC_TRUSTED_PROXIES: '127.0.0.0/8' },
};
const target = await startAppliance({ settings });
const path = '/account/mfa/challenges';
const limited = 'general_rate_limit_exceeded';

let addresses = 0;
/** The headers of somebody with a network address that nobody used yet. */
const elsewhere = () => {
  addresses += 1;
  return { 'X-Forwarded-For': `198.51.${addresses >> 8}.${addresses & 255}` };
};
const stranger = (of: TestAppliance = target) => createClient(of, { headers: elsewhere() });
let numbers = 0;
/** Has an SMS sent to a number that nobody used yet. */
function anSms(of: TestAppliance) {
  numbers += 1;
  const phone = `+1212555${String(1000 + numbers)}`;
  return stranger(of).post('/account/tokens/phone', { userId: 'unique()', phone });
}
/** How many of so many SMS to random numbers are sent. */
async function sentToNumbers(of: TestAppliance, count: number): Promise<number> {
  const statuses: number[] = [];
  for (let index = 0; index < count; index++) statuses.push((await anSms(of)).status);
  assert.deepEqual([...new Set(statuses)].sort(), [201, 429]);
  return statuses.filter((status) => status === 201).length;
}
/** Somebody whose second factors are the address and the number. */
async function holding(of: TestAppliance = target): Promise<LoggedInUser> {
  const user = await aLoggedInUser(of, {}, { headers: elsewhere() });
  for (const channel of ['email', 'phone'] as const) await verify(of, user.id, channel);
  (await user.client.patch('/account/mfa', { mfa: true })).expect(200);
  return user;
}
/** The user again, with the right password, from another address. */
async function pending(user: LoggedInUser, of: TestAppliance = target): Promise<Client> {
  const { email, password } = user;
  const headers = elsewhere();
  const answer = await createClient(of, { headers }).post('/account/sessions/email', { email, password });
  return createClient(of, { headers, session: pendingOf(answer.refused(401, 'user_more_factors_required')).secret });
}
const begin = (client: Client, factor: 'email' | 'phone') => client.post(path, { factor });
async function complete(client: Client, user: LoggedInUser, factor: 'email' | 'phone'): Promise<void> {
  const challengeId = (await begin(client, factor)).expect(201).string('$id');
  (await client.put(path, { challengeId, otp: await lastCode(target, user.id) })).expect(200);
}

test('a stranger who requests codes for the address all day does not keep the owner from a challenge', async () => {
  const user = await holding();
  const { email } = user;
  for (let quarter = 0; quarter < 4; quarter++) {
    for (let request = 0; request < 4; request++)
      await stranger().post('/account/tokens/email', { userId: 'unique()', email });
    (await stranger().post('/account/tokens/email', { userId: 'unique()', email })).refused(429, limited);
    await complete(await pending(user), user, 'email');
    target.clock.advance(15 * minute);
  }
});

test('SMS to random numbers use up no more than their part of the hour', async () => {
  const user = await holding();
  const { project, anyone } = limitClasses['send-sms'];
  assert.equal(await sentToNumbers(target, anyone.count + 3), anyone.count);
  await complete(await pending(user), user, 'phone');
  // The bound of the project holds for both together.
  const others: LoggedInUser[] = [];
  for (let more = 0; more < 4; more++) others.push(await holding());
  const left = project.count - anyone.count - 1;
  const statuses: number[] = [];
  for (const other of [...others, ...others, user]) {
    const client = await pending(other);
    for (let code = 0; code < 3; code++) statuses.push((await begin(client, 'phone')).status);
    target.clock.advance(minute / 60);
  }
  const sent = statuses.filter((status) => status === 201).length;
  assert.ok(sent <= left + 3 && sent < statuses.length, `${sent} of ${left}`);
  target.clock.advance(hour);
});

test('a rate that is configured leaves the same part', async () => {
  const strict = await startAppliance({ settings: { ...settings, SVC_RATE_LIMITS: 'send-sms=10/3600' } });
  const user = await holding(strict);
  assert.equal(await sentToNumbers(strict, 10), 8);
  (await begin(await pending(user, strict), 'phone')).expect(201);
  (await begin(await pending(user, strict), 'phone')).expect(201);
  (await begin(await pending(user, strict), 'phone')).refused(429, limited);
});

test('who knows the password has three codes sent in a quarter of an hour, and ten in a day, by each channel', async () => {
  const user = await holding();
  for (const factor of ['email', 'phone'] as const) {
    let sent = 0;
    for (let quarter = 0; quarter < 8; quarter++) {
      const client = await pending(user);
      for (let code = 0; code < 4; code++) if ((await begin(client, factor)).status === 201) sent += 1;
      if (quarter === 0) assert.equal(sent, 3);
      target.clock.advance(15 * minute);
    }
    assert.ok(sent >= 10 && sent <= 11, String(sent));
  }
  target.clock.advance(day);
  await complete(await pending(user), user, 'email');
});
