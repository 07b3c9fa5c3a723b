// A verification marks a contact as verified and changes nothing else; the second link of its mail removes the address.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTexts } from '#src/features/installation/courier/index.js';
import { aLoggedInUser, aServerKey, aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { recordedBy } from '../harness/database.js';
import { messagesTo } from '../harness/messages.js';
import { createPlainBrowser } from '../hosted-pages/browser.js';
import { withSms } from '../logins/setup.js';
import { lastMessage, type Proof, page, proofOf, removalLink, removalProof } from '../proofs/proofs.js';
import { aSquat, assertConfirmed, type Other, type Squat } from './squatters.js';

const target = await startAppliance({ settings: withSms });
const guest = createClient(target);
const texts = createTexts(target.appliance.runtime.templates, () => assert.fail());
const { client: key } = await aServerKey(target);
const path = { email: '/account/verifications/email', phone: '/account/verifications/phone' };
const callers = {
  'a guest': async () => guest,
  'a server key': async () => key,
  'another user': async () => (await aLoggedInUser(target)).client,
  'the user': async ({ client }: Squat) => client,
};
const others: readonly Other[] = ['nothing', 'an unproved one', 'a proved one'];

/** The proof that the message carries. */
async function proofFor({ client, contact, id, value }: Squat): Promise<Proof> {
  (await client.post(path[contact], contact === 'email' ? { url: page } : undefined)).expect(201);
  if (contact === 'email') return proofOf(target, value, 'email-verification');
  const { locals } = await lastMessage(target, value, 'phone-verification');
  return { userId: id, secret: String(locals.code) };
}

for (const contact of ['email', 'phone'] as const)
  for (const [caller, clientOf] of Object.entries(callers))
    test(`a verification of the ${contact} by ${caller} changes nothing else`, async () => {
      for (const other of others) {
        const squat = await aSquat(target, contact, other);
        const proof = await proofFor(squat);
        const client = await clientOf(squat);
        const { value, recorded } = await recordedBy(target, () => client.put(path[contact], proof));
        value.expect(200);
        const verified = contact === 'email' ? 'accountEmailVerified' : 'accountPhoneVerified';
        assert.deepEqual(recorded, { audit: [verified], events: [], messages: [] });
        await assertConfirmed(target, squat);
        for (const session of squat.sessions) (await session.get('/account')).expect(200);
        (await createClient(target, { jwt: squat.jwt }).get('/account')).expect(200);
        const token = { userId: squat.id, secret: squat.token, otp: squat.app.nextCode() };
        (await guest.post('/account/sessions/token', token)).expect(201);
      }
    });

test('the mail names the account and the effect of its links, in every language', async () => {
  for (const [language, removes] of [
    ['en', /remove your address/],
    ['de', /Adresse aus diesem Konto zu entfernen/],
    ['es', /quitar su dirección/],
  ] as const) {
    const { client, email } = await aLoggedInUser(target);
    (await client.post(path.email, { url: page }, { 'X-Service-Locale': language })).expect(201);
    const { locals, locale } = await lastMessage(target, email, 'email-verification');
    const composed = await texts.compose('email-verification', locale ?? '', locals as Record<string, string>);
    assert.equal(composed.language, language);
    for (const body of [composed.text, composed.html ?? '']) {
      assert.ok(body.includes(email));
      assert.match(body, removes);
      assert.match(body, /remove-address\?userId=/);
    }
  }
});

test('the second link removes the address, verified or not, and keeps the rest of the account', async () => {
  for (const isVerified of [false, true]) {
    const user = await aLoggedInUser(target);
    const proof = await removalProof(target, user);
    const confirmation = await proofOf(target, user.email, 'email-verification');
    if (isVerified) (await guest.put(path.email, confirmation)).expect(200);
    (await guest.put(path.email, proof)).refused(401, 'user_invalid_token');
    const { value, recorded } = await recordedBy(target, () => guest.request('DELETE', path.email, proof));
    value.expect(204);
    assert.deepEqual(recorded, { audit: ['accountEmailChanged'], events: [], messages: [] });
    const { email, emailVerification } = (await user.client.get('/account')).expect(200).body;
    assert.deepEqual([email, emailVerification], ['', false]);
    for (const used of [proof, confirmation])
      (await guest.request('DELETE', path.email, used)).refused(401, 'user_invalid_token');
    (await guest.put(path.email, confirmation)).refused(401, 'user_invalid_token');
    // The address is free for an account of the person who receives its mail.
    await aUser(target, { email: user.email });
  }
});

test('the owner gets an SMS if the account has a number', async () => {
  const squat = await aSquat(target, 'email', 'a proved one');
  const proof = await removalProof(target, { ...squat, email: squat.value });
  (await guest.request('DELETE', path.email, proof)).expect(204);
  assert.ok((await messagesTo(target, squat.other)).some(({ template }) => template === 'email-removed'));
});

test('the page of the second link changes nothing until its button is pressed', async () => {
  const user = await aLoggedInUser(target);
  const link = await removalLink(target, user);
  const browser = createPlainBrowser(target);
  await browser.open(link);
  assert.equal(browser.heading, 'Remove your email address');
  assert.equal((await user.client.get('/account')).body.email, user.email);
  await browser.submit({});
  assert.match(browser.message, /removed from the account/);
  assert.equal((await user.client.get('/account')).body.email, '');
  await browser.open(link);
  await browser.submit({});
  assert.match(browser.message, /wrong, was used, or has expired/);
});
