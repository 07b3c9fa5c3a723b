// Whose account a login by SAML opens, and what must not open one: second factors, strangers, other browsers, replays, providers that go.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { aSquat, assertReleased, assertTaken, holderOf, type Other } from '../claims/squatters.js';
import { aUser } from '../harness/actors.js';
import { createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { asOperator } from '../harness/project.js';
import { withSms } from '../logins/setup.js';
import { assertFailed, createBrowser, endOf, type Step } from '../oauth2/browser.js';
import { addProvider, startOpen } from '../oauth2/setup.js';
import { aGuardedUser, verify } from '../second-factor/people.js';
import { documentOf, encoded, freshId, partsOf, type Said, signed } from './forge.js';
import { acsOf, addForged, app, begin, logIn, post, saidOf, startOf } from './setup.js';

const target = await startOpen({ settings: withSms });
before(async () => {
  // Addresses of the users of the tests count as verified by corp, and by nobody else.
  await addForged(target, 'corp', { emailDomains: ['mail.example'] });
  await addForged(target, 'lax');
  await addForged(target, 'eager', { idpInitiated: true, idpInitiatedPage: `${app}/done` });
});
const accountOf = async (session: string) => (await createClient(target, { session }).get('/account')).expect(200).body;
const come = (email: string, key = 'corp', nameId: string = freshId()) =>
  logIn(target, key, { nameId, attributes: { email: [email] } });
const refusedAs = ({ status, text }: Step) => [status, JSON.parse(text).type];
const countOf = async (name: string) => (await rowsOf(target, name)).length;
/** A response that holds, for a login of this request. */
const responseTo = (key: string, requestId: string | undefined, given: Partial<Said> = {}) =>
  encoded(signed(documentOf(partsOf(saidOf(target, key, requestId, given)))));

test('a verified address leads to the account that has proved it', async () => {
  const user = await aUser(target);
  await verify(target, user.id, 'email');
  const { session } = await come(user.email.toUpperCase());
  assert.equal((await accountOf(session)).$id, user.id);
});

for (const other of ['nothing', 'an unproved one', 'a proved one'] as readonly Other[])
  test(`an address that a stranger holds unverified, the other contact is ${other}`, async () => {
    const squat = await aSquat(target, 'email', other);
    const { session } = await come(squat.value);
    const account = await accountOf(session);
    assert.deepEqual([account.email, account.emailVerification], [squat.value, true]);
    if (other === 'a proved one') {
      await assertReleased(target, squat);
      assert.equal((await holderOf(target, squat))?.id, account.$id);
    } else {
      await assertTaken(target, squat);
      assert.equal(account.$id, squat.id);
    }
  });

test('an address of a provider that is not authoritative for it leads to no account', async () => {
  const user = await aUser(target);
  await verify(target, user.id, 'email');
  const users = await countOf('users');
  const { end } = await come(user.email, 'lax');
  assertFailed(end, 400, 'general_bad_request');
  assert.equal(await countOf('users'), users);
});

test('a blocked user is refused', async () => {
  const user = await aUser(target);
  await verify(target, user.id, 'email');
  await come(user.email, 'corp', 'blocked-one');
  await asOperator(target, user.id, 'block');
  assertFailed((await come(user.email, 'corp', 'blocked-one')).end, 403, 'user_blocked');
  assertFailed((await come(user.email)).end, 403, 'user_blocked');
});

test('with the second factor on: a pending session, and a challenge completes it', async () => {
  const user = await aGuardedUser(target);
  await verify(target, user.id, 'email');
  const { end, session } = await come(user.email);
  assertFailed(end, 401, 'user_more_factors_required');
  const pending = createClient(target, { session });
  (await pending.get('/account')).refused(401, 'user_more_factors_required');
  const challengeId = (await pending.post('/account/mfa/challenges', { factor: 'totp' })).expect(201).string('$id');
  const full = await pending.put('/account/mfa/challenges', { challengeId, otp: user.app.nextCode() });
  const { secret, provider, factors } = full.expect(200).body;
  assert.deepEqual([provider, factors], ['corp', ['email', 'saml', 'totp']]);
  assert.equal((await accountOf(String(secret))).$id, user.id);
});

test('with the second factor on: the session that a challenge completes ends when the provider says so', async () => {
  const user = await aGuardedUser(target);
  await verify(target, user.id, 'email');
  const bound = new Date(target.clock.now() + 3_600_000).toISOString();
  const change = (parts: ReturnType<typeof partsOf>) => {
    parts.statements = parts.statements.replace('<saml:AuthnStatement', `$& SessionNotOnOrAfter="${bound}"`);
  };
  const given = { nameId: freshId(), attributes: { email: [user.email] } };
  const { session } = await logIn(target, 'corp', given, { change });
  const pending = createClient(target, { session });
  const challengeId = (await pending.post('/account/mfa/challenges', { factor: 'totp' })).expect(201).string('$id');
  const full = await pending.put('/account/mfa/challenges', { challengeId, otp: user.app.nextCode() });
  assert.equal(full.expect(200).body.expire, bound.replace('Z', '+00:00'));
});

test('with the second factor on and no failure page: the error, and a wrong code opens nothing', async () => {
  const user = await aGuardedUser(target);
  await verify(target, user.id, 'email');
  const attributes = { email: [user.email] };
  const { end, session } = await logIn(target, 'corp', { nameId: freshId(), attributes }, { url: startOf('corp', {}) });
  assert.deepEqual(refusedAs(end), [401, 'user_more_factors_required']);
  const pending = createClient(target, { session });
  const challengeId = (await pending.post('/account/mfa/challenges', { factor: 'totp' })).expect(201).string('$id');
  (await pending.put('/account/mfa/challenges', { challengeId, otp: '000000' })).refused(401, 'user_invalid_token');
  (await pending.get('/account')).refused(401, 'user_more_factors_required');
});

test('a response in another browser than that which has begun the login opens nothing (login CSRF)', async () => {
  const [mine, victim] = [createBrowser(target), createBrowser(target)];
  const { relayState, requestId } = await begin(mine, 'corp');
  await begin(victim, 'corp');
  const fields = { SAMLResponse: responseTo('corp', requestId), RelayState: relayState };
  // The page to lead to is known; the session is not.
  assertFailed(await post(victim, 'corp', fields), 401, 'user_invalid_token');
  assert.equal(victim.cookie('svc_main'), undefined);
  assert.deepEqual(refusedAs(await post(mine, 'corp', fields)), [401, 'user_invalid_token']);
});

test('an unsolicited response opens nothing', async () => {
  for (const RelayState of ['', 'anything', 'x'.repeat(2000)]) {
    const browser = createBrowser(target);
    const end = await post(browser, 'corp', { SAMLResponse: responseTo('corp', undefined), RelayState });
    assert.deepEqual(refusedAs(end), [401, 'user_invalid_token']);
    assert.equal(browser.cookie('svc_main'), undefined);
  }
});

test('if the provider may begin logins, an unsolicited response counts once and leads to the configured page', async () => {
  const fields = {
    SAMLResponse: responseTo('eager', undefined, { nameId: 'first' }),
    RelayState: 'https://evil.example',
  };
  const browser = createBrowser(target);
  const end = await post(browser, 'eager', fields);
  assert.deepEqual([end.status, end.location], [302, `${app}/done`]);
  assert.ok(browser.cookie('svc_main'));
  for (const next of [browser, createBrowser(target)])
    assert.deepEqual(refusedAs(await post(next, 'eager', fields)), [401, 'user_saml_response_invalid']);
  // A response to a request of somebody else's browser is none that nobody has asked for.
  const { requestId, relayState } = await begin(createBrowser(target), 'eager');
  const foreign = { SAMLResponse: responseTo('eager', requestId), RelayState: relayState };
  assertFailed(await post(createBrowser(target), 'eager', foreign), 401, 'user_saml_response_invalid');
});

test('one response at once from many, in two processes: one session', async () => {
  const sibling = await target.startSibling({ settings: { ...withSms, SVC_WEBHOOK_ALLOW_INSECURE: 'true' } });
  const fields = { SAMLResponse: responseTo('eager', undefined, { nameId: 'parallel' }), RelayState: '' };
  const sessions = await countOf('sessions');
  const ends = await Promise.all(
    Array.from({ length: 8 }, (_, at) => post(createBrowser(at % 2 === 0 ? target : sibling), 'eager', fields)),
  );
  assert.equal(ends.filter(({ status }) => status === 302).length, 1);
  assert.equal(await countOf('sessions'), sessions + 1);
});

test('an assertion in a response of another kind counts once all the same', async () => {
  const assertionId = freshId();
  const say = () => ({
    SAMLResponse: responseTo('eager', undefined, { nameId: 'again', assertionId }),
    RelayState: '',
  });
  assert.equal((await post(createBrowser(target), 'eager', say())).status, 302);
  assert.deepEqual(refusedAs(await post(createBrowser(target), 'eager', say())), [401, 'user_saml_response_invalid']);
});

test('an assertion that holds by the difference of clocks alone has counted all the same', async () => {
  const [used, unused] = [{ nameId: 'late' }, { nameId: 'latest' }].map((given) => ({
    SAMLResponse: responseTo('eager', undefined, given),
    RelayState: '',
  }));
  assert.ok(used && unused);
  assert.equal((await post(createBrowser(target), 'eager', used)).status, 302);
  target.clock.advance(330_000);
  await target.appliance.features.jobs.run('logins.prune');
  assert.deepEqual(refusedAs(await post(createBrowser(target), 'eager', used)), [401, 'user_saml_response_invalid']);
  assert.equal((await post(createBrowser(target), 'eager', unused)).status, 302);
});

test('a response of one provider is none of another one, and none in another project', async () => {
  const browser = createBrowser(target);
  const { relayState, requestId } = await begin(browser, 'corp');
  const theirs = { SAMLResponse: responseTo('lax', requestId), RelayState: relayState };
  assertFailed(await post(browser, 'corp', theirs), 401, 'user_saml_response_invalid');
  const { runtime, features } = target.appliance;
  const by = { projectId: 'neighbour', actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  const { config } = await features.providers.get(runtime.db, target.project, 'corp');
  await runtime.db.work(by, (unit) =>
    features.providers.add(unit, target.neighbour, { key: 'corp', kind: 'saml', config }),
  );
  const next = await begin(browser, 'corp');
  const fields = { SAMLResponse: responseTo('corp', next.requestId), RelayState: next.relayState };
  assert.deepEqual(refusedAs(await post(browser, 'corp', fields, 'neighbour')), [401, 'user_invalid_token']);
  const ours = await begin(browser, 'corp', startOf('corp', {}, 'neighbour'));
  const audienceOfMain = { SAMLResponse: responseTo('corp', ours.requestId), RelayState: ours.relayState };
  assert.deepEqual(refusedAs(await post(browser, 'corp', audienceOfMain, 'neighbour')), [
    401,
    'user_saml_response_invalid',
  ]);
});

test('a login expires after ten minutes, and is void if the clock was set back', async () => {
  const attempt = async (pass: () => void) => {
    const browser = createBrowser(target);
    const { relayState, requestId } = await begin(browser, 'corp');
    pass();
    const end = await post(browser, 'corp', { SAMLResponse: responseTo('corp', requestId), RelayState: relayState });
    return refusedAs(end);
  };
  assert.deepEqual(await attempt(() => target.clock.advance(601_000)), [401, 'user_invalid_token']);
  target.clock.step(3_600_000);
  assert.deepEqual(await attempt(() => target.clock.step(-3_600_000)), [401, 'user_invalid_token']);
});

test('a provider that is disabled or removed while its user is there', async () => {
  const { runtime, features } = target.appliance;
  const by = { projectId: 'main', actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  await addForged(target, 'brief');
  const browser = createBrowser(target);
  const fieldsOf = ({ requestId, relayState }: { requestId: string; relayState: string }) => ({
    SAMLResponse: responseTo('brief', requestId),
    RelayState: relayState,
  });
  const first = fieldsOf(await begin(browser, 'brief'));
  await runtime.db.work(by, (unit) => features.providers.update(unit, target.project, 'brief', { enabled: false }));
  assertFailed(await post(browser, 'brief', first), 412, 'project_provider_disabled');
  await runtime.db.work(by, (unit) => features.providers.update(unit, target.project, 'brief', { enabled: true }));
  const second = fieldsOf(await begin(browser, 'brief'));
  await runtime.db.work(by, (unit) => features.providers.remove(unit, target.project, 'brief'));
  await addForged(target, 'brief');
  assert.deepEqual(refusedAs(await post(browser, 'brief', second)), [401, 'user_invalid_token']);
  assert.equal(browser.cookie('svc_main'), undefined);
});

test('members that identify the users do not change, and an invalid configuration is refused', async () => {
  const { runtime, features } = target.appliance;
  const by = { projectId: 'main', actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  const update = (config: object) =>
    runtime.db.work(by, (unit) => features.providers.update(unit, target.project, 'lax', { config: { ...config } }));
  for (const config of [
    { entityId: 'https://x.example' },
    { uidAttribute: 'mail' },
    { ssoUrl: 'javascript:alert(1)' },
    { ssoUrl: 'https://u:p@x.example' },
    { certificates: ['x'] },
    { certificates: [] },
    { emailDomains: ['*'] },
    { idpInitiated: true },
  ])
    await assert.rejects(update(config), { type: 'general_argument_invalid' }, JSON.stringify(config));
  for (const key of ['saml', 'google'])
    await assert.rejects(addProvider(target, { key, kind: 'saml', config: {} }), { type: 'general_argument_invalid' });
});

test('the address takes one form of bounded size by POST, and nothing else', async () => {
  const send = (body: string, type = 'application/x-www-form-urlencoded') =>
    createBrowser(target).step(acsOf('corp'), { method: 'POST', headers: { 'Content-Type': type }, body });
  assert.equal((await createBrowser(target).step(acsOf('corp'))).status, 405);
  assert.equal((await send('{}', 'application/json')).status, 415);
  assert.equal((await send(`SAMLResponse=${'A'.repeat(524_288)}`)).status, 413);
  assert.equal((await send('a=&'.repeat(100_000))).status, 400);
  assert.equal((await send('SAMLResponse=A&SAMLResponse=B')).status, 400);
  assert.equal((await send('RelayState=A')).status, 400);
});

test('a login of the session that a browser holds leads to the page still there', async () => {
  const { session } = await come('', 'lax', 'returning');
  const { session: next } = await come('', 'lax', 'returning');
  assert.equal((await accountOf(session)).$id, (await accountOf(next)).$id);
  assert.equal(endOf((await come('', 'lax', 'returning')).end).page, `${app}/done`);
});
