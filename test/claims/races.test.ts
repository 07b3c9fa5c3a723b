// Proofs that meet each other, and proofs that meet a stranger who is just changing the account.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { aContact, askAndRead, redeemPath, sentLogins, withSms } from '../logins/setup.js';
import { aNumber, recoveryProof } from '../proofs/proofs.js';
import { aSquat, assertTaken } from './squatters.js';

const target = await startAppliance({ settings: withSms });
const sibling = await target.startSibling();
const [here, there] = [createClient(target), createClient(sibling)];
const [magicLink, emailCode, phoneCode] = sentLogins;
assert.ok(magicLink && emailCode && phoneCode);
const rounds = 8;

test('two servers verify one address at once: no unexpected error, and the stranger is logged out', async () => {
  for (let round = 0; round < rounds; round++) {
    const squat = await aSquat(target, 'email', 'nothing');
    const link = await askAndRead(target, magicLink, squat.value);
    const code = await askAndRead(target, emailCode, squat.value);
    const recovery = { ...(await recoveryProof(target, { email: squat.value })), password: 'the owner’s password' };
    const answers = await Promise.all([
      here.post(redeemPath, link),
      there.post(redeemPath, code),
      there.put('/account/recovery', recovery),
    ]);
    const odd = answers.filter(({ status }) => ![200, 201, 401].includes(status));
    assert.deepEqual(
      odd.map(({ text }) => text),
      [],
    );
    assert.ok(answers.some(({ status }) => status < 300));
    await assertTaken(target, squat);
  }
});

const changes: readonly [string, (client: Client, password: string) => Promise<unknown>][] = [
  ['a phone number', (client, password) => client.patch('/account/phone', { phone: aNumber(), password })],
  [
    'a password',
    (client, old) => client.patch('/account/password', { password: 'another password', oldPassword: old }),
  ],
  ['an authenticator', (client) => client.post('/account/mfa/totp')],
  ['a verification', (client) => client.post('/account/verifications/email', { url: 'http://localhost:3000/' })],
];
for (const [name, change] of changes) {
  test(`a proof and ${name} of the stranger at once: nothing of the stranger stays`, async () => {
    for (let round = 0; round < rounds; round++) {
      const squat = await aSquat(target, 'email', 'nothing');
      const proof = await askAndRead(target, magicLink, squat.value);
      const [answer] = await Promise.all([
        here.post(redeemPath, proof),
        change(createClient(sibling, { session: squat.session }), squat.password),
      ]);
      // A password that came first voids the link: the owner asks for another one.
      if (answer.status === 401)
        (await here.post(redeemPath, await askAndRead(target, emailCode, squat.value))).expect(201);
      else answer.expect(201);
      await assertTaken(target, squat);
    }
  });
}

test('a proof of a number and a first password of the stranger at once: nothing of the stranger stays', async () => {
  for (let round = 0; round < rounds; round++) {
    const phone = aContact('phone');
    const opened = (await here.post('/account/sessions/anonymous', {})).expect(201);
    const stranger = createClient(sibling, { session: opened.string('secret') });
    (await stranger.patch('/account/phone', { phone, password: '' })).expect(200);
    const proof = await askAndRead(target, phoneCode, phone);
    const email = aContact('email');
    const password = 'a stranger’s password';
    const [answer] = await Promise.all([
      here.post(redeemPath, proof),
      round % 2 === 0
        ? stranger.patch('/account/password', { password })
        : stranger.patch('/account/email', { email, password }),
    ]);
    const users = await rowsOf(target, 'users', target.project.id);
    const account = users.find((row) => row.phone === phone);
    // Whose change was first voids the code; then the account has an owner who can be told, or the number is still a claim.
    if (answer.status !== 201) continue;
    assert.equal(answer.body.userId, account?.id);
    assert.deepEqual([account?.password_hash, account?.email], [null, null]);
    if (account?.id === opened.body.userId) (await stranger.get('/account')).refused(401, 'general_unauthorized_scope');
  }
});
