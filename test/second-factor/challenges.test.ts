// Challenges: completing a login that lacks its second factor, and proving once more who holds a session.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorType } from '#src/contract/errors.js';
import { aLoggedInUser, type LoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { nothing, recordedBy, rowsOf, runSql } from '../harness/database.js';
import { messagesTo } from '../harness/messages.js';
import { aGuardedUser, aPendingClient, halfLogin, lastCode, pendingOf, verify } from './people.js';

const target = await startAppliance({ settings: { SVC_SMS_URL: 'https://user:password@sms.example/send' } });
const path = '/account/mfa/challenges';

const begin = async (client: Client, factor: string) => (await client.post(path, { factor })).expect(201).string('$id');

/** Somebody whose second factors are these, with the second factor on. */
async function holding(...channels: ('email' | 'phone')[]): Promise<LoggedInUser> {
  const user = await aLoggedInUser(target);
  for (const channel of channels) await verify(target, user.id, channel);
  (await user.client.patch('/account/mfa', { mfa: true })).expect(200);
  return user;
}

const ways = [
  {
    ...{ factor: 'totp', sent: [] as string[] },
    someone: () => aGuardedUser(target),
    code: (user: LoggedInUser) => Promise.resolve((user as Awaited<ReturnType<typeof aGuardedUser>>).app.nextCode()),
  },
  {
    ...{ factor: 'recoverycode', sent: [] as string[] },
    someone: () => aGuardedUser(target),
    code: async (user: LoggedInUser) => (user as Awaited<ReturnType<typeof aGuardedUser>>).recoveryCodes[0] ?? '',
  },
  {
    ...{ factor: 'email', sent: ['email-challenge'] },
    someone: () => holding('email'),
    code: ({ id }: LoggedInUser) => lastCode(target, id),
  },
  {
    ...{ factor: 'phone', sent: ['phone-challenge'] },
    someone: () => holding('phone'),
    code: ({ id }: LoggedInUser) => lastCode(target, id),
  },
];

for (const { factor, sent, someone, code } of ways) {
  const spent = factor === 'recoverycode' ? ['recoveryCodeUsed'] : [];

  test(`a challenge by ${factor} completes a login`, async () => {
    const user = await someone();
    const refused = await halfLogin(target, user);
    const pending = createClient(target, { session: pendingOf(refused).secret });
    const begun = await recordedBy(target, () => pending.post(path, { factor }));
    const { $id, $createdAt, userId, expire } = begun.value.expect(201).body;
    assert.deepEqual(Object.keys(begun.value.body), ['$id', '$createdAt', 'userId', 'expire']);
    assert.deepEqual(begun.recorded, { audit: [], events: [], messages: sent });
    assert.equal(userId, user.id);
    assert.equal(Date.parse(String(expire)) - Date.parse(String($createdAt)), 600_000);

    const otp = await code(user);
    const { value: done, recorded } = await recordedBy(target, () => pending.put(path, { challengeId: $id, otp }));
    done.expect(200);
    assert.deepEqual(recorded, {
      audit: [...spent, 'sessionCreated'].sort(),
      ...{ events: ['sessionCreated'], messages: [] },
    });
    assert.deepEqual([done.body.factors, done.body.current, done.body.provider], [['password', factor], true, 'email']);
    assert.equal(done.body.mfaUpdatedAt, done.body.$createdAt);
    assert.notEqual(done.string('secret'), pendingOf(refused).secret);
    assert.match(done.headers.getSetCookie().join(), new RegExp(`^svc_main=${done.string('secret')}; `));

    (await pending.get('/account/mfa/factors')).refused(401, 'general_unauthorized_scope');
    const session = createClient(target, { session: done.string('secret') });
    assert.equal((await session.get('/account')).expect(200).body.$id, user.id);
    (await session.put(path, { challengeId: $id, otp })).refused(401, 'user_invalid_token');
  });

  test(`a challenge by ${factor} gives an open session a new secret and makes it fresh`, async () => {
    const user = await someone();
    const { client } = user;
    target.clock.advance(21 * 60_000);
    (await client.patch('/account/mfa', { mfa: false })).refused(401, 'user_challenge_required');
    const challengeId = await begin(client, factor.toUpperCase());
    const otp = await code(user);
    const { value: done, recorded } = await recordedBy(target, () => client.put(path, { challengeId, otp }));
    done.expect(200);
    assert.deepEqual(recorded, { audit: [...spent, 'sessionUpdated'].sort(), events: [], messages: [] });
    assert.deepEqual([done.body.$id, new Set(done.body.factors as string[]).has(factor)], [user.sessionId, true]);
    (await client.get('/account')).refused(401, 'general_unauthorized_scope');
    const renewed = createClient(target, { session: done.string('secret') });
    assert.equal((await renewed.get('/account/sessions/current')).body.mfaUpdatedAt, done.body.mfaUpdatedAt);
    (await renewed.patch('/account/mfa', { mfa: false })).expect(200);
  });

  test(`a wrong answer to a challenge by ${factor} is refused and noted`, async () => {
    const user = await someone();
    const pending = await aPendingClient(target, user);
    const challengeId = await begin(pending, factor);
    const { value, recorded } = await recordedBy(target, () => pending.put(path, { challengeId, otp: '00000x' }));
    value.refused(401, 'user_invalid_token');
    assert.deepEqual(recorded, { audit: ['challengeFailed'], events: [], messages: [] });
    (await pending.put(path, { challengeId, otp: await code(user) })).expect(200);
  });
}

test('the old path of the SDK is the same operation', async () => {
  const user = await aGuardedUser(target);
  const pending = await aPendingClient(target, user);
  const challengeId = (await pending.post('/account/mfa/challenge', { factor: 'totp' })).expect(201).string('$id');
  (await pending.put('/account/mfa/challenge', { challengeId, otp: user.app.nextCode() })).expect(200);
});

test('the code goes to the address of the user only', async () => {
  const user = await holding('email', 'phone');
  const pending = await aPendingClient(target, user);
  for (const factor of ['email', 'phone']) await begin(pending, factor);
  const [mail, sms] = (await messagesTo(target, user.id)).slice(-2);
  assert.equal(mail?.to, user.email);
  for (const message of [mail, sms]) assert.match(message?.locals.code ?? '', /^\d{6}$/);
  assert.match(sms?.to ?? '', /^\+1415555/);
});

const unanswerable: [string, () => Promise<[Client, string]>][] = [
  ['an unknown challenge', async () => [await aPendingClient(target, await aGuardedUser(target)), 'no-such-challenge']],
  [
    "another user's challenge",
    async () => {
      const other = await aPendingClient(target, await aGuardedUser(target));
      return [await aPendingClient(target, await aGuardedUser(target)), await begin(other, 'totp')];
    },
  ],
  [
    "another session's challenge",
    async () => {
      const user = await aGuardedUser(target);
      return [await aPendingClient(target, user), await begin(user.client, 'totp')];
    },
  ],
  [
    'a challenge that another has replaced',
    async () => {
      const pending = await aPendingClient(target, await aGuardedUser(target));
      const first = await begin(pending, 'totp');
      await begin(pending, 'totp');
      return [pending, first];
    },
  ],
  [
    'a challenge that has expired',
    async () => {
      const { client } = await aGuardedUser(target);
      const challengeId = await begin(client, 'totp');
      target.clock.advance(600_001);
      return [client, challengeId];
    },
  ],
];
for (const [name, make] of unanswerable) {
  test(`${name} cannot be answered`, async () => {
    const [client, challengeId] = await make();
    const { value, recorded } = await recordedBy(target, () => client.put(path, { challengeId, otp: '123456' }));
    value.refused(401, 'user_invalid_token');
    assert.deepEqual(recorded, nothing);
  });
}

test('an answer of one kind is none of another', async () => {
  const user = await aGuardedUser(target);
  await verify(target, user.id, 'email');
  const pending = await aPendingClient(target, user);
  const [totp, recovery, mail] = [
    await begin(pending, 'totp'),
    await begin(pending, 'recoverycode'),
    await begin(pending, 'email'),
  ];
  const code = await lastCode(target, user.id);
  for (const [challengeId, otp] of [
    [totp, user.recoveryCodes[0]],
    [totp, code],
    [recovery, user.app.nextCode()],
    [mail, user.app.code()],
  ])
    (await pending.put(path, { challengeId, otp })).refused(401, 'user_invalid_token');
  (await pending.put(path, { challengeId: mail, otp: code })).expect(200);
});

test('five wrong answers burn a code that was sent', async () => {
  const user = await holding('email');
  const pending = await aPendingClient(target, user);
  const challengeId = await begin(pending, 'email');
  const code = await lastCode(target, user.id);
  const wrong = code === '123456' ? '654321' : '123456';
  for (let guess = 0; guess < 5; guess++)
    (await pending.put(path, { challengeId, otp: wrong })).refused(401, 'user_invalid_token');
  (await pending.put(path, { challengeId, otp: code })).refused(401, 'user_invalid_token');
  const again = await begin(pending, 'email');
  (await pending.put(path, { challengeId: again, otp: await lastCode(target, user.id) })).expect(200);
});

test('a code that went to an address of before proves nothing', async () => {
  const user = await holding('email');
  const pending = await aPendingClient(target, user);
  const challengeId = await begin(pending, 'email');
  await runSql(target, 'update users set email = ? where id = ?', [`new-${user.email}`, user.id]);
  (await pending.put(path, { challengeId, otp: await lastCode(target, user.id) })).refused(401, 'user_invalid_token');
});

test('five wrong answers by codes of the app are all that is evaluated, over all sessions and ways', async () => {
  const user = await aGuardedUser(target);
  const clients = [await aPendingClient(target, user), await aPendingClient(target, user)];
  for (let guess = 0; guess < 4; guess++) {
    const client = clients[guess % 2] ?? user.client;
    const challengeId = await begin(client, guess < 2 ? 'totp' : 'recoverycode');
    (await client.put(path, { challengeId, otp: '000000' })).refused(401, 'user_invalid_token');
  }
  const { email, password } = user;
  const login = createClient(target);
  (await login.post('/account/sessions/email', { email, password, otp: '1' })).refused(401, 'user_invalid_token');
  const challengeId = await begin(user.client, 'totp');
  (await user.client.put(path, { challengeId, otp: user.app.nextCode() })).refused(429, 'general_rate_limit_exceeded');
});

const unready: [string, (user: LoggedInUser) => Promise<unknown>, string, number, ErrorType][] = [
  [
    'no address',
    ({ id }) => runSql(target, 'update users set email = null where id = ?', [id]),
    'email',
    400,
    'user_email_not_found',
  ],
  ['an unverified address', async () => {}, 'email', 400, 'user_email_not_verified'],
  ['no number', async () => {}, 'phone', 400, 'user_phone_not_found'],
  [
    'an unverified number',
    ({ id }) => runSql(target, 'update users set phone = ? where id = ?', ['+14155559999', id]),
    ...(['phone', 400, 'user_phone_not_verified'] as const),
  ],
  ['no authenticator', async () => {}, 'totp', 404, 'user_authenticator_not_found'],
  [
    'one that is not verified',
    ({ client }) => client.post('/account/mfa/totp'),
    'totp',
    404,
    'user_authenticator_not_found',
  ],
  ['no recovery codes', async () => {}, 'recoverycode', 404, 'user_recovery_codes_not_found'],
  ['a factor that does not exist', async () => {}, 'pigeon', 400, 'general_argument_invalid'],
];
for (const [name, prepare, factor, status, type] of unready) {
  test(`${name}: a challenge by ${factor} is refused`, async () => {
    const user = await aLoggedInUser(target);
    await prepare(user);
    const { value, recorded } = await recordedBy(target, () => user.client.post(path, { factor }));
    value.refused(status, type);
    assert.deepEqual(recorded, nothing);
  });
}

test('without an SMS gateway a challenge by phone is refused, and the factor stays demanded', async () => {
  const silent = await target.startSibling({ settings: { SVC_SMS_URL: '' } });
  const user = await holding('phone');
  const pending = createClient(silent, { session: pendingOf(await halfLogin(silent, user)).secret });
  (await pending.post(path, { factor: 'phone' })).refused(503, 'general_phone_disabled');
});

test('a login by email cannot be completed by email', async () => {
  const user = await holding('email', 'phone');
  const refused = await halfLogin(target, user);
  await runSql(target, `update sessions set factors = '["email"]' where user_id = ? and pending = 1`, [user.id]);
  const pending = createClient(target, { session: pendingOf(refused).secret });
  const factors = { totp: false, phone: true, email: false, recoveryCode: false };
  assert.deepEqual((await pending.get('/account/mfa/factors')).expect(200).body, factors);
  const answer = (await pending.post(path, { factor: 'email' })).refused(400, 'general_argument_invalid');
  assert.match(answer.string('message'), /the login itself came by email/);
  (await pending.post(path, { factor: 'phone' })).expect(201);
});

test('challenges go with their session', async () => {
  const user = await aGuardedUser(target);
  const pending = await aPendingClient(target, user);
  const challengeId = await begin(pending, 'totp');
  (await pending.delete('/account/sessions/current')).expect(204);
  assert.ok(!(await rowsOf(target, 'challenges')).some(({ id }) => id === challengeId));
});

// The last one, as it uses up what the address of all tests may send.
test('messages with codes are limited', async () => {
  const limited = await target.startSibling({ settings: { SVC_RATE_LIMITS: '' } });
  const user = await holding('email');
  const pending = createClient(limited, { session: pendingOf(await halfLogin(limited, user)).secret });
  const statuses: number[] = [];
  for (let call = 0; call < 5; call++) statuses.push((await pending.post(path, { factor: 'email' })).status);
  assert.deepEqual(statuses, [201, 201, 201, 429, 429]);
});
