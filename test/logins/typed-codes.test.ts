// Codes as people type and paste them: with spaces, dashes and the digits of their keyboards, on every way that takes one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { aUserWithPhone, phoneProof } from '../proofs/proofs.js';
import { aGuardedUser, aPendingClient, lastCode, scan, verify } from '../second-factor/people.js';
import { aContact, askAndRead, redeemPath, sentLogins, withSms } from './setup.js';

const target = await startAppliance({ settings: withSms });
const guest = createClient(target);
const [narrowSpace, enDash, noBreakHyphen, zeroWidth] = ['\u202f', '\u2013', '\u2011', '\u200b'];
/** The characters of Japanese keyboards, and in turn the digits of Persian and Hindi ones. */
const ofKeyboards = (text: string) =>
  [...text]
    .map((character, at) => {
      const zero = [0xff10, 0x06f0, 0x0966][at % 3] ?? 0;
      const start = /\d/.test(character) ? zero - 0x30 : 0xfee0;
      return String.fromCodePoint(character.charCodeAt(0) + start);
    })
    .join('');
const typed: Readonly<Record<string, (code: string) => string>> = {
  'a space in the middle': (code) => code.replace(/^.../, '$& '),
  'a dash in the middle': (code) => code.replace(/^.../, '$&-'),
  'the dash and space of a mail program': (code) =>
    code.replace(/^../, `$&${enDash}`).replace(/..$/, `${narrowSpace}$&`),
  'the characters of another keyboard': ofKeyboards,
  'what a paste brings': (code) => `${zeroWidth} ${code.replace(/^.../, `$&${noBreakHyphen}`)}\r\n`,
};

for (const [name, type] of Object.entries(typed)) {
  for (const way of sentLogins.filter(({ purpose }) => purpose !== 'magic-link')) {
    test(`${way.name}: ${name} does not matter`, async () => {
      const { userId, secret } = await askAndRead(target, way, aContact(way.channel));
      (await guest.post(redeemPath, { userId, secret: type(secret) })).expect(201);
    });
  }

  test(`codes of a server, of a verification and of the second factor: ${name} does not matter`, async () => {
    const { id } = await aUser(target);
    const { client: key } = await aServerKey(target);
    const secret = (await key.post(`/users/${id}/tokens`, { length: 8 })).expect(201).string('secret');
    (await guest.post(redeemPath, { userId: id, secret: type(secret) })).expect(201);

    const caller = await aUserWithPhone(target);
    const proof = await phoneProof(target, caller);
    const verified = { userId: proof.userId, secret: type(proof.secret) };
    (await caller.client.put('/account/verifications/phone', verified)).expect(200);

    const user = await aLoggedInUser(target);
    const app = scan(target, (await user.client.post('/account/mfa/totp')).expect(200).string('uri'));
    (await user.client.put('/account/mfa/totp', { otp: type(app.code()) })).expect(200);

    const guarded = await aGuardedUser(target);
    await verify(target, guarded.id, 'email');
    const codes = {
      totp: async () => guarded.app.nextCode(),
      recoverycode: async () => guarded.recoveryCodes[0] ?? '',
      email: () => lastCode(target, guarded.id),
    };
    for (const [factor, read] of Object.entries(codes)) {
      const pending = await aPendingClient(target, guarded);
      const challengeId = (await pending.post('/account/mfa/challenges', { factor })).expect(201).string('$id');
      (await pending.put('/account/mfa/challenges', { challengeId, otp: type(await read()) })).expect(200);
    }
    const { email, password } = guarded;
    const otp = type(guarded.app.nextCode());
    (await guest.post('/account/sessions/email', { email, password, otp })).expect(201);
  });
}

test('the dashes of a link count, and the line break of a paste does not', async () => {
  const [way] = sentLogins;
  assert.ok(way);
  for (;;) {
    const { userId, secret } = await askAndRead(target, way, aContact(way.channel));
    if (!secret.includes('-')) continue;
    (await guest.post(redeemPath, { userId, secret: secret.replaceAll('-', '') })).refused(401, 'user_invalid_token');
    (await guest.post(redeemPath, { userId, secret: secret.replace(/^.{20}/, '$&\n') })).expect(201);
    break;
  }
});
