// The unmodified node-appwrite, once as it is and once with the service's own header names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Account, AppwriteException, Client, ID } from 'node-appwrite';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';

const target = await startAppliance();
const endpoint = `${target.origin}/v1`;

type Brand = { readonly name: string; client(session?: string): Client };
const brands: Brand[] = [
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

async function exception(act: () => Promise<unknown>): Promise<AppwriteException> {
  const error = await act().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof AppwriteException, String(error));
  return error;
}

for (const brand of brands) {
  test(`node-appwrite signs up, logs in and manages the account by X-${brand.name} headers`, async () => {
    const email = `${brand.name.toLowerCase()}@mail.example`;
    const password = 'a fine password';
    const guest = new Account(brand.client());
    const created = await guest.create({ userId: ID.unique(), email, password, name: 'Ada' });
    assert.deepEqual([created.email, created.name, created.status], [email, 'Ada', true]);
    const session = await guest.createEmailPasswordSession({ email, password });
    assert.match(session.secret, /^ss_/);
    assert.equal(session.userId, created.$id);

    const account = new Account(brand.client(session.secret));
    assert.equal((await account.get()).$id, created.$id);
    assert.equal((await account.updateName({ name: 'Ada Lovelace' })).name, 'Ada Lovelace');
    const prefs = { theme: 'dark', deep: { a: [1] } };
    assert.equal(JSON.stringify((await account.updatePrefs({ prefs })).prefs), JSON.stringify(prefs));
    assert.equal(JSON.stringify(await account.getPrefs()), JSON.stringify(prefs));
    assert.equal((await account.updateEmail({ email: `new-${email}`, password })).email, `new-${email}`);
    await account.updatePassword({ password: 'a finer password', oldPassword: password });

    const second = await guest.createEmailPasswordSession({ email: `new-${email}`, password: 'a finer password' });
    assert.deepEqual(
      (await account.listSessions()).sessions.map(({ $id, current }) => [$id, current]),
      [
        [session.$id, true],
        [second.$id, false],
      ],
    );
    const read = await account.getSession({ sessionId: 'current' });
    assert.deepEqual([read.$id, read.secret, read.provider], [session.$id, '', 'email']);
    assert.equal((await account.updateSession({ sessionId: second.$id })).$id, second.$id);
    await account.deleteSession({ sessionId: second.$id });
    const { code, type } = await exception(() => account.getSession({ sessionId: second.$id }));
    assert.deepEqual([code, type], [404, 'user_session_not_found']);

    assert.equal((await account.updateStatus()).status, false);
    const blocked = await exception(() => account.get());
    assert.deepEqual([blocked.code, blocked.type], [403, 'user_blocked']);
    assert.equal(JSON.parse(blocked.response).version, '1.0.0');
  });

  test(`node-appwrite ends every session by X-${brand.name} headers`, async () => {
    const email = `all-${brand.name.toLowerCase()}@mail.example`;
    const guest = new Account(brand.client());
    await guest.create({ userId: ID.unique(), email, password: 'a fine password' });
    const { secret } = await guest.createEmailPasswordSession({ email, password: 'a fine password' });
    const account = new Account(brand.client(secret));
    await account.deleteSessions();
    const gone = await exception(() => account.get());
    assert.deepEqual([gone.code, gone.type], [401, 'general_unauthorized_scope']);
    const wrong = await exception(() => guest.createEmailPasswordSession({ email, password: 'a wrong password' }));
    assert.deepEqual([wrong.code, wrong.type], [401, 'user_invalid_credentials']);
    const taken = await exception(() => guest.create({ userId: ID.unique(), email, password: 'a fine password' }));
    assert.deepEqual([taken.code, taken.type], [409, 'user_already_exists']);
  });
}

test('fetch does the same with X-Service headers and no library at all', async () => {
  const guest = createClient(target);
  const person = { email: 'fetch@mail.example', password: 'a fine password' };
  const created = (await guest.post('/account', { userId: 'unique()', ...person, name: 'Bob' })).expect(201);
  const session = (await guest.post('/account/sessions/email', person)).expect(201);
  const bob = guest.with({ session: session.string('secret') });
  assert.equal((await bob.get('/account')).expect(200).string('$id'), created.string('$id'));
  (await bob.delete('/account/sessions/current')).expect(204);
  (await bob.get('/account')).refused(401, 'general_unauthorized_scope');
});
