// A new password for who has lost the old one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, type LoggedInUser, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { hour } from '../harness/clock.js';
import { nothing, recordedBy, rowsOf, runSql } from '../harness/database.js';
import { messagesTo } from '../harness/messages.js';
import { asOperator } from '../harness/project.js';
import { startReceiver } from '../harness/receiver.js';
import { emailProof, isVerified, linkOf, type Proof, page, recoveryProof, vouchFor, wrong } from './proofs.js';

const target = await startAppliance();
const guest = createClient(target);
const key = await aServerKey(target);
const path = '/account/recovery';
const password = 'the recovered password';
const refused = { audit: ['proofFailed'], events: [], messages: [] };

test('a recovery sets the password, verifies the address and ends every session, and opens none', async () => {
  const user = await aLoggedInUser(target);
  await vouchFor(target, user.id);
  const other = await logIn(target, user);
  const asked = await recordedBy(target, () => guest.post(path, { email: user.email.toUpperCase(), url: page }));
  const { userId, secret, expire, $createdAt } = asked.value.expect(201).body;
  assert.deepEqual(asked.recorded, { ...nothing, messages: ['recovery'] });
  assert.match(String(userId), /^[0-9a-f]{20}$/);
  assert.equal(Date.parse(String(expire)) - Date.parse(String($createdAt)), hour);
  const { searchParams } = await linkOf(target, user.email, 'recovery');
  assert.deepEqual([searchParams.get('userId'), searchParams.get('secret')], [userId, secret]);
  (await user.client.get('/account')).expect(200);

  const used = await recordedBy(target, () => guest.put(path, { userId, secret, password }));
  const { body, headers } = used.value.expect(200);
  const ended = ['sessionDeleted', 'sessionDeleted'];
  const audit = ['accountEmailVerified', 'accountPasswordChanged', ...ended];
  assert.deepEqual(used.recorded, { audit, events: ended, messages: ['password-changed'] });
  assert.deepEqual([body.userId, body.secret, headers.get('Set-Cookie')], [user.id, '', null]);
  assert.equal(await isVerified(target, user.id, 'email'), true);
  for (const { client } of [user, other]) (await client.get('/account')).refused(401, 'general_unauthorized_scope');
  const login = (given: string) => guest.post('/account/sessions/email', { email: user.email, password: given });
  (await login(user.password)).refused(401, 'user_invalid_credentials');
  (await login(password)).expect(201);

  const again = await recordedBy(target, () => guest.put(path, { userId, secret, password }));
  again.value.refused(401, 'user_invalid_token');
  assert.deepEqual(again.recorded, refused);
});

test('a user and a server key may recover too, and a second factor stays on', async () => {
  for (const client of [(await aLoggedInUser(target)).client, key.client]) {
    const user = await aLoggedInUser(target);
    await runSql(target, 'update users set mfa = 1, email_verification = 1 where id = ?', [user.id]);
    (await client.post(path, { email: user.email, url: page })).expect(201);
    const { userId, secret } = await recoveryProof(target, user);
    (await client.put(path, { userId, secret, password })).expect(200);
    const [row] = await runSql(target, 'select mfa from users where id = ?', [user.id]);
    assert.equal(Number(row?.mfa), 1);
  }
});

type Spoil = (proof: Proof, user: LoggedInUser) => Promise<Proof> | Proof;
const spoilt: [string, Spoil][] = [
  ['another secret', ({ userId, secret }) => ({ userId, secret: wrong(secret) })],
  ['a short secret', ({ userId }) => ({ userId, secret: '123456' })],
  ['another user', async ({ secret }) => ({ userId: (await aLoggedInUser(target)).id, secret })],
  ['a user who does not exist', ({ secret }) => ({ userId: 'nobody', secret })],
  ['a link that verifies the address', (_, user) => emailProof(target, user)],
  [
    'a link that has expired',
    (proof) => {
      target.clock.advance(hour + 1);
      return proof;
    },
  ],
  [
    'a link that a later request voided',
    async (proof, user) => {
      await recoveryProof(target, user);
      return proof;
    },
  ],
  [
    'the secret of an answer about an address that nobody has',
    async () => {
      const { body } = (await guest.post(path, { email: 'nobody@mail.example', url: page })).expect(201);
      assert.match(String(body.secret), /^[\w-]{43}$/);
      return { userId: String(body.userId), secret: String(body.secret) };
    },
  ],
];
for (const [name, spoil] of spoilt) {
  test(`${name} does not recover`, async () => {
    const user = await aLoggedInUser(target);
    const proof = await spoil(await recoveryProof(target, user), user);
    const { value, recorded } = await recordedBy(target, () => guest.put(path, { ...proof, password }));
    value.refused(401, 'user_invalid_token');
    assert.deepEqual(recorded, refused);
    await logIn(target, user);
  });
}

test('a password that the policy refuses leaves the link as it was', async () => {
  const user = await aLoggedInUser(target, { name: 'Ada Lovelace' });
  const proof = await recoveryProof(target, user);
  for (const weak of ['short', 'password123', 'ada lovelace', user.email]) {
    const { value, recorded } = await recordedBy(target, () => guest.put(path, { ...proof, password: weak }));
    value.refused(400, 'password_policy_violation');
    assert.deepEqual(recorded, nothing);
  }
  (await guest.put(path, { ...proof, password: 'x'.repeat(257) })).refused(400, 'general_argument_invalid');
  (await guest.put(path, { ...proof, password })).expect(200);
});

test('the policy is applied only to the holder of the link', async () => {
  const user = await aLoggedInUser(target, { name: 'Ada Lovelace' });
  const { userId, secret } = await recoveryProof(target, user);
  const guess = { userId, secret: wrong(secret), password: 'ada lovelace' };
  (await guest.put(path, guess)).refused(401, 'user_invalid_token');
});

test('a password known from a breach is refused, and the link stays', async () => {
  const breached = 'correct horse battery staple';
  const digest = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(breached));
  const hash = Buffer.from(digest).toString('hex').toUpperCase();
  const corpus = await startReceiver();
  corpus.answer = (response) => void response.end(`${hash.slice(5)}:7`);
  const settings = {
    SVC_BREACH_CHECK: 'on',
    SVC_BREACH_URL: `${corpus.origin}/range/`,
    SVC_WEBHOOK_ALLOW_INSECURE: 'true',
  };
  const own = await startAppliance({ settings });
  const user = await aLoggedInUser(own);
  const proof = await recoveryProof(own, user);
  const client = createClient(own);
  (await client.put(path, { ...proof, password: breached })).refused(400, 'password_policy_violation');
  // Whoever has no link makes the service ask nobody.
  const guess = { ...proof, secret: wrong(proof.secret), password: breached };
  const asked = corpus.calls.length;
  (await client.put(path, guess)).refused(401, 'user_invalid_token');
  assert.equal(corpus.calls.length, asked);
  (await client.put(path, { ...proof, password })).expect(200);
});

test('a blocked user is answered as always and cannot recover', async () => {
  const user = await aLoggedInUser(target);
  await asOperator(target, user.id, 'block');
  const asked = (await guest.post(path, { email: user.email, url: page })).expect(201);
  assert.match(asked.string('userId'), /^[0-9a-f]{20}$/);
  const { userId, secret } = asked.body;
  const { value, recorded } = await recordedBy(target, () => guest.put(path, { userId, secret, password }));
  value.refused(403, 'user_blocked');
  assert.deepEqual(recorded, nothing);
  (await guest.put(path, { userId, secret: wrong(String(secret)), password })).refused(401, 'user_invalid_token');
});

test('of 50 parallel recoveries one counts, also at two servers', async () => {
  const sibling = await target.startSibling();
  for (const there of [guest, createClient(sibling)]) {
    const user = await aLoggedInUser(target);
    await vouchFor(target, user.id);
    const proof = await recoveryProof(target, user);
    const uses = Array.from({ length: 50 }, async (_, index) => {
      const own = `the recovered password ${index}`;
      const answer = await (index % 2 === 0 ? guest : there).put(path, { ...proof, password: own });
      return { status: answer.status, own };
    });
    const answers = await Promise.all(uses);
    const winners = answers.filter(({ status }) => status === 200);
    assert.equal(winners.length, 1, JSON.stringify(answers));
    // More at once than hashes can wait for are told to come back.
    assert.ok(answers.every(({ status }) => [200, 401, 503].includes(status)));
    await logIn(target, { ...user, password: String(winners[0]?.own) });
    const changes = await rowsOf(target, 'audit_entries', target.project.id);
    const mine = changes.filter(
      ({ action, resource }) => action === 'accountPasswordChanged' && resource === `users/${user.id}`,
    );
    assert.equal(mine.length, 1);
  }
});

test('an unknown address is answered like a known one, with an id made for the answer, and is sent nothing', async () => {
  const email = 'unknown@mail.example';
  const first = await recordedBy(target, () => guest.post(path, { email, url: page }));
  assert.deepEqual(first.recorded, nothing);
  assert.deepEqual(await messagesTo(target, email), []);
  const second = (await guest.post(path, { email: email.toUpperCase(), url: page })).expect(201);
  const known = await aLoggedInUser(target);
  // Long ago: an id that carries the time of the account would show it.
  target.clock.advance(hour);
  const third = (await guest.post(path, { email: known.email, url: page })).expect(201);
  const fourth = (await guest.post(path, { email, url: page })).expect(201);
  const ids = [first.value.expect(201), second, third, fourth].map((answer) => answer.string('userId'));
  assert.equal(new Set([...ids, known.id]).size, 5);
  for (const id of ids) assert.match(id, /^[0-9a-f]{20}$/);
  const millis = ids.slice(2).map((id) => Number.parseInt(id.slice(0, 13), 16) / 1000);
  for (const made of millis) assert.ok(Math.abs(made - target.clock.now()) < 60_000, `${made}`);
  assert.equal((await key.client.post(path, { email: known.email, url: page })).expect(201).string('userId'), known.id);
});

test('an address of an answer that told nothing can sign up and recover', async () => {
  const email = 'late@mail.example';
  (await guest.post(path, { email, url: page })).expect(201);
  const user = await aLoggedInUser(target, { email });
  (await guest.put(path, { ...(await recoveryProof(target, user)), password })).expect(200);
});

test('a user locked out by wrong guesses can log in again after a recovery', async () => {
  const strict = await startAppliance({ settings: { SVC_RATE_LIMITS: 'login=10/900,send=1000/60,data=1000/60' } });
  const user = await aLoggedInUser(strict);
  const proof = await recoveryProof(strict, user);
  // From the backend of the application, whose address is not counted.
  const { client } = await aServerKey(strict);
  const login = (given: string) => client.post('/account/sessions/email', { email: user.email, password: given });
  for (let guess = 0; guess < 10; guess++) await login('a wrong password');
  (await login(user.password)).refused(429, 'general_rate_limit_exceeded');
  (await client.put(path, { ...proof, password })).expect(200);
  (await login(password)).expect(201);
});

test('recoveries of one address are counted, known or not', async () => {
  const strict = await startAppliance({ settings: { SVC_RATE_LIMITS: '' } });
  const user = await aLoggedInUser(strict);
  for (const email of [user.email, 'nobody@mail.example']) {
    const statuses: number[] = [];
    for (let request = 0; request < 4; request++)
      statuses.push((await createClient(strict).post(path, { email, url: page })).status);
    assert.deepEqual(statuses, [201, 201, 201, 429]);
  }
});

test('a page that is not on a platform gets no link, and a broken address is refused', async () => {
  const { email } = await aLoggedInUser(target);
  for (const body of [
    { email, url: 'https://evil.example/' },
    { email },
    { email: 'nobody', url: page },
    { url: page },
    { email: { $ne: '' }, url: page },
  ]) {
    const { value, recorded } = await recordedBy(target, () => guest.post(path, body));
    value.refused(400, 'general_argument_invalid');
    assert.deepEqual(recorded, nothing);
  }
});
