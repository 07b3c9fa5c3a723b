// The ways in by the unmodified node-appwrite, and by fetch with the names of the interface.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Account, AppwriteException, Client, ID } from 'node-appwrite';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { aContact, secretFor, withSms } from './setup.js';

const target = await startAppliance({ settings: withSms });
const endpoint = `${target.origin}/v1`;
const client = () => new Client().setEndpoint(endpoint).setProject(target.project.id);
const account = (session?: string) => new Account(session === undefined ? client() : client().setSession(session));

async function exception(act: () => Promise<unknown>): Promise<[number, string]> {
  const error = await act().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof AppwriteException, String(error));
  return [error.code, error.type];
}

test('node-appwrite: anonymous, upgraded, and logged in by the password', async () => {
  const session = await account().createAnonymousSession();
  assert.equal(session.provider, 'anonymous');
  const [email, password] = [aContact('email'), 'a fine password'];
  const upgraded = await account(session.secret).updateEmail({ email, password });
  assert.deepEqual([upgraded.$id, upgraded.email], [session.userId, email]);
  assert.deepEqual(await exception(() => account(session.secret).get()), [401, 'general_unauthorized_scope']);
  const login = await account().createEmailPasswordSession({ email, password });
  assert.equal((await account(login.secret).get()).$id, session.userId);
});

test('node-appwrite: magic link, by the new and by the old call', async () => {
  const email = aContact('email');
  const userId = ID.unique();
  const token = await account().createMagicURLToken({ userId, email, url: 'http://localhost:3000/in', phrase: true });
  assert.deepEqual([token.userId, token.secret], [userId, '']);
  assert.match(token.phrase, /^\w+ \w+$/);
  const session = await account().createSession({ userId: token.userId, secret: await secretFor(target, email) });
  assert.deepEqual([session.provider, session.factors, session.userId], ['magic-url', ['email'], userId]);
  assert.equal((await account(session.secret).get()).emailVerification, true);

  const second = await account().createMagicURLToken({ userId: ID.unique(), email });
  const given = { userId: second.userId, secret: await secretFor(target, email) };
  assert.equal((await account().updateMagicURLSession(given)).userId, userId);
  assert.deepEqual(await exception(() => account().updateMagicURLSession(given)), [401, 'user_invalid_token']);
});

test('node-appwrite: email code', async () => {
  const email = aContact('email');
  const token = await account().createEmailToken({ userId: ID.unique(), email, phrase: true });
  assert.match(token.phrase, /^\w+ \w+$/);
  const session = await account().createSession({ userId: token.userId, secret: await secretFor(target, email) });
  assert.deepEqual([session.provider, session.factors, session.userId], ['token', ['email'], token.userId]);
});

test('node-appwrite: phone code, by the new and by the old call', async () => {
  const phone = aContact('phone');
  const token = await account().createPhoneToken({ userId: ID.unique(), phone });
  const session = await account().createSession({ userId: token.userId, secret: await secretFor(target, phone) });
  assert.deepEqual([session.provider, session.factors], ['phone', ['phone']]);
  const second = await account().createPhoneToken({ userId: ID.unique(), phone });
  const given = { userId: second.userId, secret: await secretFor(target, phone) };
  assert.equal((await account().updatePhoneSession(given)).userId, token.userId);
});

test('node-appwrite with a key: a backend that delivers the code itself', async () => {
  const { secret: key } = await aServerKey(target, { scopes: ['sessions.write'] });
  const backend = new Account(client().setKey(key));
  const token = await backend.createEmailToken({ userId: ID.unique(), email: aContact('email') });
  assert.match(token.secret, /^\d{6}$/);
  const session = await backend.createSession({ userId: token.userId, secret: token.secret });
  assert.equal((await account(session.secret).get()).$id, token.userId);
});

type Json = Record<string, string>;
const headers = { 'X-Service-Project': target.project.id, 'Content-Type': 'application/json' };
async function post(path: string, body?: Json): Promise<Json> {
  const answer = await fetch(endpoint + path, { method: 'POST', headers, body: JSON.stringify(body ?? {}) });
  assert.equal(answer.status, 201, path);
  return (await answer.json()) as Json;
}
const whoIs = async (session: string | undefined) => {
  const answer = await fetch(`${endpoint}/account`, { headers: { ...headers, 'X-Service-Session': session ?? '' } });
  return ((await answer.json()) as Json).$id;
};

const byFetch: [string, string, 'email' | 'phone'][] = [
  ['magic link', '/account/tokens/magic-url', 'email'],
  ['magic link, old path', '/account/sessions/magic-url', 'email'],
  ['email code', '/account/tokens/email', 'email'],
  ['phone code', '/account/tokens/phone', 'phone'],
  ['phone code, old path', '/account/sessions/phone', 'phone'],
];
for (const [name, path, channel] of byFetch) {
  test(`fetch: ${name}`, async () => {
    const contact = aContact(channel);
    const { userId = '' } = await post(path, { userId: 'unique()', [channel]: contact });
    const session = await post('/account/sessions/token', { userId, secret: await secretFor(target, contact) });
    assert.equal(await whoIs(session.secret), userId);
  });
}

test('fetch: anonymous, with no body at all', async () => {
  const answer = await fetch(`${endpoint}/account/sessions/anonymous`, {
    method: 'POST',
    headers: { 'X-Service-Project': target.project.id },
  });
  const session = (await answer.json()) as Json;
  assert.equal(answer.status, 201);
  assert.equal(await whoIs(session.secret), session.userId);
});
