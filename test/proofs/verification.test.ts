// Proofs that a user holds an email address or a phone number.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, type LoggedInUser, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { day, minute } from '../harness/clock.js';
import { nothing, recordedBy, rowsOf, runSql } from '../harness/database.js';
import { asOperator } from '../harness/project.js';
import {
  aUserWithPhone,
  emailProof,
  isVerified,
  lastMessage,
  linkOf,
  type Proof,
  page,
  phoneProof,
  wrong,
} from './proofs.js';

const target = await startAppliance({ settings: { SVC_SMS_URL: 'https://user:pass@sms.example/send' } });
const guest = createClient(target);
const key = await aServerKey(target);

type Person = LoggedInUser & { readonly phone: string };
const kinds = {
  email: {
    path: '/account/verifications/email',
    alias: '/account/verification',
    body: { url: page } as { url: string } | undefined,
    template: 'email-verification',
    recorded: 'accountEmailVerified',
    life: day,
    proof: (user: Person) => emailProof(target, user),
    address: (user: Person) => user.email,
  },
  phone: {
    path: '/account/verifications/phone',
    alias: '/account/verification/phone',
    body: undefined,
    template: 'phone-verification',
    recorded: 'accountPhoneVerified',
    life: 10 * minute,
    proof: (user: Person) => phoneProof(target, user),
    address: (user: Person) => user.phone,
  },
} as const;

const refused = { audit: ['proofFailed'], events: [], messages: [] };

for (const [what, kind] of Object.entries(kinds) as ['email' | 'phone', (typeof kinds)['email' | 'phone']][]) {
  for (const path of [kind.path, kind.alias]) {
    test(`${path} sends a message, and its content verifies, once`, async () => {
      const user = await aUserWithPhone(target);
      const asked = await recordedBy(target, () => user.client.post(path, kind.body));
      const { $id, userId, secret, phrase, expire, $createdAt } = asked.value.expect(201).body;
      assert.deepEqual(asked.recorded, { ...nothing, messages: [kind.template] });
      assert.deepEqual([userId, phrase], [user.id, '']);
      assert.equal(Date.parse(String(expire)) - Date.parse(String($createdAt)), kind.life);
      assert.notEqual(secret, '', 'without mail the caller on this machine is answered the secret');
      assert.equal(await isVerified(target, user.id, what), false);

      const used = await recordedBy(target, () => guest.put(path, { userId, secret }));
      const token = used.value.expect(200).body;
      assert.deepEqual(used.recorded, { audit: [kind.recorded], events: [], messages: [] });
      assert.deepEqual([token.$id, token.userId, token.secret, token.expire], [$id, user.id, '', expire]);
      assert.equal((await user.client.get('/account')).body[`${what}Verification`], true);

      const again = await recordedBy(target, () => guest.put(path, { userId, secret }));
      again.value.refused(401, 'user_invalid_token');
      assert.deepEqual(again.recorded, refused);
    });
  }

  const callers: [string, (user: Person) => Client][] = [
    ['a guest', () => guest],
    ['the user', (user) => user.client],
    ['a server key', () => key.client],
  ];
  for (const [name, callerOf] of callers) {
    test(`${name} redeems what verifies the ${what}`, async () => {
      const user = await aUserWithPhone(target);
      (await callerOf(user).put(kind.path, await kind.proof(user))).expect(200);
      assert.equal(await isVerified(target, user.id, what), true);
    });
  }

  type Wrong = readonly [name: string, spoil: (proof: Proof, user: Person) => Promise<Proof> | Proof];
  const spoilt: Wrong[] = [
    ['another secret', ({ userId, secret }) => ({ userId, secret: wrong(secret) })],
    ['a secret of another length', ({ userId, secret }) => ({ userId, secret: `${secret}0` })],
    ['another user', async ({ secret }) => ({ userId: (await aUserWithPhone(target)).id, secret })],
    ['a user who does not exist', ({ secret }) => ({ userId: 'nobody', secret })],
    [
      'one that has expired',
      (proof) => {
        target.clock.advance(kind.life + 1);
        return proof;
      },
    ],
    [
      'one that a later request voided',
      async (proof, user) => {
        await kind.proof(user);
        return proof;
      },
    ],
    [
      'an address that is not the user’s any more',
      async (proof, user) => {
        // Behind the service's back: a change by its own ways voids the secret.
        await runSql(target, `update users set ${what} = ? where id = ?`, [`x${kind.address(user)}`, user.id]);
        return proof;
      },
    ],
  ];
  for (const [name, spoil] of spoilt) {
    test(`${name} does not verify the ${what}`, async () => {
      const user = await aUserWithPhone(target);
      const proof = await spoil(await kind.proof(user), user);
      const { value, recorded } = await recordedBy(target, () => guest.put(kind.path, proof));
      value.refused(401, 'user_invalid_token');
      assert.deepEqual(recorded, refused);
      assert.equal(await isVerified(target, user.id, what), false);
    });
  }

  test(`a request that cannot verify the ${what} says why and sends nothing`, async () => {
    const bare = await aLoggedInUser(target);
    await runSql(target, `update users set ${what} = null where id = ?`, [bare.id]);
    const verified = await aUserWithPhone(target);
    (await guest.put(kind.path, await kind.proof(verified))).expect(200);
    const cases = [
      [guest, 401, 'general_unauthorized_scope'],
      [key.client, 401, 'general_unauthorized_scope'],
      [bare.client, 400, `user_${what}_not_found`],
      [verified.client, 409, `user_${what}_already_verified`],
    ] as const;
    for (const [client, status, type] of cases) {
      const { value, recorded } = await recordedBy(target, () => client.post(kind.path, kind.body));
      value.refused(status, type);
      assert.deepEqual(recorded, nothing);
    }
  });

  test(`a GET or a HEAD consumes nothing of what verifies the ${what}`, async () => {
    const user = await aUserWithPhone(target);
    const proof = await kind.proof(user);
    for (const method of ['GET', 'HEAD']) {
      (await guest.request(method, `${kind.path}?${new URLSearchParams({ ...proof })}`)).expect(405);
    }
    (await guest.put(kind.path, proof)).expect(200);
  });

  test(`of 50 parallel uses of what verifies the ${what} one counts, also at two servers`, async () => {
    const there = createClient(await target.startSibling());
    const user = await aUserWithPhone(target);
    const proof = await kind.proof(user);
    const uses = Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? guest : there).put(kind.path, proof));
    const statuses = (await Promise.all(uses)).map(({ status }) => status);
    assert.deepEqual([...statuses].sort(), [200, ...Array(49).fill(401)]);
  });
}

test('the link keeps the query of the page, and names user, secret, expiry and project', async () => {
  const user = await aUserWithPhone(target);
  const url = 'http://localhost:3000/proof?a=1%20b&secret=mine&tags[]=x';
  const { body } = (await user.client.post(kinds.email.path, { url })).expect(201);
  const link = await linkOf(target, user.email, 'email-verification');
  assert.equal(link.origin + link.pathname, 'http://localhost:3000/proof');
  assert.deepEqual(link.searchParams.getAll('secret'), [body.secret]);
  const { searchParams } = link;
  assert.deepEqual(
    ['a', 'tags[]', 'userId', 'expire', 'project'].map((name) => searchParams.get(name)),
    ['1 b', 'x', user.id, body.expire, target.project.id],
  );
  // Applications that route by the fragment keep it.
  (await user.client.post(kinds.email.path, { url: 'http://[::1]:5000/?a=1#/join-us?b=2' })).expect(201);
  const routed = await linkOf(target, user.email, 'email-verification');
  assert.match(routed.href, /^http:\/\/\[::1\]:5000\/\?a=1&userId=.+&secret=.+#\/join-us\?b=2$/);
  (await user.client.post(kinds.email.path, { url: page })).expect(201);
  assert.match((await linkOf(target, user.email, 'email-verification')).href, /^\S+\/proof\?lang=de&userId=/);
});

test('a page that is not on a platform of the project gets no link', async () => {
  const user = await aUserWithPhone(target);
  const foreign = [
    'https://evil.example/',
    'javascript:alert(1)',
    'http://user:password@localhost/',
    'not a URL',
    '',
    `http://localhost/${'x'.repeat(2048)}`,
  ];
  for (const url of [...foreign, undefined, 7]) {
    const { value, recorded } = await recordedBy(target, () => user.client.post(kinds.email.path, { url }));
    value.refused(400, 'general_argument_invalid');
    assert.deepEqual(recorded, nothing);
  }
});

test('the message is in the language of the request, else in that of the user', async () => {
  const user = await aUserWithPhone(target);
  await runSql(target, "update users set locale = 'fr' where id = ?", [user.id]);
  const localeOf = async (headers: Record<string, string>) => {
    (await user.client.post(kinds.email.path, { url: page }, headers)).expect(201);
    return (await lastMessage(target, user.email, 'email-verification')).locale;
  };
  assert.equal(await localeOf({ 'X-Service-Locale': 'de' }), 'de');
  // What fetch sends of its own accord names no language.
  assert.equal(await localeOf({}), 'fr');
});

test('five wrong guesses burn a code', async () => {
  const user = await aUserWithPhone(target);
  const { userId, secret } = await phoneProof(target, user);
  for (let guess = 0; guess < 5; guess++)
    (await guest.put(kinds.phone.path, { userId, secret: wrong(secret) })).refused(401, 'user_invalid_token');
  (await guest.put(kinds.phone.path, { userId, secret })).refused(401, 'user_invalid_token');
  (await guest.put(kinds.phone.path, await phoneProof(target, user))).expect(200);
});

test('a secret sent for one purpose serves no other', async () => {
  const user = await aUserWithPhone(target);
  const [email, phone] = [await emailProof(target, user), await phoneProof(target, user)];
  (await guest.put(kinds.phone.path, email)).refused(401, 'user_invalid_token');
  (await guest.put(kinds.email.path, phone)).refused(401, 'user_invalid_token');
  (await guest.put('/account/recovery', { ...email, password: 'the new password' })).refused(401, 'user_invalid_token');
  const there = createClient(target, { project: target.neighbour.id });
  (await there.put(kinds.email.path, email)).refused(401, 'user_invalid_token');
  (await guest.put(kinds.email.path, email)).expect(200);
});

test('a blocked user verifies nothing', async () => {
  const user = await aUserWithPhone(target);
  const proof = await emailProof(target, user);
  await runSql(target, 'update users set status = 0 where id = ?', [user.id]);
  (await guest.put(kinds.email.path, proof)).refused(403, 'user_blocked');
  await asOperator(target, user.id, 'unblock');
  (await guest.put(kinds.email.path, proof)).expect(200);
});

test('without an SMS gateway there is no verification by phone', async () => {
  const without = await startAppliance();
  const user = await aUserWithPhone(without);
  const answer = await user.client.post(kinds.phone.path);
  answer.refused(503, 'general_phone_disabled');
  assert.deepEqual(await rowsOf(without, 'one_time_secrets'), []);
});

test('messages to one address are counted, and the fourth within 15 minutes is refused', async () => {
  const strict = await startAppliance({
    settings: { SVC_RATE_LIMITS: '', SVC_SMS_URL: 'https://user:pass@sms.example/send' },
  });
  const user = await aUserWithPhone(strict);
  const again = await logIn(strict, user);
  for (const { path, body } of [kinds.email, kinds.phone]) {
    for (let request = 0; request < 3; request++) (await user.client.post(path, body)).expect(201);
    const late = (await again.client.post(path, body)).refused(429, 'general_rate_limit_exceeded');
    assert.ok(Number(late.headers.get('Retry-After')) > 0);
  }
});

test('guesses from one address are counted, and right ones are not', async () => {
  const strict = await startAppliance({ settings: { SVC_RATE_LIMITS: 'login=3/900,send=1000/60,data=1000/60' } });
  const client = createClient(strict);
  for (let round = 0; round < 5; round++) {
    const user = await aLoggedInUser(strict);
    (await client.put(kinds.email.path, await emailProof(strict, user))).expect(200);
  }
  const guess = () => client.put(kinds.email.path, { userId: 'nobody', secret: 'x'.repeat(43) });
  const statuses: number[] = [];
  for (let count = 0; count < 4; count++) statuses.push((await guess()).status);
  assert.deepEqual(statuses, [401, 401, 401, 429]);
});
