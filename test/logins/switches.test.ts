// Ways to log in that a project has switched off: neither begun nor ended, on any path; server keys go on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Declaration } from '#src/contract/declaration.js';
import { type LoginSwitch, projectSettings } from '#src/contract/project.js';
import { aServerKey, aUser } from '../harness/actors.js';
import { createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { changeSettings } from '../harness/project.js';
import { createPlainBrowser } from '../hosted-pages/browser.js';
import { createBrowser } from '../oauth2/browser.js';
import { startOpen } from '../oauth2/setup.js';
import { aKeyholder, logInBy } from '../passkeys/setup.js';
import { documentOf, encoded, partsOf, signed } from '../saml/forge.js';
import { addForged, begin, post, saidOf, startOf } from '../saml/setup.js';
import { aGuardedUser, aPendingClient } from '../second-factor/people.js';
import { accept, aTeam, invite } from '../teams/setup.js';
import { aContact, askAndRead, redeemPath, sentLogins, withSms } from './setup.js';

const target = await startOpen({ settings: withSms });
const guest = createClient(target);
const switches = Object.keys(projectSettings.shape).filter((key): key is LoginSwitch => key.startsWith('login.'));
const all = (value: boolean) => Object.fromEntries(switches.map((key) => [key, value]));
const declarations: Declaration[] = target.appliance.features.operations.map(({ declaration }) => declaration);
const sessions = async () => (await rowsOf(target, 'sessions')).length;
const refused = [501, 'user_auth_method_unsupported'] as const;

/** Operations that open sessions for guests by what they are given: the test below has each of them. */
const byWhatTheyGet = [
  'account.createSession',
  'pages.postCode',
  'pages.postInvitation',
  'pages.postSignIn',
  'pages.postSignUp',
  'teams.updateMembershipStatus',
];

test('every operation that opens a session for a guest names its switch, or is tried below', () => {
  const unnamed = declarations
    .filter(({ access: { auth } }) => auth.includes('guest'))
    .filter(
      ({ reply: { session }, access: { project } }) =>
        session === 'opens' || session === 'renews' || project === 'callback',
    )
    .filter(({ access: { login } }) => login === undefined)
    .map(({ id }) => id)
    .sort();
  assert.deepEqual(unnamed, byWhatTheyGet);
  assert.deepEqual(
    switches.filter((one) => !declarations.some(({ access: { login } }) => login === one)),
    ['login.token', 'login.invitation'],
  );
});

test('with all of them off no operation opens a session for a guest', async () => {
  await changeSettings(target, all(false));
  for (const { id, method, path, input: { form } = {} } of declarations.filter(
    ({ access: { login } }) => login !== undefined,
  )) {
    const concrete = path.replace(/:\w+/g, 'main');
    const answer = form
      ? await guest.request(method, `${concrete}?project=main`, 'a=b', {
          'Content-Type': 'application/x-www-form-urlencoded',
        })
      : await guest.request(method, `${concrete}?project=main`, method === 'GET' ? undefined : {});
    answer.refused(...refused);
    assert.equal(answer.headers.get('set-cookie'), null, id);
  }
  await changeSettings(target, all(true));
});

test('a login begun before the switch does not complete, and counts again when the method is on again', async () => {
  const user = await aUser(target);
  const { client: key } = await aServerKey(target, {
    scopes: ['users.write', 'users.read', 'sessions.write', 'teams.write'],
  });
  const begun = [];
  for (const way of sentLogins) begun.push(await askAndRead(target, way, aContact(way.channel)));
  const made = (await key.post(`/users/${user.id}/tokens`)).expect(201).body;
  begun.push({ userId: String(made.userId), secret: String(made.secret) });
  const holder = await aKeyholder(target);
  const team = await aTeam(target);
  const link = await invite(target, team, aContact('email'));
  await addForged(target, 'corp');
  const browser = createBrowser(target);
  const { relayState, requestId } = await begin(browser, 'corp');
  const response = encoded(signed(documentOf(partsOf(saidOf(target, 'corp', requestId)))));

  await changeSettings(target, all(false));
  const count = await sessions();
  for (const body of begun) (await guest.post(redeemPath, body)).refused(...refused);
  for (const path of ['/account/sessions/magic-url', '/account/sessions/phone'])
    (await guest.put(path, begun[0])).refused(...refused);
  (await guest.post('/account/sessions', { email: user.email, password: user.password })).refused(...refused);
  (await accept(guest, link)).refused(...refused);
  const posted = await post(browser, 'corp', { SAMLResponse: response, RelayState: relayState });
  for (const { text, location } of [posted, await createBrowser(target).step(startOf('corp'))])
    assert.match(`${text} ${location}`, /user_auth_method_unsupported/);
  assert.equal(await sessions(), count);

  // Server keys make users and sessions all the same.
  (await key.post('/users', { userId: 'by-key', email: aContact('email'), password: 'a fine long password' })).expect(
    201,
  );
  (await key.post(`/users/${user.id}/sessions`)).expect(201);

  await changeSettings(target, { ...all(false), 'login.emailOtp': true });
  const offered = sentLogins.findIndex(({ name }) => name === 'email code');
  for (const [at, body] of begun.entries())
    if (at !== offered) (await guest.post(redeemPath, body)).refused(401, 'user_invalid_token');

  await changeSettings(target, all(true));
  for (const body of begun) (await guest.post(redeemPath, body)).expect(201);
  (await accept(guest, link)).expect(200);
  (await logInBy(guest, holder.device)).expect(201);
  assert.equal((await post(browser, 'corp', { SAMLResponse: response, RelayState: relayState })).status, 302);
});

test('the pages show only enabled methods, and their forms refuse the others', async () => {
  const { email, password } = await aUser(target);
  const open = async (settings: Partial<Record<LoginSwitch, boolean>>, name = 'sign-in') => {
    await changeSettings(target, { ...all(false), ...settings });
    return (await createPlainBrowser(target).open(`/v1/auth/${name}?project=main`)).html;
  };
  const seen = (html: string) =>
    Object.entries({
      'login.password': /name="password"|recovery\?|sign-up\?/,
      'login.passkey': /id="passkey"|webauthn\/login/,
      'login.email': /href="email\?/,
      'login.phone': /href="phone\?/,
      'login.saml': /sessions\/saml\/corp/,
    })
      .filter(([, pattern]) => pattern.test(html))
      .map(([name]) => name);
  assert.deepEqual(seen(await open({})), []);
  for (const one of ['login.password', 'login.passkey', 'login.phone', 'login.saml'] as const)
    assert.deepEqual(seen(await open({ [one]: true })), [one]);
  for (const [one, other, shown] of [
    ['login.magicUrl', 'code', 'link'],
    ['login.emailOtp', 'link', 'code'],
  ] as const) {
    assert.deepEqual(seen(await open({ [one]: true })), ['login.email']);
    const html = await open({ [one]: true }, 'email');
    assert.deepEqual([html.includes(`value="${shown}"`), html.includes(`value="${other}"`)], [true, false]);
  }
  await changeSettings(target, all(true));
  const browser = await createPlainBrowser(target).open('/v1/auth/sign-in?project=main');
  await changeSettings(target, all(false));
  await browser.submit({ email, password });
  assert.match(browser.message, /not available/);
  assert.equal(browser.jar.get('svc_main'), undefined);
  await changeSettings(target, all(true));
});

test('a login that waits for its second factor ends where its way is switched off, and goes on where another one is', async () => {
  const user = await aGuardedUser(target);
  const path = '/account/mfa/challenges';
  const begun = async () => {
    const client = await aPendingClient(target, user);
    return { client, challengeId: (await client.post(path, { factor: 'totp' })).expect(201).string('$id') };
  };
  const [one, other] = [await begun(), await begun()];
  await changeSettings(target, { 'login.password': false });
  const otp = user.app.nextCode();
  (await one.client.put(path, { challengeId: one.challengeId, otp })).refused(...refused);
  (await one.client.post(path, { factor: 'totp' })).refused(...refused);
  (await one.client.get('/account')).refused(401, 'user_more_factors_required');
  await changeSettings(target, { ...all(false), 'login.password': true });
  (await other.client.put(path, { challengeId: other.challengeId, otp })).expect(200);
  await changeSettings(target, all(true));
});
