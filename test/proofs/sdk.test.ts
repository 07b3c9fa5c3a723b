// The unmodified node-appwrite verifies, recovers and reads the account's details, once as it is and once with the service's own header names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Account, AppwriteException, Client, ID, Query } from 'node-appwrite';
import { startAppliance } from '../harness/appliance.js';
import { aNumber, lastMessage, page, proofOf } from './proofs.js';

const target = await startAppliance({ settings: { SVC_SMS_URL: 'https://user:pass@sms.example/send' } });
const endpoint = `${target.origin}/v1`;
const password = 'a fine password';

const brands: { readonly name: string; client(session?: string): Client }[] = [
  {
    name: 'Appwrite',
    client: (session) => {
      const client = new Client().setEndpoint(endpoint).setProject(target.project.id);
      return session === undefined ? client : client.setSession(session);
    },
  },
  {
    name: 'Service',
    client: (session) => {
      const client = new Client().setEndpoint(endpoint).addHeader('X-Service-Project', target.project.id);
      return session === undefined ? client : client.addHeader('X-Service-Session', session);
    },
  },
];

for (const brand of brands) {
  const signUp = async (word: string) => {
    const email = `${word}-${brand.name.toLowerCase()}@mail.example`;
    const guest = new Account(brand.client());
    await guest.create({ userId: ID.unique(), email, password });
    const session = await guest.createEmailPasswordSession({ email, password });
    return { email, guest, session, account: new Account(brand.client(session.secret)) };
  };

  test(`node-appwrite verifies address and number by X-${brand.name} headers`, async () => {
    const { email, account } = await signUp('verify');
    const asked = await account.createEmailVerification({ url: page });
    const proof = await proofOf(target, email, 'email-verification');
    assert.deepEqual(proof, { userId: asked.userId, secret: asked.secret });
    assert.equal((await account.updateEmailVerification(proof)).$id, asked.$id);
    const phone = aNumber();
    assert.equal((await account.updatePhone({ phone, password })).phone, phone);
    const { userId } = await account.createPhoneVerification();
    const secret = String((await lastMessage(target, phone, 'phone-verification')).locals.code);
    await account.updatePhoneVerification({ userId, secret });
    const { emailVerification, phoneVerification } = await account.get();
    assert.deepEqual([emailVerification, phoneVerification], [true, true]);
  });

  test(`node-appwrite verifies by the old names and X-${brand.name} headers`, async () => {
    const { email, guest, account } = await signUp('old');
    await account.createVerification({ url: page });
    const proof = await proofOf(target, email, 'email-verification');
    await account.updateVerification(proof);
    assert.equal((await account.get()).emailVerification, true);
    const again = await guest.updateVerification(proof).catch((error: unknown) => error);
    assert.ok(again instanceof AppwriteException);
    assert.deepEqual([again.code, again.type], [401, 'user_invalid_token']);
  });

  test(`node-appwrite recovers an account by X-${brand.name} headers`, async () => {
    const { email, guest, account } = await signUp('recover');
    const { userId } = await guest.createRecovery({ email, url: page });
    const proof = await proofOf(target, email, 'recovery');
    assert.equal(proof.userId, userId);
    await guest.updateRecovery({ ...proof, password: 'a finer password' });
    const ended = await account.get().catch((error: unknown) => error);
    assert.ok(ended instanceof AppwriteException);
    assert.equal(ended.code, 401);
    assert.match((await guest.createEmailPasswordSession({ email, password: 'a finer password' })).secret, /^ss_/);
  });

  test(`node-appwrite reads log and identities by X-${brand.name} headers`, async () => {
    const { email, account, session } = await signUp('log');
    assert.match(session.clientName, /AppwriteNodeJSSDK/i);
    await account.updateName({ name: 'Ada' });
    const { total, logs } = await account.listLogs({ queries: [Query.limit(2), Query.offset(0)] });
    assert.deepEqual([total, logs.map(({ event }) => event)], [3, ['accountNameChanged', 'sessionCreated']]);
    assert.deepEqual([logs[1]?.userEmail, logs[1]?.clientName], [email, session.clientName]);
    assert.deepEqual((await account.listLogs({ queries: [Query.limit(1)], total: false })).total, 0);
    assert.deepEqual({ ...(await account.listIdentities()) }, { total: 0, identities: [] });
    const missing = await account.deleteIdentity({ identityId: 'nobody' }).catch((error: unknown) => error);
    assert.ok(missing instanceof AppwriteException);
    assert.deepEqual([missing.code, missing.type], [404, 'user_identity_not_found']);
  });
}
