// Every flow that sends something, from the request to its end, by what really arrives: mails from a mail server, SMS at a gateway.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Account, Client as AppwriteClient } from 'node-appwrite';
import { aLoggedInUser } from '../harness/actors.js';
import { type Answer, createClient } from '../harness/client.js';
import { startMailServer } from '../harness/mail-server.js';
import { startReceiver } from '../harness/receiver.js';
import { aGuardedUser, halfLogin, pendingOf, verify } from '../second-factor/people.js';
import { eventually } from '../webhooks/setup.js';
import { messagesOf, startSending } from './setup.js';

const mailServer = await startMailServer();
const gateway = await startReceiver();
const url = 'http://localhost/welcome';
const target = await startSending(mailServer, {
  settings: {
    SVC_SMS_URL: `http://shop:secret@${new URL(gateway.origin).host}/`,
    SVC_WEBHOOK_ALLOW_INSECURE: 'true',
  },
});
const guest = createClient(target);

/** Waits until everything left so far has arrived: only then is the next message the one of what is done next. */
const quiet = () =>
  eventually(async () => {
    for (const { id, state } of await messagesOf(target)) assert.equal(state, 'sent', String(id));
  });
/** The text of the mail that an address gets next. */
async function mailTo(address: string, act: () => Promise<unknown>): Promise<string> {
  const mine = () => mailServer.mails.filter(({ mail }) => mail.to?.some((one) => one.address === address));
  await quiet();
  const before = mine().length;
  await act();
  await eventually(() => assert.equal(mine().length, before + 1));
  return mine().at(-1)?.mail.text ?? '';
}
/** The text of the SMS that a number gets next. */
async function smsTo(number: string, act: () => Promise<unknown>): Promise<string> {
  const texts = () =>
    gateway.calls.map(({ body }) => JSON.parse(String(body))).filter(({ to }: { to: string }) => to === number);
  await quiet();
  const before = texts().length;
  await act();
  await eventually(() => assert.equal(texts().length, before + 1));
  return texts().at(-1)?.body ?? '';
}
const codeIn = (text: string) => /\b\d{6}\b/.exec(text)?.[0] ?? '';
const queryIn = (text: string): Record<string, string> => {
  const link = /https?:\/\/\S+/.exec(text)?.[0] ?? '';
  assert.ok(link.startsWith(url), text);
  return Object.fromEntries(new URL(link).searchParams);
};
const issued = async (path: string, body: object): Promise<Answer> => (await guest.post(path, body)).expect(201);

test('following a magic link logs in', async () => {
  const email = 'magic@mail.example';
  const text = await mailTo(email, () => issued('/account/tokens/magic-url', { userId: 'magic', email, url }));
  const { userId, secret } = queryIn(text);
  const session = (await guest.post('/account/sessions/token', { userId, secret })).expect(201);
  assert.deepEqual([session.body.userId, session.body.provider], ['magic', 'magic-url']);
});

test('a code by mail logs in, by the SDK', async () => {
  const email = 'code@mail.example';
  const client = new AppwriteClient().setEndpoint(`${target.origin}/v1`).setProject('main');
  const account = new Account(client);
  let userId = '';
  const text = await mailTo(email, async () => {
    ({ userId } = await account.createEmailToken({ userId: 'coder', email, phrase: true }));
  });
  const session = await account.createSession({ userId, secret: codeIn(text) });
  assert.equal(session.userId, 'coder');
  assert.equal((await new Account(client.setSession(session.secret)).get()).emailVerification, true);
});

test('a code by SMS logs in', async () => {
  const phone = '+14155550111';
  const text = await smsTo(phone, () => issued('/account/tokens/phone', { userId: 'caller', phone }));
  const session = await guest.post('/account/sessions/token', { userId: 'caller', secret: codeIn(text) });
  assert.deepEqual([session.expect(201).body.provider, session.body.factors], ['phone', ['phone']]);
});

test('a link verifies an address, and a code a number', async () => {
  const { client, email, password } = await aLoggedInUser(target);
  const text = await mailTo(email, async () =>
    (await client.post('/account/verifications/email', { url })).expect(201),
  );
  const { userId, secret } = queryIn(text);
  (await client.put('/account/verifications/email', { userId, secret })).expect(200);
  const phone = '+14155550112';
  await mailTo(email, async () => (await client.patch('/account/phone', { phone, password })).expect(200));
  const sms = await smsTo(phone, async () => (await client.post('/account/verifications/phone')).expect(201));
  (await client.put('/account/verifications/phone', { userId, secret: codeIn(sms) })).expect(200);
  const { body } = await client.get('/account');
  assert.deepEqual([body.emailVerification, body.phoneVerification], [true, true]);
});

test('a link recovers an account', async () => {
  const { client, email } = await aLoggedInUser(target);
  const text = await mailTo(email, () => issued('/account/recovery', { email, url }));
  const { userId, secret } = queryIn(text);
  const password = 'found again';
  const told = await mailTo(email, async () =>
    (await guest.put('/account/recovery', { userId, secret, password })).expect(200),
  );
  assert.match(told, /password/);
  (await client.get('/account')).refused(401, 'general_unauthorized_scope');
  (await guest.post('/account/sessions/email', { email, password })).expect(201);
});

for (const factor of ['email', 'phone'] as const) {
  test(`a code by ${factor} is the second factor`, async () => {
    const user = await aGuardedUser(target);
    await verify(target, user.id, factor);
    const { body } = await user.client.get('/account');
    const pending = createClient(target, { session: pendingOf(await halfLogin(target, user)).secret });
    let challengeId = '';
    const begin = async () => {
      challengeId = (await pending.post('/account/mfa/challenges', { factor })).expect(201).string('$id');
    };
    const text = await (factor === 'email' ? mailTo(user.email, begin) : smsTo(String(body.phone), begin));
    const session = await pending.put('/account/mfa/challenges', { challengeId, otp: codeIn(text) });
    assert.deepEqual(session.expect(200).body.factors, ['password', factor]);
  });
}

test('an invitation makes a member, and logs in', async () => {
  const { client } = await aLoggedInUser(target);
  (await client.post('/teams', { teamId: 'crew', name: 'Crew' })).expect(201);
  const email = 'invited@mail.example';
  const text = await mailTo(email, async () =>
    (await client.post('/teams/crew/memberships', { email, roles: ['reader'], url })).expect(201),
  );
  const { membershipId, userId, secret } = queryIn(text);
  const joined = await guest.patch(`/teams/crew/memberships/${membershipId}/status`, { userId, secret });
  assert.equal(joined.expect(200).body.confirm, true);
  assert.match(joined.headers.getSetCookie().join(), /svc_main=ss_/);
});
