// {password, magic link, email code, phone code} × the second factor: no way in leads around it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noBrowser } from '#src/contract/browser.js';
import { operatorReading } from '#src/contract/reading.js';
import type { Session } from '#src/contract/session.js';
import { aLoggedInUser, aServerKey, type LoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Answer, createClient } from '../harness/client.js';
import { recordedBy, rowsOf, runSql } from '../harness/database.js';
import { aGuardedUser, type Guarded, halfLogin, pendingOf, scan, verify } from './people.js';

const target = await startAppliance({ settings: { SVC_SMS_URL: 'https://user:password@sms.example/send' } });
const guest = createClient(target);
const { client: server } = await aServerKey(target);
type WayIn = {
  readonly name: string;
  readonly factor: string;
  /** Proves the first factor, with the second in the same call where it is given. */
  enter(user: Guarded, otp?: string): Promise<Answer>;
};

/** Redeems what a server key was answered, as the person would redeem what was sent. */
async function redeem(path: string, body: Record<string, unknown>, otp?: string): Promise<Answer> {
  const issued = (await server.post(path, body)).expect(201);
  const given = { userId: issued.string('userId'), secret: issued.string('secret') };
  return guest.post('/account/sessions/token', { ...given, ...(otp === undefined ? {} : { otp }) });
}
const phoneOf = async ({ id }: Guarded) => {
  await verify(target, id, 'phone');
  return (await rowsOf(target, 'users')).find((row) => row.id === id)?.phone;
};

const waysIn: readonly WayIn[] = [
  {
    ...{ name: 'password', factor: 'password' },
    enter: ({ email, password }, otp) =>
      guest.post('/account/sessions/email', { email, password, ...(otp === undefined ? {} : { otp }) }),
  },
  {
    ...{ name: 'magic link', factor: 'email' },
    enter: ({ id, email }, otp) => redeem('/account/tokens/magic-url', { userId: id, email }, otp),
  },
  {
    ...{ name: 'email code', factor: 'email' },
    enter: ({ id, email }, otp) => redeem('/account/tokens/email', { userId: id, email }, otp),
  },
  {
    ...{ name: 'phone code', factor: 'phone' },
    enter: async (user, otp) => redeem('/account/tokens/phone', { userId: user.id, phone: await phoneOf(user) }, otp),
  },
];

for (const { name, factor, enter } of waysIn) {
  test(`by ${name} a login needs the second factor`, async () => {
    const user = await aGuardedUser(target);
    const missing = await enter(user);
    missing.refused(401, 'user_more_factors_required');
    const { userId, secret, expire } = pendingOf(missing);
    assert.equal(userId, user.id);
    assert.match(missing.headers.getSetCookie().join(), new RegExp(`^svc_main=${secret}; Path=/; Max-Age=(599|600); `));
    assert.ok(Math.abs(Date.parse(expire) - target.clock.now() - 600_000) < 5000);

    const wrong = await recordedBy(target, () => enter(user, '000000'));
    wrong.value.refused(401, 'user_invalid_token');
    assert.equal(wrong.value.body.pendingSession, undefined);
    assert.deepEqual(wrong.value.headers.getSetCookie(), []);
    assert.deepEqual([wrong.recorded.events, wrong.recorded.audit.includes('loginFailed')], [[], true]);

    const right = (await enter(user, user.app.nextCode())).expect(201);
    assert.deepEqual(right.body.factors, [factor, 'totp']);
    assert.notEqual(right.body.mfaUpdatedAt, '');
    const recovered = (await enter(user, user.recoveryCodes[0])).expect(201);
    assert.deepEqual(recovered.body.factors, [factor, 'recoverycode']);
    (await enter(user, user.recoveryCodes[0])).refused(401, 'user_invalid_token');
  });
}

const entry = '/account/sessions/email';
const credentials = ({ email, password }: LoggedInUser, otp?: string) => ({ email, password, otp });

test('a login without the second factor leaves an audit row and no event', async () => {
  const user = await aGuardedUser(target);
  const { recorded } = await recordedBy(target, () => halfLogin(target, user));
  assert.deepEqual(recorded, { audit: ['loginPending'], events: [], messages: [] });
  const used = await recordedBy(target, () => guest.post(entry, credentials(user, user.recoveryCodes[3])));
  used.value.expect(201);
  assert.deepEqual(used.recorded, {
    ...{ audit: ['recoveryCodeUsed', 'sessionCreated'], events: ['sessionCreated'], messages: [] },
  });
});

test('a wrong password is refused as ever, whatever the code', async () => {
  const user = await aGuardedUser(target);
  const wrong = { ...credentials(user, user.app.nextCode()), password: 'a wrong password' };
  (await guest.post(entry, wrong)).refused(401, 'user_invalid_credentials');
  (await guest.post(entry, credentials(user, user.app.code()))).expect(201);
});

test('a code without need is not looked at', async () => {
  const user = await aLoggedInUser(target);
  for (const otp of ['', '000000', 'nonsense'])
    assert.deepEqual((await guest.post(entry, credentials(user, otp))).expect(201).body.factors, ['password']);
  (await guest.post(entry, { ...credentials(user), otp: 123456 })).refused(400, 'general_argument_invalid');
});

test('an empty code is no code', async () => {
  const user = await aGuardedUser(target);
  const answer = await guest.post(entry, credentials(user, ''));
  assert.ok(answer.refused(401, 'user_more_factors_required').body.pendingSession);
});

for (const [steps, isAccepted] of [
  [-2, false],
  [-1, true],
  [0, true],
  [1, true],
  [2, false],
] as const) {
  test(`a code of ${steps} steps from now is ${isAccepted ? 'accepted' : 'refused'}`, async () => {
    const user = await aGuardedUser(target);
    target.clock.advance(120_000);
    const answer = await guest.post(entry, credentials(user, user.app.code(steps)));
    if (isAccepted) answer.expect(201);
    else answer.refused(401, 'user_invalid_token');
  });
}

test('a code that was accepted is spent, and so are those before it', async () => {
  const user = await aGuardedUser(target);
  target.clock.advance(120_000);
  const [before, now] = [user.app.code(-1), user.app.code()];
  (await guest.post(entry, credentials(user, now))).expect(201);
  for (const spent of [now, before])
    (await guest.post(entry, credentials(user, spent))).refused(401, 'user_invalid_token');
  (await guest.post(entry, credentials(user, user.app.code(1)))).expect(201);
});

test('the code of the enrolment is spent too', async () => {
  const user = await aLoggedInUser(target);
  const app = scan(target, (await user.client.post('/account/mfa/totp')).string('uri'));
  const code = app.code();
  (await user.client.put('/account/mfa/totp', { otp: code })).expect(200);
  (await guest.post(entry, credentials(user, code))).refused(401, 'user_invalid_token');
});

test('recovery codes may be typed in any case, with dashes, spaces or neither', async () => {
  const user = await aGuardedUser(target);
  const forms = [
    (code: string) => code.toUpperCase(),
    (code: string) => code.replaceAll('-', ''),
    (code: string) => ` ${code.replaceAll('-', ' ')} `,
  ];
  for (const [index, form] of forms.entries())
    (await guest.post(entry, credentials(user, form(user.recoveryCodes[index] ?? '')))).expect(201);
  const spaced = user.app.nextCode().replace(/^.../, '$& ');
  (await guest.post(entry, credentials(user, spaced))).expect(201);
});

test('five wrong codes are evaluated, then even the right one has to wait', async () => {
  const user = await aGuardedUser(target);
  const wrong = ['000000', 'aaaa-bbbb-cccc-dddd', 'nonsense', '1234567', '111111'];
  for (const otp of wrong) (await guest.post(entry, credentials(user, otp))).refused(401, 'user_invalid_token');
  for (const otp of [user.app.nextCode(), user.recoveryCodes[0]]) {
    const answer = (await guest.post(entry, credentials(user, otp))).refused(429, 'general_rate_limit_exceeded');
    assert.ok(Number(answer.headers.get('Retry-After')) > 0);
    assert.equal(answer.body.pendingSession, undefined);
  }
  const other = await aGuardedUser(target);
  (await guest.post(entry, credentials(other, other.app.nextCode()))).expect(201);
  target.clock.advance(900_000);
  (await guest.post(entry, credentials(user, user.app.code()))).expect(201);
});

test('a right code gives the tries back', async () => {
  const user = await aGuardedUser(target);
  for (let round = 0; round < 3; round++) {
    for (let guess = 0; guess < 4; guess++)
      (await guest.post(entry, credentials(user, '000000'))).refused(401, 'user_invalid_token');
    (await guest.post(entry, credentials(user, user.app.nextCode()))).expect(201);
  }
});

test('the cap stays where limits are off', async () => {
  const unlimited = await target.startSibling({ settings: { SVC_RATE_LIMIT: 'off' } });
  const user = await aGuardedUser(target);
  const client = createClient(unlimited);
  const statuses: number[] = [];
  for (let guess = 0; guess < 7; guess++) statuses.push((await client.post(entry, credentials(user, '000000'))).status);
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429]);
});

test('a server key that logs a user in has to bring the second factor too', async () => {
  const user = await aGuardedUser(target);
  (await server.post(entry, credentials(user))).refused(401, 'user_more_factors_required');
  (await server.post(entry, credentials(user, user.app.nextCode()))).expect(201);
});

test('a session that was open before stays, and the next login in its browser ends it', async () => {
  const user = await aGuardedUser(target);
  (await user.client.get('/account')).expect(200);
  const again = await recordedBy(target, () => user.client.post(entry, credentials(user)));
  again.value.refused(401, 'user_more_factors_required');
  assert.deepEqual(again.recorded.audit, ['loginPending', 'sessionDeleted']);
  (await user.client.get('/account')).refused(401, 'general_unauthorized_scope');
});

type Standing = 'totp' | 'email' | 'phone';
type Outcome = 'enough' | 'lacking' | 'refused';
/** [factors of the login, by which provider, second factors that stand, whether there is a password, what becomes of the login] */
const channels: [string[], string, Standing[], 'password' | 'none', Outcome][] = [
  [['password'], 'email', [], 'password', 'enough'],
  [['password'], 'email', ['email'], 'password', 'lacking'],
  [['password'], 'email', ['phone'], 'password', 'lacking'],
  [['email'], 'magic-url', ['email'], 'password', 'refused'],
  [['email'], 'magic-url', ['email'], 'none', 'enough'],
  [['email'], 'magic-url', ['email', 'phone'], 'none', 'lacking'],
  [['email'], 'magic-url', ['totp', 'email'], 'none', 'lacking'],
  [['token'], 'token', ['email'], 'password', 'lacking'],
  [['email'], 'token', ['email'], 'password', 'refused'],
  [['token'], 'token', ['phone'], 'password', 'lacking'],
  [['phone'], 'phone', ['phone'], 'password', 'refused'],
  [['phone'], 'phone', ['phone'], 'none', 'enough'],
  [['phone'], 'phone', ['email', 'phone'], 'none', 'lacking'],
  [['email', 'oauth2'], 'google', ['email'], 'none', 'lacking'],
  [['email', 'saml'], 'acme', ['email'], 'none', 'lacking'],
  [['server'], 'server', ['totp', 'email', 'phone'], 'password', 'enough'],
];

/** Opens a session as a way in does that has proved these factors. */
async function open(user: LoggedInUser, provider: string, factors: string[]): Promise<{ session: Session }> {
  const { runtime, features } = target.appliance;
  const by = { projectId: 'main', actor: { kind: 'guest', id: '' }, requestId: 'test' };
  const facts = {
    id: 'test',
    ip: '127.0.0.1',
    userAgent: '',
    presentedSession: null,
    locale: null,
    isLocal: true,
    prefersPage: () => false,
  };
  const account = await features.users.getByIdOrEmail(target.project.id, user.id);
  const request = {
    ...facts,
    reading: operatorReading,
    charge: () => {},
    budget: runtime.budgets.open(operatorReading),
    browser: noBrowser,
  };
  return runtime.db.work(by, (unit) =>
    features.sessions.open(unit, target.project, account, { provider, providerUid: '', factors, request }),
  );
}

for (const [factors, provider, standing, password, outcome] of channels) {
  test(`${factors} by ${provider} with ${standing} standing and password ${password}: ${outcome}`, async () => {
    const user = standing.includes('totp') ? await aGuardedUser(target) : await aLoggedInUser(target);
    for (const channel of standing) if (channel !== 'totp') await verify(target, user.id, channel);
    (await user.client.patch('/account/mfa', { mfa: true })).expect(200);
    if (password === 'none') await runSql(target, 'update users set password_hash = null where id = ?', [user.id]);
    const opening = recordedBy(target, () => open(user, provider, factors).catch((error: unknown) => error));
    const { value, recorded } = await opening;
    if (outcome === 'enough') {
      const { session } = value as { session: Session };
      assert.deepEqual([session.factors, session.pending, recorded.events], [factors, false, ['sessionCreated']]);
      return;
    }
    const { type, pendingSession } = value as { type: string; pendingSession?: unknown };
    assert.deepEqual([type, pendingSession !== undefined], ['user_more_factors_required', outcome === 'lacking']);
    assert.deepEqual(recorded.audit, [outcome === 'lacking' ? 'loginPending' : 'loginFailed']);
    assert.deepEqual(recorded.events, []);
  });
}
