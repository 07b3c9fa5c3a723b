// Every call of the unmodified node-appwrite on users, and the older spelling of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Account, AppwriteException, Client, ID, MessagingProviderType, Query, Users } from 'node-appwrite';
import { aServerKey } from '../harness/actors.js';
import { managed } from './setup.js';
import { vectors } from './vectors.js';

const { target } = await managed();
const client = () => new Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id);
const { secret } = await aServerKey(target, {
  scopes: ['users.read', 'users.write', 'sessions.read', 'sessions.write'],
});
const users = new Users(client().setKey(secret));

async function refused(act: Promise<unknown>, code: number, type: string): Promise<void> {
  const error = await act.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof AppwriteException, String(error));
  assert.deepEqual([error.code, error.type], [code, type], error.message);
}

test('node-appwrite creates, lists, reads, changes and deletes users', async () => {
  const email = 'ada@mail.example';
  const user = await users.create({ userId: ID.unique(), email, phone: '+14155550100', password: 'a fine password' });
  const userId = user.$id;
  assert.deepEqual([user.email, user.phone, user.hash], [email, '+14155550100', 'scrypt']);
  assert.deepEqual(
    { ...(user.hashOptions as object) },
    { type: 'scrypt', costCpu: 1024, costMemory: 8, costParallel: 1 },
  );
  const bare = await users.create({ userId: 'bare' });
  assert.deepEqual([bare.email, bare.phone, bare.password, bare.hash, bare.name], ['', '', '', '', '']);

  const listed = await users.list({ queries: [Query.equal('email', email)], search: 'ADA@', total: true });
  assert.deepEqual([listed.total, listed.users.map(({ $id }) => $id)], [1, [userId]]);
  assert.equal((await users.list()).total, 2);
  assert.equal((await users.list({ total: false })).total, 0);
  assert.equal((await users.get({ userId })).$id, userId);

  assert.equal((await users.updateName({ userId, name: 'Ada' })).name, 'Ada');
  assert.equal((await users.updateName({ userId, name: '' })).name, '');
  assert.equal((await users.updateEmail({ userId, email: 'Lovelace@mail.example' })).email, 'lovelace@mail.example');
  assert.equal((await users.updatePhone({ userId, number: '+14155550101' })).phone, '+14155550101');
  const before = user.passwordUpdate;
  target.clock.advance(1000);
  assert.notEqual((await users.updatePassword({ userId, password: 'a finer password' })).passwordUpdate, before);
  assert.deepEqual((await users.updateLabels({ userId, labels: ['vip', 'beta', 'vip'] })).labels, ['vip', 'beta']);
  assert.equal((await users.updateStatus({ userId, status: false })).status, false);
  assert.equal((await users.updateStatus({ userId, status: true })).status, true);
  assert.equal((await users.updateEmailVerification({ userId, emailVerification: true })).emailVerification, true);
  assert.equal((await users.updatePhoneVerification({ userId, phoneVerification: true })).phoneVerification, true);
  const prefs = { theme: 'dark', deep: { a: [1] } };
  assert.equal(JSON.stringify(await users.updatePrefs({ userId, prefs })), JSON.stringify(prefs));
  assert.equal(JSON.stringify(await users.getPrefs({ userId })), JSON.stringify(prefs));
  assert.equal((await users.updateMfa({ userId, mfa: true })).mfa, true);
  assert.equal((await users.updateMFA({ userId, mfa: false })).mfa, false);
  await refused(users.updateImpersonator({ userId, impersonator: true }), 400, 'general_feature_unsupported');
  await users.delete({ userId });
  await refused(users.get({ userId }), 404, 'user_not_found');
});

test('node-appwrite takes users of other products in', async () => {
  const made: [email: string, password: string][] = [];
  // The bodies of the vectors are those of the routes; the SDK has another type for each.
  const person = (name: string): never => {
    const { body, password } = vectors.find((one) => one.name === name) ?? assert.fail(name);
    const email = `${made.length}@elsewhere.example`;
    made.push([email, password]);
    return { userId: ID.unique(), email, name, ...body } as never;
  };
  await users.createBcryptUser(person('bcrypt $2b$'));
  await users.createArgon2User(person('argon2id'));
  await users.createMD5User(person('MD5'));
  await users.createPHPassUser(person('phpass'));
  await users.createSHAUser(person('sha512'));
  await users.createScryptUser(person('scrypt'));
  await users.createScryptModifiedUser(person('Firebase'));
  for (const [email, password] of made) {
    const session = await new Account(client()).createEmailPasswordSession({ email, password });
    assert.match(session.secret, /^ss_/, email);
  }
});

test('node-appwrite makes, lists and ends sessions, and makes tokens', async () => {
  const { $id: userId } = await users.create({ userId: 'guest-of-honour' });
  const session = await users.createSession({ userId });
  assert.deepEqual([session.provider, session.factors, session.userId], ['server', ['server'], userId]);
  const account = new Account(client().setSession(session.secret));
  assert.equal((await account.get()).$id, userId);
  const listed = await users.listSessions({ userId });
  assert.deepEqual(
    [listed.total, listed.sessions.map(({ $id, current, secret: shown }) => [$id, current, shown])],
    [1, [[session.$id, false, '']]],
  );
  await users.deleteSession({ userId, sessionId: session.$id });
  await refused(account.get(), 401, 'general_unauthorized_scope');
  await refused(users.deleteSession({ userId, sessionId: session.$id }), 404, 'user_session_not_found');
  const { secret: another } = await users.createSession(userId);
  await users.deleteSessions({ userId });
  await refused(new Account(client().setSession(another)).get(), 401, 'general_unauthorized_scope');

  const token = await users.createToken({ userId });
  assert.deepEqual([token.userId, token.secret.length, token.phrase], [userId, 6, '']);
  assert.equal(Date.parse(token.expire) - Date.parse(token.$createdAt), 900_000);
  const long = await users.createToken({ userId, length: 128, expire: 31_536_000 });
  assert.deepEqual([long.secret.length, Date.parse(long.expire) - Date.parse(long.$createdAt)], [128, 31_536_000_000]);
});

test('node-appwrite makes, lists, reads, changes and deletes targets', async () => {
  const { $id: userId } = await users.create({ userId: 'reachable', email: 'reachable@mail.example' });
  const push = { userId, targetId: 'phone', providerType: MessagingProviderType.Push, identifier: 'device-token' };
  const made = await users.createTarget({ ...push, providerId: 'fcm', name: 'Phone' });
  assert.deepEqual(
    [made.$id, made.userId, made.providerType, made.identifier, made.providerId, made.name, made.expired],
    ['phone', userId, 'push', 'device-token', 'fcm', 'Phone', false],
  );
  const listed = await users.listTargets({ userId });
  assert.deepEqual(
    [listed.total, listed.targets.map(({ identifier }) => identifier)],
    [2, ['reachable@mail.example', 'device-token']],
  );
  const some = await users.listTargets({ userId, queries: [Query.equal('providerType', ['push'])], total: false });
  assert.deepEqual([some.total, some.targets.map(({ $id }) => $id)], [0, ['phone']]);
  assert.deepEqual(
    (await users.listTargets({ userId, queries: [Query.orderDesc('identifier'), Query.cursorAfter('phone')] })).targets,
    [],
  );
  assert.equal((await users.getTarget({ userId, targetId: 'phone' })).name, 'Phone');
  const changed = await users.updateTarget({ userId, targetId: 'phone', identifier: 'other', name: 'Old' });
  assert.deepEqual([changed.identifier, changed.name, changed.providerId], ['other', 'Old', 'fcm']);
  await refused(users.createTarget(push), 409, 'user_target_already_exists');
  await users.deleteTarget({ userId, targetId: 'phone' });
  await refused(users.getTarget({ userId, targetId: 'phone' }), 404, 'user_target_not_found');
});

test('node-appwrite finds no identities, and none to delete', async () => {
  const { total, identities } = await users.listIdentities();
  assert.deepEqual([total, identities], [0, []]);
  await refused(users.deleteIdentity({ identityId: 'nobody' }), 404, 'user_identity_not_found');
});

test('node-appwrite with arguments in their older order does the same', async () => {
  const { $id } = await users.create(ID.unique(), 'old@mail.example', '+14155550199', 'a fine password', 'Old');
  assert.equal((await users.list([Query.equal('name', 'Old')], 'old')).total, 1);
  assert.equal((await users.updateName($id, 'Older')).name, 'Older');
  assert.equal((await users.updateEmail($id, 'older@mail.example')).email, 'older@mail.example');
  assert.equal((await users.updatePhone($id, '+14155550198')).phone, '+14155550198');
  assert.ok((await users.updatePassword($id, 'a finer password')).passwordUpdate);
  assert.deepEqual((await users.updateLabels($id, ['a'])).labels, ['a']);
  assert.equal((await users.updateStatus($id, true)).status, true);
  assert.equal((await users.updateEmailVerification($id, true)).emailVerification, true);
  assert.equal((await users.updatePhoneVerification($id, false)).phoneVerification, false);
  assert.equal((await users.updateMFA($id, true)).mfa, true);
  const { $id: sessionId } = await users.createSession($id);
  assert.equal((await users.listSessions($id)).total, 1);
  await users.deleteSession($id, sessionId);
  await users.createTarget($id, ID.unique(), MessagingProviderType.Sms, '+14155550197');
  assert.equal((await users.listTargets($id)).total, 3);
  assert.equal((await users.createToken($id, 32, 60)).secret.length, 32);
  await users.delete($id);
});
