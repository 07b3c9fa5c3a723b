// Login by a link, a code by mail and a code by SMS: what each leaves behind, and what it does not tell.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aPerson, aServerKey, aUser, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { recordedBy, rowsOf, runSql } from '../harness/database.js';
import { lastMessageTo, messagesTo } from '../harness/messages.js';
import { asOperator } from '../harness/project.js';
import { vouchFor } from '../proofs/proofs.js';
import { aContact, ask, askAndRead, redeemPath, type SentLogin, secretFor, sentLogins, withSms } from './setup.js';

const target = await startAppliance({ settings: withSms });
const guest = createClient(target);
const token = 'user_invalid_token';

/** A user of the address or number, with an id of its own. */
async function owner(way: SentLogin, contact: string): Promise<string> {
  const { id } = await aUser(target, way.channel === 'email' ? { email: contact } : {});
  if (way.channel === 'phone') await runSql(target, 'update users set phone = ? where id = ?', [contact, id]);
  // Set by the application: what a first proof does to a stranger's claim is tested with claims.
  await vouchFor(target, id);
  return id;
}
const userRow = async (id: string) => (await rowsOf(target, 'users', target.project.id)).find((row) => row.id === id);
const verified = (way: SentLogin) => (way.channel === 'email' ? 'accountEmailVerified' : 'accountPhoneVerified');

for (const way of sentLogins) {
  test(`${way.name}: a request leaves a message and nothing else, and the answer is a Token without the secret`, async () => {
    const contact = aContact(way.channel);
    const { value, recorded } = await recordedBy(target, () => ask(guest, way, contact));
    const { $id, $createdAt, userId, expire, ...rest } = value.expect(201).body;
    assert.deepEqual(rest, { secret: '', phrase: '' });
    assert.match(String($id), /^[0-9a-f]{20}$/);
    assert.match(String(userId), /^[0-9a-f]{20}$/);
    assert.equal(Date.parse(String(expire)) - Date.parse(String($createdAt)), way.life * 1000);
    assert.deepEqual(recorded, { audit: [], events: [], messages: [way.template] });
    const message = await lastMessageTo(target, contact);
    assert.deepEqual([message.userId, message.locals.project, message.locals.name], [null, target.project.name, '']);
    const secret = await secretFor(target, contact);
    assert.match(secret, way.name === 'magic link' ? /^[A-Za-z0-9_-]{43}$/ : /^\d{6}$/);
    assert.ok(!JSON.stringify(await rowsOf(target, 'one_time_secrets')).includes(secret));
  });

  test(`${way.name}: a stranger who redeems it gets an account of the id that was answered`, async () => {
    const contact = aContact(way.channel);
    const given = await askAndRead(target, way, contact, { userId: `chosen-${way.purpose}` });
    assert.equal(given.userId, `chosen-${way.purpose}`);
    assert.equal(await userRow(given.userId), undefined);
    const { value, recorded } = await recordedBy(target, () => guest.post(redeemPath, given));
    const { userId, provider, providerUid, factors } = value.expect(201).body;
    assert.deepEqual(
      { userId, provider, providerUid, factors },
      { userId: given.userId, provider: way.provider, providerUid: contact, factors: [way.channel] },
    );
    const audit = ['accountCreated', verified(way), 'sessionCreated'].sort();
    assert.deepEqual(recorded, { audit, events: ['sessionCreated'], messages: [] });
    const account = (await createClient(target, { session: value.string('secret') }).get('/account')).expect(200).body;
    assert.deepEqual(
      [account.$id, account[way.channel], account.emailVerification, account.phoneVerification, account.passwordUpdate],
      [given.userId, contact, way.channel === 'email', way.channel === 'phone', ''],
    );
    (await guest.post(redeemPath, given)).refused(401, token);
  });

  test(`${way.name}: a known user is found, by either id, and only the first time newly verified`, async () => {
    const contact = aContact(way.channel);
    const id = await owner(way, contact);
    const first = await askAndRead(target, way, contact);
    assert.notEqual(first.userId, id);
    const { value, recorded } = await recordedBy(target, () => guest.post(redeemPath, first));
    assert.equal(value.expect(201).string('userId'), id);
    assert.deepEqual(recorded.audit, [verified(way), 'sessionCreated'].sort());
    const second = await askAndRead(target, way, contact);
    const again = await recordedBy(target, () => guest.post(redeemPath, { ...second, userId: id }));
    assert.equal(again.value.expect(201).string('userId'), id);
    assert.deepEqual(again.recorded, { audit: ['sessionCreated'], events: ['sessionCreated'], messages: [] });
  });

  test(`${way.name}: known, unknown and blocked are answered alike`, async () => {
    const contacts = [aContact(way.channel), aContact(way.channel), aContact(way.channel)] as const;
    const [known, , blocked] = [await owner(way, contacts[0]), contacts[1], await owner(way, contacts[2])];
    await asOperator(target, blocked, 'block');
    const answers = [];
    for (const contact of contacts) {
      const { value, recorded } = await recordedBy(target, () => ask(guest, way, contact, { userId: 'one-id' }));
      assert.deepEqual(recorded, { audit: [], events: [], messages: [way.template] });
      const { $id: _, $createdAt: __, expire: ___, ...rest } = value.expect(201).body;
      answers.push(rest);
    }
    assert.deepEqual(answers, Array(3).fill({ userId: 'one-id', secret: '', phrase: '' }));
    assert.deepEqual((await lastMessageTo(target, contacts[0])).userId, known);
  });

  test(`${way.name}: a blocked user learns of the block with the right secret only, and it is recorded`, async () => {
    const contact = aContact(way.channel);
    const id = await owner(way, contact);
    await asOperator(target, id, 'block');
    const given = await askAndRead(target, way, contact);
    const { value, recorded } = await recordedBy(target, () => guest.post(redeemPath, given));
    value.refused(403, 'user_blocked');
    assert.deepEqual(recorded, { audit: ['loginFailed'], events: [], messages: [] });
    const entries = await rowsOf(target, 'audit_entries', target.project.id);
    const entry = entries.find(({ request_id }) => request_id === value.headers.get('X-Request-Id'));
    const { method, reason } = JSON.parse(String(entry?.data));
    assert.deepEqual([method, reason, entry?.resource], [way.provider, 'blocked', `users/${id}`]);
    await asOperator(target, id, 'unblock');
    (await guest.post(redeemPath, given)).refused(401, token);
  });

  test(`${way.name}: a server key gets the secret and the real id`, async () => {
    const { client } = await aServerKey(target, { scopes: ['sessions.write'] });
    const contact = aContact(way.channel);
    const stranger = (await ask(client, way, contact, { userId: 'from-server' })).expect(201);
    assert.equal(stranger.string('userId'), 'from-server');
    assert.equal(stranger.string('secret'), await secretFor(target, contact));
    const id = await owner(way, contact);
    const answer = (await ask(client, way, contact, { userId: 'from-server' })).expect(201);
    assert.equal(answer.string('userId'), id);
    const { secret } = answer.body;
    (await client.post(redeemPath, { userId: id, secret })).expect(201);
    const unable = await aServerKey(target, { scopes: ['platforms.write'] });
    (await ask(unable.client, way, contact)).refused(401, 'general_unauthorized_scope');
  });

  test(`${way.name}: another user's id is no alias, and one that is taken concurrently is refused`, async () => {
    const { id } = await aUser(target);
    const taken = await askAndRead(target, way, aContact(way.channel), { userId: id });
    assert.notEqual(taken.userId, id);
    assert.equal((await guest.post(redeemPath, taken)).expect(201).string('userId'), taken.userId);

    const contact = aContact(way.channel);
    const free = aPerson().id;
    const given = await askAndRead(target, way, contact, { userId: free });
    assert.equal(given.userId, free);
    await aUser(target, { id: free });
    const { value, recorded } = await recordedBy(target, () => guest.post(redeemPath, given));
    value.refused(409, 'user_already_exists');
    assert.deepEqual(recorded, { audit: ['loginFailed'], events: [], messages: [] });
    const later = await askAndRead(target, way, contact);
    const owned = await owner(way, contact);
    assert.equal((await guest.post(redeemPath, later)).expect(201).string('userId'), owned);
  });

  test(`${way.name}: a secret that went to an address the user has given up is worth nothing`, async () => {
    const contact = aContact(way.channel);
    const id = await owner(way, contact);
    const given = await askAndRead(target, way, contact);
    await runSql(target, `update users set ${way.channel} = ? where id = ?`, [aContact(way.channel), id]);
    const { value, recorded } = await recordedBy(target, () => guest.post(redeemPath, given));
    value.refused(401, token);
    assert.deepEqual(recorded, { audit: ['loginFailed'], events: [], messages: [] });
  });

  test(`${way.name}: a login in a browser that is logged in ends the session before it`, async () => {
    const browser = createClient(target, { browser: 'http://localhost:3000' });
    const before = (await browser.post('/account/sessions/anonymous', {})).expect(201);
    const given = await askAndRead(target, way, aContact(way.channel));
    const { value, recorded } = await recordedBy(target, () => browser.post(redeemPath, given));
    value.expect(201);
    assert.ok(recorded.events.includes('sessionDeleted'));
    assert.equal((await browser.get('/account')).expect(200).string('$id'), given.userId);
    const old = createClient(target, { session: before.string('secret') });
    (await old.get('/account')).refused(401, 'general_unauthorized_scope');
  });

  test(`${way.name}: the message is in the language that was asked for, else in the user's`, async () => {
    const contact = aContact(way.channel);
    const id = await owner(way, contact);
    await runSql(target, "update users set locale = 'de' where id = ?", [id]);
    await ask(guest, way, contact);
    await ask(guest.with({ headers: { 'X-Appwrite-Locale': 'fr' } }), way, contact);
    await ask(guest, way, aContact(way.channel));
    assert.deepEqual(
      (await messagesTo(target, contact)).map(({ locale }) => locale),
      ['de', 'fr'],
    );
  });
}

for (const way of sentLogins.filter(({ channel }) => channel === 'email')) {
  test(`${way.name}: the address is compared in lower case`, async () => {
    const contact = aContact('email');
    await ask(guest, way, contact.toUpperCase());
    assert.equal((await messagesTo(target, contact)).length, 1);
  });

  test(`${way.name}: a phrase is two words, the same in the answer and in the mail`, async () => {
    const contact = aContact('email');
    const phrase = (await ask(guest, way, contact, { phrase: true })).expect(201).string('phrase');
    assert.match(phrase, /^[a-z]+ [a-z]+$/);
    assert.equal((await lastMessageTo(target, contact)).locals.phrase, phrase);
  });
}

const malformed: [string, Record<string, unknown>][] = [
  ['no id', { userId: undefined }],
  ['an id of odd signs', { userId: '-x' }],
  ['an id that is an object', { userId: { $ne: '' } }],
  ['no address', { email: undefined, phone: undefined }],
  ['an address that is none', { email: 'nobody', phone: '0711' }],
  ['an address that is a list', { email: ['a@mail.example'], phone: ['+14155550100'] }],
];
for (const [name, body] of malformed) {
  test(`a request with ${name} is refused and leaves nothing`, async () => {
    for (const way of sentLogins) {
      const { value, recorded } = await recordedBy(target, () => ask(guest, way, aContact(way.channel), body));
      value.refused(400, 'general_argument_invalid');
      assert.deepEqual(recorded, { audit: [], events: [], messages: [] });
    }
  });
}

test('without a gateway no SMS is sent, whether the number is known or not', async () => {
  const none = await startAppliance();
  for (const path of ['/account/tokens/phone', '/account/sessions/phone']) {
    const { value, recorded } = await recordedBy(none, () =>
      createClient(none).post(path, { userId: 'unique()', phone: aContact('phone') }),
    );
    value.refused(503, 'general_phone_disabled');
    assert.deepEqual(recorded, { audit: [], events: [], messages: [] });
  }
});

test('a login by code leaves the password as it is', async () => {
  const user = await aUser(target);
  await vouchFor(target, user.id);
  const [, code] = sentLogins;
  assert.ok(code);
  (await guest.post(redeemPath, await askAndRead(target, code, user.email))).expect(201);
  await logIn(target, user);
});
