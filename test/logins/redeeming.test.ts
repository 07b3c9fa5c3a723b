// Redeeming: five tries, one use, and only by the purpose, the project and the request that the secret was made for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOneTimeSecrets } from '#src/features/identity/one-time-secrets/index.js';
import { aServerKey, aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { recordedBy, rowsOf } from '../harness/database.js';
import { aContact, ask, askAndRead, redeemPath, secretFor, sentLogins, withSms, wrongSecret } from './setup.js';

const target = await startAppliance({ settings: withSms });
const guest = createClient(target);
const token = 'user_invalid_token';
const failed = { audit: ['loginFailed'], events: [], messages: [] };
const [magicLink, emailCode, phoneCode] = sentLogins;
assert.ok(magicLink && emailCode && phoneCode);

const triesLeft = async (contact: string) =>
  (await rowsOf(target, 'one_time_secrets', target.project.id)).find(({ recipient }) => recipient === contact)
    ?.tries_left;

for (const way of [emailCode, phoneCode]) {
  test(`${way.name}: after four wrong guesses the right one counts, after five it does not`, async () => {
    for (const wrong of [4, 5]) {
      const contact = aContact(way.channel);
      const { userId, secret } = await askAndRead(target, way, contact);
      for (let guess = 1; guess <= wrong; guess++) {
        const { value, recorded } = await recordedBy(target, () =>
          guest.post(redeemPath, { userId, secret: wrongSecret(secret) }),
        );
        value.refused(401, token);
        assert.deepEqual(recorded, failed);
        assert.equal(await triesLeft(contact), 5 - guess);
      }
      const answer = await guest.post(redeemPath, { userId, secret });
      if (wrong === 4) answer.expect(201);
      else answer.refused(401, token);
    }
  });
}

for (const way of [emailCode, phoneCode]) {
  test(`${way.name}: guesses under the id of the user leave two tries of a code that was handed out under another id`, async () => {
    const contact = aContact(way.channel);
    const { userId } = (await guest.post(redeemPath, await askAndRead(target, way, contact))).expect(201).body;
    const given = await askAndRead(target, way, contact, { userId });
    assert.notEqual(given.userId, userId);
    const wrong = wrongSecret(given.secret);
    for (let guess = 0; guess < 6; guess++)
      (await guest.post(redeemPath, { userId, secret: wrong })).refused(401, token);
    // Nor does the right one count under it: it would be a further try.
    (await guest.post(redeemPath, { userId, secret: given.secret })).refused(401, token);
    assert.equal(await triesLeft(contact), 2);
    (await guest.post(redeemPath, { ...given, secret: wrong })).refused(401, token);
    (await guest.post(redeemPath, given)).expect(201);
  });

  test(`${way.name}: there are five guesses under both ids together`, async () => {
    const contact = aContact(way.channel);
    const { userId } = (await guest.post(redeemPath, await askAndRead(target, way, contact))).expect(201).body;
    const given = await askAndRead(target, way, contact, { userId });
    const secret = wrongSecret(given.secret);
    for (const id of [userId, userId, userId, given.userId, given.userId])
      (await guest.post(redeemPath, { userId: id, secret })).refused(401, token);
    for (const id of [userId, given.userId])
      (await guest.post(redeemPath, { userId: id, secret: given.secret })).refused(401, token);
  });

  test(`${way.name}: a code that a server key asked for is good for the id of the user, with five tries`, async () => {
    const contact = aContact(way.channel);
    const { userId } = (await guest.post(redeemPath, await askAndRead(target, way, contact))).expect(201).body;
    const { client: key } = await aServerKey(target);
    for (const wrong of [4, 5]) {
      const asked = (await ask(key, way, contact)).expect(201);
      assert.equal(asked.body.userId, userId);
      const secret = asked.string('secret');
      for (let guess = 0; guess < wrong; guess++)
        (await guest.post(redeemPath, { userId, secret: wrongSecret(secret) })).refused(401, token);
      const answer = await guest.post(redeemPath, { userId, secret });
      if (wrong === 4) answer.expect(201);
      else answer.refused(401, token);
    }
  });
}

for (const way of sentLogins)
  test(`${way.name}: what went to a contact before somebody had it ends with that user`, async () => {
    const contact = aContact(way.channel);
    const given = await askAndRead(target, way, contact);
    const { client: key } = await aServerKey(target);
    const user = (await key.post('/users', { userId: 'unique()', [way.channel]: contact })).expect(201).body;
    (await key.delete(`/users/${user.$id}`)).expect(204);
    (await guest.post(redeemPath, given)).refused(401, token);
  });

test('a link is good under the id of the user too', async () => {
  const contact = aContact('email');
  const { userId } = (await guest.post(redeemPath, await askAndRead(target, magicLink, contact))).expect(201).body;
  const { secret } = await askAndRead(target, magicLink, contact);
  (await guest.post(redeemPath, { userId, secret })).expect(201);
});

for (const way of sentLogins) {
  test(`${way.name}: it is good until the last second of its life`, async () => {
    const [inTime, late] = [await askAndRead(target, way, aContact(way.channel)), aContact(way.channel)];
    target.clock.advance((way.life - 30) * 1000);
    (await guest.post(redeemPath, inTime)).expect(201);
    const expired = await askAndRead(target, way, late);
    target.clock.advance(way.life * 1000 + 1);
    (await guest.post(redeemPath, expired)).refused(401, token);
  });

  test(`${way.name}: a new request voids the one before it`, async () => {
    const contact = aContact(way.channel);
    const first = await askAndRead(target, way, contact, { userId: `same-${way.purpose}` });
    let second = await askAndRead(target, way, contact, { userId: `same-${way.purpose}` });
    while (second.secret === first.secret)
      second = await askAndRead(target, way, contact, { userId: `same-${way.purpose}` });
    (await guest.post(redeemPath, first)).refused(401, token);
    (await guest.post(redeemPath, second)).expect(201);
  });

  test(`${way.name}: it is good for the id of its request only, and in its project only`, async () => {
    const contact = aContact(way.channel);
    const given = await askAndRead(target, way, contact);
    (await guest.post(redeemPath, { ...given, userId: 'another-id' })).refused(401, token);
    const abroad = createClient(target, { project: target.neighbour.id });
    (await abroad.post(redeemPath, given)).refused(401, token);
    const answer = (await ask(abroad, way, contact, { userId: given.userId })).expect(201);
    const foreign = await secretFor(target, contact, target.neighbour);
    if (foreign !== given.secret)
      (await guest.post(redeemPath, { userId: answer.string('userId'), secret: foreign })).refused(401, token);
    (await guest.post(redeemPath, given)).expect(201);
  });

  for (const [path, purpose] of [
    ['/account/sessions/magic-url', 'magic-link'],
    ['/account/sessions/phone', 'phone-code'],
  ] as const) {
    const fits = way.purpose === purpose;
    test(`${way.name}: PUT ${path} ${fits ? 'takes' : 'refuses'} it, and refusing costs no try`, async () => {
      const contact = aContact(way.channel);
      const given = await askAndRead(target, way, contact);
      const before = await triesLeft(contact);
      const answer = await guest.put(path, given);
      if (fits) return void answer.expect(201);
      answer.refused(401, token);
      assert.equal(await triesLeft(contact), before);
      (await guest.post(redeemPath, given)).expect(201);
    });
  }
}

test('a code for a link of the same id is refused, and the other way round', async () => {
  const contact = aContact('email');
  const link = await askAndRead(target, magicLink, contact, { userId: 'both' });
  const code = await askAndRead(target, emailCode, contact, { userId: 'both' });
  (await guest.put('/account/sessions/magic-url', code)).refused(401, token);
  (await guest.put('/account/sessions/phone', code)).refused(401, token);
  (await guest.post(redeemPath, code)).expect(201);
  (await guest.post(redeemPath, link)).expect(201);
});

const purposes = [
  ...['email-verification', 'phone-verification', 'recovery', 'email-challenge', 'phone-challenge', 'server-token'],
] as const;
for (const purpose of purposes) {
  test(`a ${purpose} secret ${purpose === 'server-token' ? 'logs in' : 'does not log in'}`, async () => {
    const { runtime } = target.appliance;
    const secrets = createOneTimeSecrets(runtime);
    const { id: userId, email } = await aUser(target);
    const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
    const { secret } = await runtime.db.work(by, (unit) =>
      secrets.issue(unit, target.project, {
        ...{ purpose, subject: userId, userId, lifeSeconds: 600 },
        ...(purpose === 'server-token' ? { recipient: '', form: { length: 6 } } : { recipient: email, form: 'code' }),
      }),
    );
    const { value, recorded } = await recordedBy(target, () => guest.post(redeemPath, { userId, secret }));
    if (purpose !== 'server-token') {
      value.refused(401, token);
      return assert.deepEqual(recorded, failed);
    }
    const { provider, providerUid, factors } = value.expect(201).body;
    assert.deepEqual({ provider, providerUid, factors }, { provider: 'token', providerUid: '', factors: ['token'] });
    assert.deepEqual(recorded, { audit: ['sessionCreated'], events: ['sessionCreated'], messages: [] });
  });
}

test('a failed try records the method, the user if there is one, and no secret', async () => {
  const user = await aUser(target);
  for (const [path, put, method] of [
    [redeemPath, false, 'token'],
    ['/account/sessions/magic-url', true, 'magic-url'],
    ['/account/sessions/phone', true, 'phone'],
  ] as const) {
    for (const [userId, resource] of [
      [user.id, `users/${user.id}`],
      ['nobody-at-all', 'users'],
    ]) {
      const answer = await (put ? guest.put : guest.post)(path, { userId, secret: 'unmistakable-secret' });
      answer.refused(401, token);
      const entries = await rowsOf(target, 'audit_entries', target.project.id);
      const entry = entries.find(({ request_id }) => request_id === answer.headers.get('X-Request-Id'));
      const data = JSON.parse(String(entry?.data));
      assert.deepEqual([entry?.resource, data.method, data.reason], [resource, method, 'wrong, used or expired']);
      assert.doesNotMatch(JSON.stringify(entry), /unmistakable-secret/);
    }
  }
});

test('a malformed secret is refused without asking the database', async () => {
  for (const body of [
    {},
    { userId: 'x' },
    { secret: '123456' },
    { userId: 'x', secret: '' },
    { userId: 'x', secret: 123456 },
    { userId: 'x', secret: 'x'.repeat(257) },
    { userId: { $ne: '' }, secret: { $ne: '' } },
    { userId: 'x', secret: '123456', otp: 7 },
  ]) {
    const { value, recorded } = await recordedBy(target, () => guest.post(redeemPath, body));
    value.refused(400, 'general_argument_invalid');
    assert.deepEqual(recorded, { audit: [], events: [], messages: [] });
  }
});

test('a link and a code for one unknown address, redeemed at once, make one user', async () => {
  for (let round = 0; round < 5; round++) {
    const contact = aContact('email');
    const link = await askAndRead(target, magicLink, contact);
    const code = await askAndRead(target, emailCode, contact);
    const answers = await Promise.all([link, code].map((given) => guest.post(redeemPath, given)));
    const [first, second] = answers.map((answer) => answer.expect(201).string('userId'));
    assert.equal(first, second);
    assert.equal((await rowsOf(target, 'users')).filter(({ email }) => email === contact).length, 1);
  }
});
