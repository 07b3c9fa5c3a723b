// What server keys change: each change with what it records and ends, each mistake with its error.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey } from '../harness/actors.js';
import { type Client, createClient } from '../harness/client.js';
import { nothing, recordedBy } from '../harness/database.js';
import { messagesTo } from '../harness/messages.js';
import { aManagedUser, managed, tryLogin } from './setup.js';

const place = await managed();
const { target, key } = place;

// All of it before the first test: tests begin as soon as one is there.
const { id: someone } = await aManagedUser(place, { userId: 'someone', phone: '+14155550111' });
await aManagedUser(place, { userId: 'other', email: 'other@mail.example', phone: '+14155550112' });
const bare = await aManagedUser(place, { userId: 'bare', email: undefined, password: undefined });
const at = (id: string) => `/users/${id}`;
const devices = Array.from({ length: 24 }, (_, n) => ({
  targetId: `t${n}`,
  providerType: 'push',
  identifier: `i${n}`,
}));
await aManagedUser(place, { userId: 'full' });
for (const one of devices) (await key.post(`${at('full')}/targets`, one)).expect(201);

type Step = readonly [method: 'PUT' | 'PATCH' | 'DELETE' | 'POST', path: string, body?: unknown];
type Scenario = readonly [name: string, step: Step, audit: string[], events?: string[], messages?: string[]];

const ended = ['sessionDeleted', 'sessionDeleted'];
const scenarios: Scenario[] = [
  ['a name', ['PATCH', '/name', { name: 'New' }], ['accountNameChanged']],
  ['an address', ['PATCH', '/email', { email: 'to@mail.example' }], ['accountEmailChanged'], [], ['email-changed']],
  ['no address', ['PATCH', '/email', { email: '' }], ['accountEmailChanged'], [], ['email-changed']],
  ['a number', ['PATCH', '/phone', { number: '+14155550102' }], ['accountPhoneChanged'], [], ['phone-changed']],
  ['no number', ['PATCH', '/phone', { number: '' }], ['accountPhoneChanged'], [], ['phone-changed']],
  [
    'a password',
    ['PATCH', '/password', { password: 'a finer password' }],
    ['accountPasswordChanged', ...ended],
    ended,
    ['password-changed'],
  ],
  [
    'no password',
    ['PATCH', '/password', { password: '' }],
    ['accountPasswordChanged', ...ended],
    ended,
    ['password-changed'],
  ],
  ['labels', ['PUT', '/labels', { labels: ['vip'] }], ['accountLabelsChanged']],
  ['a block', ['PATCH', '/status', { status: false }], ['accountBlocked', ...ended], ended],
  ['a block that is none', ['PATCH', '/status', { status: true }], []],
  ['a verified address', ['PATCH', '/verification', { emailVerification: true }], ['accountEmailVerified']],
  ['an address as it was', ['PATCH', '/verification', { emailVerification: false }], []],
  ['a verified number', ['PATCH', '/verification/phone', { phoneVerification: true }], ['accountPhoneVerified']],
  ['preferences', ['PATCH', '/prefs', { prefs: { a: 1 } }], ['accountPrefsChanged']],
  ['the second factor', ['PATCH', '/mfa', { mfa: true }], ['mfaEnabled']],
  ['a session', ['POST', '/sessions'], ['sessionCreated'], ['sessionCreated']],
  ['the end of all sessions', ['DELETE', '/sessions'], ended, ended],
  ['a token', ['POST', '/tokens', {}], ['accountTokenCreated']],
  [
    'a target',
    ['POST', '/targets', { targetId: 'device', providerType: 'push', identifier: 'token' }],
    ['targetCreated'],
  ],
  ['the end of the user', ['DELETE', ''], ['accountDeleted', ...ended], ended],
];
for (const [name, [method, path, body], audit, events = [], messages = []] of scenarios) {
  test(`${name}: ${[...audit, ...messages].join(', ') || 'nothing'}`, async () => {
    const { id, email, password } = await aManagedUser(place, { phone: '+14155550101' });
    for (let i = 0; i < 2; i++) (await tryLogin(place, email, password)).expect(201);
    const { value, recorded } = await recordedBy(target, () => key.request(method, `/users/${id}${path}`, body));
    assert.ok(value.status < 300, value.text);
    assert.deepEqual(recorded, { audit: audit.toSorted(), events, messages });
    if (messages.length > 0)
      assert.deepEqual(
        (await messagesTo(target, email)).map((one) => one.template),
        messages,
      );
    if (path !== '') (await key.delete(`/users/${id}`)).expect(204);
  });
}

test('a verification can be taken back, and a changed address has to be verified again', async () => {
  const { id } = await aManagedUser(place);
  const verify = (emailVerification: boolean) => key.patch(`/users/${id}/verification`, { emailVerification });
  (await verify(true)).expect(200);
  const { value, recorded } = await recordedBy(target, () => verify(false));
  assert.equal(value.expect(200).body.emailVerification, false);
  assert.deepEqual(recorded, { ...nothing, audit: ['accountEmailUnverified'] });
  (await verify(true)).expect(200);
  const changed = (await key.patch(`/users/${id}/email`, { email: 'elsewhere@mail.example' })).expect(200);
  assert.equal(changed.body.emailVerification, false);
});

test('a user without a password cannot log in by one, and one without an address keeps its sessions', async () => {
  const { id, email, password } = await aManagedUser(place);
  const session = (await tryLogin(place, email, password)).expect(201).string('secret');
  (await key.patch(`/users/${id}/email`, { email: '' })).expect(200);
  const account = (await createClient(target, { session }).get('/account')).expect(200);
  assert.deepEqual([account.body.email, account.body.targets], ['', []]);
  (await tryLogin(place, email, password)).refused(401, 'user_invalid_credentials');
  (await key.patch(`/users/${id}/email`, { email })).expect(200);
  (await key.patch(`/users/${id}/password`, { password: '' })).expect(200);
  (await tryLogin(place, email, password)).refused(401, 'user_invalid_credentials');
  assert.equal((await key.get(`/users/${id}`)).string('password'), '');
});

test('another address replaces its own target and leaves those that a key added', async () => {
  const { id } = await aManagedUser(place);
  const second = { targetId: 'second', providerType: 'email', identifier: 'second@mail.example' };
  (await key.post(`/users/${id}/targets`, second)).expect(201);
  (await key.patch(`/users/${id}/email`, { email: 'third@mail.example' })).expect(200);
  const { body } = (await key.get(`/users/${id}/targets`)).expect(200);
  assert.deepEqual(
    (body.targets as { identifier: string }[]).map(({ identifier }) => identifier),
    ['second@mail.example', 'third@mail.example'],
  );
});

test('an address or a number that is a target already is listed once', async () => {
  const { id } = await aManagedUser(place, { phone: '+14155550121' });
  const [email, number] = ['extra@mail.example', '+14155550122'];
  for (const [providerType, identifier] of [
    ['email', email],
    ['sms', number],
  ])
    (await key.post(`/users/${id}/targets`, { targetId: providerType, providerType, identifier })).expect(201);
  (await key.patch(`/users/${id}/email`, { email })).expect(200);
  (await key.patch(`/users/${id}/phone`, { number })).expect(200);
  const { targets } = (await key.get(`/users/${id}/targets`)).expect(200).body;
  assert.deepEqual(
    (targets as { identifier: string }[]).map(({ identifier }) => identifier),
    [email, number],
  );
});

const argument = 'general_argument_invalid';
const mistakes: [
  status: number,
  type: Parameters<Awaited<ReturnType<Client['get']>>['refused']>[1],
  Step | ['GET', string],
][] = [
  [404, 'user_not_found', ['GET', at('nobody')]],
  [404, 'user_not_found', ['DELETE', at('nobody')]],
  [404, 'user_not_found', ['PATCH', `${at('nobody')}/name`, { name: 'x' }]],
  [404, 'user_not_found', ['PATCH', `${at('nobody')}/password`, { password: 'a fine password' }]],
  [404, 'user_not_found', ['PATCH', `${at('nobody')}/impersonator`, { impersonator: true }]],
  [404, 'user_not_found', ['GET', `${at('nobody')}/sessions`]],
  [404, 'user_not_found', ['POST', `${at('nobody')}/sessions`]],
  [404, 'user_not_found', ['POST', `${at('nobody')}/tokens`, {}]],
  [404, 'user_not_found', ['GET', `${at('nobody')}/targets`]],
  [404, 'user_session_not_found', ['DELETE', `${at(someone)}/sessions/nothing`]],
  [404, 'user_session_not_found', ['DELETE', `${at(someone)}/sessions/current`]],
  [404, 'user_target_not_found', ['GET', `${at(someone)}/targets/nothing`]],
  [404, 'user_target_not_found', ['PATCH', `${at(someone)}/targets/nothing`, {}]],
  [404, 'user_target_not_found', ['DELETE', `${at(someone)}/targets/nothing`]],
  [404, 'user_identity_not_found', ['DELETE', '/users/identities/nothing']],
  [400, 'general_feature_unsupported', ['PATCH', `${at(someone)}/impersonator`, { impersonator: true }]],
  [400, argument, ['GET', at('%00')]],
  [400, argument, ['POST', '/users', {}]],
  [400, argument, ['POST', '/users', { userId: 'x y' }]],
  [400, argument, ['POST', '/users', { userId: 'unique()', email: 'nobody' }]],
  [400, argument, ['POST', '/users', { userId: 'unique()', phone: '0123' }]],
  [400, argument, ['POST', '/users', { userId: 'unique()', name: 'x'.repeat(129) }]],
  [400, 'password_policy_violation', ['POST', '/users', { userId: 'unique()', password: 'short' }]],
  [409, 'user_already_exists', ['POST', '/users', { userId: 'other' }]],
  [409, 'user_already_exists', ['POST', '/users', { userId: 'unique()', email: 'OTHER@mail.example' }]],
  [409, 'user_already_exists', ['POST', '/users', { userId: 'unique()', phone: '+14155550112' }]],
  [409, 'user_email_already_exists', ['PATCH', `${at(someone)}/email`, { email: 'other@mail.example' }]],
  [409, 'user_phone_already_exists', ['PATCH', `${at(someone)}/phone`, { number: '+14155550112' }]],
  [400, argument, ['PATCH', `${at(someone)}/email`, { email: null }]],
  [400, argument, ['PATCH', `${at(someone)}/phone`, {}]],
  [400, argument, ['PATCH', `${at(someone)}/name`, { name: 1 }]],
  [400, 'password_policy_violation', ['PATCH', `${at(someone)}/password`, { password: 'password' }]],
  [400, argument, ['PATCH', `${at(someone)}/password`, { password: 'x'.repeat(257) }]],
  [400, argument, ['PUT', `${at(someone)}/labels`, { labels: ['with space'] }]],
  [400, argument, ['PUT', `${at(someone)}/labels`, { labels: ['x'.repeat(37)] }]],
  [400, argument, ['PUT', `${at(someone)}/labels`, { labels: Array.from({ length: 1001 }, (_, n) => `l${n}`) }]],
  [400, argument, ['PUT', `${at(someone)}/labels`, { labels: 'vip' }]],
  [400, argument, ['PATCH', `${at(someone)}/status`, { status: 'no' }]],
  [400, 'user_email_not_found', ['PATCH', `${at(bare.id)}/verification`, { emailVerification: true }]],
  [400, 'user_phone_not_found', ['PATCH', `${at(bare.id)}/verification/phone`, { phoneVerification: true }]],
  [400, argument, ['PATCH', `${at(someone)}/prefs`, { prefs: ['a'] }]],
  [400, argument, ['PATCH', `${at(someone)}/prefs`, { prefs: { a: 'x'.repeat(65_536) } }]],
  [400, argument, ['POST', `${at(someone)}/tokens`, { length: 3 }]],
  [400, argument, ['POST', `${at(someone)}/tokens`, { length: 129 }]],
  [400, argument, ['POST', `${at(someone)}/tokens`, { expire: 59 }]],
  [400, argument, ['POST', `${at(someone)}/tokens`, { expire: 31_536_001 }]],
  [400, argument, ['POST', `${at(someone)}/targets`, { targetId: 'a', providerType: 'fax', identifier: 'x' }]],
  [400, argument, ['POST', `${at(someone)}/targets`, { targetId: 'a', providerType: 'email', identifier: 'x' }]],
  [400, argument, ['POST', `${at(someone)}/targets`, { targetId: 'a', providerType: 'sms', identifier: 'x' }]],
  [
    409,
    'user_target_already_exists',
    ['POST', `${at(someone)}/targets`, { targetId: 'a', providerType: 'sms', identifier: '+14155550111' }],
  ],
  [
    400,
    argument,
    ['POST', `${at('full')}/targets`, { targetId: 'one-more', providerType: 'push', identifier: 'one more' }],
  ],
  [400, argument, ['GET', `${at(someone)}/targets?queries[]=x`]],
  [
    400,
    'general_cursor_not_found',
    ['GET', `${at(someone)}/targets?queries[]={"method":"cursorAfter","values":["x"]}`],
  ],
];
for (const [status, type, [method, path, body]] of mistakes) {
  test(`${method} ${path.slice(0, 60)} ${JSON.stringify(body)?.slice(0, 60) ?? ''}: ${status} ${type}`, async () => {
    const { value, recorded } = await recordedBy(target, () => key.request(method, path, body));
    value.refused(status, type);
    assert.deepEqual(recorded, nothing);
  });
}

test('each call requires its scopes and a server key', async () => {
  const unauthorised = 'general_unauthorized_scope';
  const reader = (await aServerKey(target, { scopes: ['users.read'] })).client;
  const writer = (await aServerKey(target, { scopes: ['users.write'] })).client;
  const sessions = (await aServerKey(target, { scopes: ['sessions.read', 'sessions.write'] })).client;
  (await reader.get('/users')).expect(200);
  for (const client of [writer, sessions, createClient(target)])
    (await client.get('/users')).refused(401, unauthorised);
  (await writer.patch(`${at(someone)}/name`, { name: 'x' })).expect(200);
  (await reader.patch(`${at(someone)}/name`, { name: 'x' })).refused(401, unauthorised);
  for (const client of [reader, writer, sessions]) {
    (await client.get(`${at(someone)}/sessions`)).refused(401, unauthorised);
    (await client.post(`${at(someone)}/sessions`)).refused(401, unauthorised);
  }
});

test('users of another project are not there', async () => {
  const { client } = await aServerKey(target, { projectId: target.neighbour.id });
  for (const path of ['', '/prefs', '/sessions', '/targets']) {
    (await client.get(at(someone) + path)).refused(404, 'user_not_found');
  }
  (await client.patch(`${at(someone)}/status`, { status: false })).refused(404, 'user_not_found');
  (await client.delete(at(someone))).refused(404, 'user_not_found');
  (await client.post('/users', { userId: someone, email: 'other@mail.example' })).expect(201);
});
