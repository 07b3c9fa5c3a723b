// What server keys see and change of the second factors of users, and the tokens and logs they ask for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy } from '../harness/database.js';
import { aGuardedUser, aPendingClient } from '../second-factor/people.js';
import { aManagedUser, managed } from './setup.js';

const place = await managed();
const { target, key } = place;
const second = await target.startSibling();

test('factors are listed, and an app that a key takes away is gone at once', async () => {
  const user = await aGuardedUser(target);
  const factors = (await key.get(`/users/${user.id}/mfa/factors`)).expect(200).body;
  assert.deepEqual(factors, { totp: true, phone: false, email: false, recoveryCode: true });
  const pending = await aPendingClient(target, user);
  const removal = await recordedBy(target, () => key.delete(`/users/${user.id}/mfa/authenticators/totp`));
  removal.value.expect(204);
  assert.deepEqual(removal.recorded, { audit: ['factorRemoved'], events: [], messages: ['factor-removed'] });
  (await pending.get('/account/mfa/factors')).refused(401, 'general_unauthorized_scope');
  const { email, password } = user;
  (await createClient(second).post('/account/sessions/email', { email, password })).expect(201);
  (await key.delete(`/users/${user.id}/mfa/authenticators/totp`)).refused(404, 'user_authenticator_not_found');
});

test('recovery codes: counted, made, replaced', async () => {
  const user = await aGuardedUser(target);
  const path = `/users/${user.id}/mfa/recovery-codes`;
  assert.equal((await key.get(path)).expect(200).list('recoveryCodes').length, 10);
  (await key.patch(path)).refused(409, 'user_recovery_codes_already_exists');
  const codes = (await key.put(path)).expect(200).body.recoveryCodes as string[];
  const login = (otp: string | undefined) =>
    createClient(second).post('/account/sessions/email', { email: user.email, password: user.password, otp });
  (await login(user.recoveryCodes[0])).refused(401, 'user_invalid_token');
  (await login(codes[0])).expect(201);
  assert.equal((await key.get(path)).body.recoveryCodes?.toString().split(',').length, 9);

  const { id } = await aManagedUser(place);
  for (const method of ['GET', 'PUT'])
    (await key.request(method, `/users/${id}/mfa/recovery-codes`)).refused(404, 'user_recovery_codes_not_found');
  assert.equal((await key.patch(`/users/${id}/mfa/recovery-codes`)).expect(200).list('recoveryCodes').length, 10);
});

test('the second factor that a key turns on or off is on or off for the next login', async () => {
  const user = await aGuardedUser(target);
  const credentials = { email: user.email, password: user.password };
  (await key.patch(`/users/${user.id}/mfa`, { mfa: false })).expect(200);
  (await createClient(second).post('/account/sessions/email', credentials)).expect(201);
  (await key.patch(`/users/${user.id}/mfa`, { mfa: true })).expect(200);
  (await createClient(second).post('/account/sessions/email', credentials)).refused(401, 'user_more_factors_required');
});

test('a JWT belongs to the newest session unless another is named, and ends with it; without sessions it ends with the password', async () => {
  const { id } = await aManagedUser(place);
  const jwt = async (body: object) => (await key.post(`/users/${id}/jwts`, body)).expect(201).string('jwt');
  const caller = (token: string) => createClient(second, { jwt: token }).get('/account');

  (await key.post(`/users/${id}/jwts`, { sessionId: 'recent' })).refused(404, 'user_session_not_found');
  const free = await jwt({});
  assert.equal((await caller(free)).expect(200).body.$id, id);
  const session = (await key.post(`/users/${id}/sessions`)).expect(201).string('$id');
  const bound = [
    await jwt({}),
    await jwt({ sessionId: 'recent' }),
    await jwt({ sessionId: session, alg: 'RS256', duration: 60 }),
  ];
  for (const token of bound) assert.equal((await caller(token)).expect(200).body.$id, id);
  (await key.delete(`/users/${id}/sessions/${session}`)).expect(204);
  for (const token of bound) (await caller(token)).refused(401, 'user_jwt_invalid');
  (await caller(free)).expect(200);
  (await key.patch(`/users/${id}/password`, { password: 'a finer password' })).expect(200);
  (await caller(free)).refused(401, 'user_jwt_invalid');
  (await key.patch(`/users/${id}/status`, { status: false })).expect(200);
  (await key.post(`/users/${id}/jwts`, {})).refused(403, 'user_blocked');
});

test('the log of a user says what keys did to it', async () => {
  const { id } = await aManagedUser(place);
  (await key.put(`/users/${id}/labels`, { labels: ['vip'] })).expect(200);
  const { value, recorded } = await recordedBy(target, () => key.get(`/users/${id}/logs`));
  assert.deepEqual(recorded, nothing);
  const logs = value.expect(200).list('logs');
  assert.deepEqual(
    logs.map(({ event, userType, userId }) => [event, userType, userId]),
    [
      ['accountLabelsChanged', 'key', id],
      ['accountCreated', 'key', id],
    ],
  );
  assert.equal(value.body.total, 2);
  const page = `queries[]=${encodeURIComponent('{"method":"limit","values":[1]}')}&total=false`;
  const first = (await key.get(`/users/${id}/logs?${page}`)).expect(200);
  assert.deepEqual([first.list('logs').length, first.body.total], [1, 0]);
});

test('factors of an unknown user reveal nothing', async () => {
  const calls = [
    ['GET', '/mfa/factors'],
    ['DELETE', '/mfa/authenticators/totp'],
    ['GET', '/mfa/recovery-codes'],
    ['PATCH', '/mfa/recovery-codes'],
    ['PUT', '/mfa/recovery-codes'],
    ['POST', '/jwts'],
    ['GET', '/logs'],
  ] as const;
  for (const [method, path] of calls) {
    const body = method === 'GET' ? undefined : {};
    (await key.request(method, `/users/nobody${path}`, body)).refused(404, 'user_not_found');
    (await createClient(target).request(method, `/users/nobody${path}`, body)).refused(
      401,
      'general_unauthorized_scope',
    );
  }
});
