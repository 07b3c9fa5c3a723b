// Whose account a login at an identity provider opens: addresses that are proved or not, strangers, blocks, second factors, and logins at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aSquat, assertReleased, assertTaken, holderOf, type Other } from '../claims/squatters.js';
import { aLoggedInUser, aPerson, aUser, signUpBody } from '../harness/actors.js';
import { createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { asOperator, changeSettings } from '../harness/project.js';
import { withSms } from '../logins/setup.js';
import { aGuardedUser, verify } from '../second-factor/people.js';
import { app, assertFailed, createBrowser, endOf, startUrl } from './browser.js';
import { aSomebody, type Somebody } from './identity-provider.js';
import { aProvider, startOpen } from './setup.js';

const target = await startOpen({ settings: withSms });
const idp = await aProvider(target);
const guest = createClient(target);
const flows = ['sessions', 'tokens'] as const;

/** Logs in at the provider in a new browser; the session that comes of it, if any. */
async function come(user: Somebody, flow: (typeof flows)[number] = 'sessions', otp?: string) {
  idp.user = user;
  const browser = createBrowser(target);
  const end = await browser.open(startUrl(flow, 'corp'));
  if (flow === 'sessions') return { end, session: browser.cookie('svc_main') ?? '' };
  const { query } = endOf(end);
  const token = { userId: query.get('userId'), secret: query.get('secret'), otp };
  const answer = query.has('secret') ? await guest.post('/account/sessions/token', token) : undefined;
  return { end, answer, session: String(answer?.body.secret ?? '') };
}
const accountOf = async (session: string) => (await createClient(target, { session }).get('/account')).expect(200).body;

for (const flow of flows) {
  test(`${flow}: a verified address leads to the account that has proved it`, async () => {
    const user = await aUser(target);
    await verify(target, user.id, 'email');
    const { session } = await come(aSomebody({ email: user.email.toUpperCase() }), flow);
    assert.equal((await accountOf(session)).$id, user.id);
    (await guest.post('/account/sessions/email', { email: user.email, password: user.password })).expect(201);
  });

  for (const other of ['nothing', 'an unproved one', 'a proved one'] as readonly Other[]) {
    test(`${flow}: an address that a stranger holds unverified, the other contact is ${other}`, async () => {
      const squat = await aSquat(target, 'email', other);
      const { session } = await come(aSomebody({ email: squat.value }), flow);
      const account = await accountOf(session);
      assert.deepEqual([account.email, account.emailVerification], [squat.value, true]);
      if (other === 'a proved one') {
        await assertReleased(target, squat);
        assert.notEqual(account.$id, squat.id);
        assert.equal((await holderOf(target, squat))?.id, account.$id);
      } else {
        await assertTaken(target, squat);
        assert.equal(account.$id, squat.id);
      }
    });
  }

  test(`${flow}: an address that the provider has not verified leads to no account`, async () => {
    const verified = await aUser(target);
    await verify(target, verified.id, 'email');
    const unproved = await aUser(target);
    for (const { email } of [verified, unproved])
      for (const email_verified of [false, undefined, 'false', 'yes', 1, null, {}]) {
        const before = (await rowsOf(target, 'users')).length;
        const { end } = await come(aSomebody({ email, email_verified }), flow);
        assertFailed(end, 400, 'general_bad_request');
        assert.equal((await rowsOf(target, 'users')).length, before);
      }
  });

  test(`${flow}: an unverified address without an account is a claim that its owner takes over`, async () => {
    const claimant = aSomebody({ email_verified: false });
    const { session } = await come(claimant, flow);
    const account = await accountOf(session);
    assert.deepEqual([account.email, account.emailVerification], [claimant.email, false]);
    const owner = await come(aSomebody({ email: claimant.email ?? '' }), flow);
    assert.notEqual((await accountOf(owner.session)).$id, account.$id);
    // The identity leads to the account still: it is the owner's who loses the address only.
    assert.deepEqual([(await accountOf(session)).email, (await accountOf(session)).$id], ['', account.$id]);
    assert.equal((await accountOf((await come(claimant, flow)).session)).$id, account.$id);
  });

  test(`${flow}: without an address there is an account without one`, async () => {
    const { email: _, ...nobody } = aSomebody();
    const { session } = await come(nobody, flow);
    assert.equal((await accountOf(session)).email, '');
    const second = await come(aSomebody({ email: 'no address' }), flow);
    assert.equal((await accountOf(second.session)).email, '');
  });

  test(`${flow}: a blocked user is refused, by the identity and by the address`, async () => {
    const someone = aSomebody();
    const { session } = await come(someone, flow);
    const { $id: id } = await accountOf(session);
    await asOperator(target, String(id), 'block');
    assertFailed((await come(someone, flow)).end, 403, 'user_blocked');
    assertFailed((await come(aSomebody({ email: someone.email ?? '' }), flow)).end, 403, 'user_blocked');
    (await createClient(target, { session }).get('/account')).refused(403, 'user_blocked');
  });
}

test('signup.hideExisting: an unverified address of another account gives an account without one', async () => {
  const { email } = await aUser(target);
  await changeSettings(target, { 'signup.hideExisting': true });
  target.clock.advance(1000);
  const { session } = await come(aSomebody({ email, email_verified: false }));
  assert.equal((await accountOf(session)).email, '');
  await changeSettings(target, { 'signup.hideExisting': false });
  target.clock.advance(1000);
});

test('session flow with the second factor on: a pending session, and a challenge completes it', async () => {
  const user = await aGuardedUser(target);
  await verify(target, user.id, 'email');
  const before = (await rowsOf(target, 'events')).length;
  const { end, session } = await come(aSomebody({ email: user.email }));
  assertFailed(end, 401, 'user_more_factors_required');
  assert.deepEqual(Object.keys(endOf(end).error ?? {}).sort(), ['code', 'message', 'type']);
  assert.ok(!(end.location ?? '').includes(session));
  const pending = createClient(target, { session });
  (await pending.get('/account')).refused(401, 'user_more_factors_required');
  assert.equal((await rowsOf(target, 'events')).length, before);
  const challenge = (await pending.post('/account/mfa/challenges', { factor: 'totp' })).expect(201).string('$id');
  const full = await pending.put('/account/mfa/challenges', { challengeId: challenge, otp: user.app.nextCode() });
  const { secret, provider, factors } = full.expect(200).body;
  assert.deepEqual([provider, factors], ['corp', ['email', 'oauth2', 'totp']]);
  assert.equal((await accountOf(String(secret))).$id, user.id);
  (await pending.get('/account')).refused(401, 'general_unauthorized_scope');
});

test('token flow with the second factor on: the exchange takes the code', async () => {
  const user = await aGuardedUser(target);
  await verify(target, user.id, 'email');
  const someone = aSomebody({ email: user.email });
  const lacking = await come(someone, 'tokens');
  lacking.answer?.refused(401, 'user_more_factors_required');
  assert.equal(endOf(lacking.end).page, `${app}/done`);
  (await come(someone, 'tokens', '000000')).answer?.refused(401, 'user_invalid_token');
  const { answer, session } = await come(someone, 'tokens', user.app.nextCode());
  assert.deepEqual(answer?.expect(201).body.factors, ['email', 'oauth2', 'totp']);
  assert.equal((await accountOf(session)).$id, user.id);
});

test('adding an identity with the second factor on asks for no other proof, and keeps the one there was', async () => {
  const user = await aGuardedUser(target);
  const browser = createBrowser(target);
  browser.cookies.set('localhost:8080', new Map([['svc_main', user.secret]]));
  idp.user = aSomebody();
  const end = await browser.open(startUrl('sessions', 'corp'), { Referer: `${app}/` });
  assert.equal(endOf(end).page, `${app}/done`);
  const session = browser.cookie('svc_main') ?? '';
  assert.equal((await accountOf(session)).$id, user.id);
  assertFailed((await come(idp.user)).end, 401, 'user_more_factors_required');
});

test('a session that ends while its user is at the provider adds no identity', async () => {
  const user = await aLoggedInUser(target);
  const browser = createBrowser(target);
  browser.cookies.set('localhost:8080', new Map([['svc_main', user.secret]]));
  idp.user = aSomebody();
  const { location } = await browser.step(startUrl('sessions', 'corp'), { headers: { Referer: `${app}/` } });
  (await user.client.delete('/account/sessions/current')).expect(204);
  assertFailed(await browser.open(location ?? ''), 401, 'general_unauthorized_scope');
  assert.ok(!(await rowsOf(target, 'identities')).some((row) => row.user_id === user.id));
});

test('first logins of one person at once make one account', async () => {
  for (const email_verified of [true, false]) {
    const someone = aSomebody({ email_verified });
    idp.user = someone;
    const logins = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const browser = createBrowser(target);
        const end = await browser.open(startUrl('sessions', 'corp'));
        return { end, session: browser.cookie('svc_main') };
      }),
    );
    const ids = new Set<unknown>();
    for (const { session } of logins) if (session !== undefined) ids.add((await accountOf(session)).$id);
    assert.equal(ids.size, 1);
    const own = (await rowsOf(target, 'identities')).filter((row) => row.provider_uid === someone.sub);
    assert.equal(own.length, 1);
    assert.equal((await rowsOf(target, 'users')).filter((row) => row.email === someone.email).length, 1);
  }
});

test('an account that has only an identity sets no password without a fresh login', async () => {
  const { email: _, ...nobody } = aSomebody();
  const client = createClient(target, { session: (await come(nobody)).session });
  target.clock.advance(21 * 60_000);
  const { email, password } = aPerson();
  (await client.patch('/account/email', { email, password })).refused(401, 'user_challenge_required');
});

test('a stranger who has claimed the address by an identity gets no access to the account of its owner', async () => {
  const person = aPerson();
  await come(aSomebody({ email: person.email, email_verified: false }));
  (await guest.post('/account', signUpBody(person))).refused(409, 'user_already_exists');
});

test('removing a provider invalidates its ids: another one under the key knows no users', async () => {
  const { runtime, features } = target.appliance;
  const by = { projectId: 'main', actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  const update = (config: object) =>
    runtime.db.work(by, (unit) => features.providers.update(unit, target.project, 'corp', { config: { ...config } }));
  await assert.rejects(update({ issuer: 'https://other.example' }), { type: 'general_argument_invalid' });
  await runtime.db.work(by, (unit) => features.providers.remove(unit, target.project, 'corp'));
  assert.deepEqual(await rowsOf(target, 'identities'), []);
  assert.ok((await rowsOf(target, 'users')).length > 10);
  const names = (await rowsOf(target, 'audit_entries')).map((row) => row.action);
  for (const name of ['providerCreated', 'providerDeleted', 'identityLinked', 'loginFailed', 'loginPending'])
    assert.ok(names.includes(name), name);
});
