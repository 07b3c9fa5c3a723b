// Users of other products: their passwords fit, once by the foreign hash and from then on by ours; hostile hashes stay outside.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey, aUser } from '../harness/actors.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy, rowsOf } from '../harness/database.js';
import { openSealed } from '../harness/sealed.js';
import { aManagedUser, managed, tryLogin } from './setup.js';
import { type Vector, vectors } from './vectors.js';

const place = await managed();
const { target, key } = place;
let imported = 0;

async function take({ route, body }: Pick<Vector, 'route' | 'body'>) {
  imported += 1;
  const person = { userId: `imported-${imported}`, email: `imported${imported}@mail.example`, name: 'From elsewhere' };
  return { ...person, answer: await key.post(`/users/${route}`, { ...person, ...body }) };
}
/** What the database holds of a password, opened. */
async function stored(userId: string): Promise<string> {
  const row = (await rowsOf(target, 'users')).find(({ id }) => id === userId);
  return openSealed(target, target.project, ['users', 'password_hash', userId], row?.password_hash);
}

for (const vector of vectors) {
  test(`${vector.name}: the password fits, and the hash is ours from then on`, async () => {
    const { value, recorded } = await recordedBy(target, () => take(vector));
    const { userId, email, answer } = value;
    assert.deepEqual(recorded, { audit: ['accountCreated'], events: [], messages: [] });
    const user = answer.expect(201).body;
    assert.deepEqual(
      [user.$id, user.email, user.name, user.password, user.hash],
      [userId, email, 'From elsewhere', vector.body.password, vector.algorithm],
    );
    const row = (await rowsOf(target, 'users')).find(({ id }) => id === userId);
    assert.ok(!String(row?.password_hash).includes(String(vector.body.password)), 'sealed');
    (await tryLogin(place, email, `${vector.password}.`)).refused(401, 'user_invalid_credentials');
    (await tryLogin(place, email, '')).refused(401, 'user_invalid_credentials');
    assert.match(await stored(userId), /^foreign:/, 'a wrong password changes nothing');

    const login = await recordedBy(target, () => tryLogin(place, email, vector.password));
    login.value.expect(201);
    assert.deepEqual(login.recorded, { audit: ['sessionCreated'], events: ['sessionCreated'], messages: [] });
    const ours = await stored(userId);
    assert.match(ours, /^scrypt:/);
    (await tryLogin(place, email, vector.password)).expect(201);
    (await tryLogin(place, email, `${vector.password}.`)).refused(401, 'user_invalid_credentials');
    assert.equal(await stored(userId), ours);
    const now = (await key.get(`/users/${userId}`)).expect(200).body;
    assert.deepEqual([now.password, now.hash, now.passwordUpdate], [ours, 'scrypt', user.passwordUpdate]);
  });
}

test('a user imported with a foreign hash may change the password with the old one', async () => {
  const { email, answer } = await take({ route: 'md5', body: { password: 'f96b697d7cb7938d525a2f31aaf161d0' } });
  answer.expect(201);
  const session = (await tryLogin(place, email, 'message digest')).expect(201).string('secret');
  const change = { password: 'a finer password', oldPassword: 'message digest' };
  (await createClient(target, { session }).patch('/account/password', change)).expect(200);
  (await tryLogin(place, email, 'a finer password')).expect(201);
});

test('many at once log in with a foreign hash, and each of them gets in', async () => {
  const { email } = await take({ route: 'sha', body: { password: vectors.at(-1)?.body.password } });
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => tryLogin(place, email, vectors.at(-1)?.password ?? '')),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    answers.map(() => 201),
  );
});

const argon2 = (parameters: string, salt = 'c29tZXNhbHQ', hash = 'CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc') =>
  `$argon2id$v=19$${parameters}$${salt}$${hash}`;
const scrypt = (given: Record<string, unknown>) => ({
  ...{ password: '0'.repeat(64), passwordSalt: 'salt', passwordCpu: 16_384, passwordMemory: 8 },
  ...{ passwordParallel: 1, passwordLength: 32, ...given },
});
const firebase = vectors.find(({ route }) => route === 'scrypt-modified')?.body ?? {};
const hostile: [name: string, route: string, body: Record<string, unknown>][] = [
  ['bcrypt that takes hours', 'bcrypt', { password: `$2b$31$${'a'.repeat(53)}` }],
  ['bcrypt one round too dear', 'bcrypt', { password: `$2b$14$${'a'.repeat(53)}` }],
  ['bcrypt of the broken kind', 'bcrypt', { password: `$2x$10$${'a'.repeat(53)}` }],
  ['bcrypt cut short', 'bcrypt', { password: `$2b$10$${'a'.repeat(52)}` }],
  ['Argon2 of a gigabyte', 'argon2', { password: argon2('m=1048576,t=1,p=1') }],
  ['Argon2 of a thousand passes', 'argon2', { password: argon2('m=65536,t=1000,p=1') }],
  ['Argon2 of more lanes than memory', 'argon2', { password: argon2('m=8,t=1,p=16') }],
  ['Argon2 of 4294967296 KiB', 'argon2', { password: argon2('m=4294967296,t=1,p=1') }],
  ['Argon2 without passes', 'argon2', { password: argon2('m=64,t=0,p=1') }],
  ['Argon2 with a salt of a byte', 'argon2', { password: argon2('m=64,t=1,p=1', 'YQ') }],
  ['Argon2 that is none', 'argon2', { password: 'argon2' }],
  ['scrypt of a gigabyte', 'scrypt', scrypt({ passwordCpu: 1_048_576 })],
  ['scrypt of a thousand lanes', 'scrypt', scrypt({ passwordParallel: 1000 })],
  ['scrypt with no power of two', 'scrypt', scrypt({ passwordCpu: 1000 })],
  ['scrypt with a negative cost', 'scrypt', scrypt({ passwordMemory: -8 })],
  ['scrypt with a cost beyond numbers', 'scrypt', scrypt({ passwordCpu: 2 ** 53 })],
  ['scrypt with another length than it says', 'scrypt', scrypt({ passwordLength: 64 })],
  ['scrypt without a salt', 'scrypt', scrypt({ passwordSalt: undefined })],
  ['phpass of two billion iterations', 'phpass', { password: `$P$S${'a'.repeat(30)}` }],
  ['phpass cut short', 'phpass', { password: '$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L' }],
  ['MD5 of 31 digits', 'md5', { password: 'f96b697d7cb7938d525a2f31aaf161d' }],
  ['MD5 that is no hexadecimal', 'md5', { password: 'z'.repeat(32) }],
  ['SHA-1 that says SHA-256', 'sha', { password: '0'.repeat(40), passwordVersion: 'sha256' }],
  ['SHA of an unknown version', 'sha', { password: '0'.repeat(64), passwordVersion: 'sha9' }],
  ['SHA of a version of every object', 'sha', { password: '0'.repeat(64), passwordVersion: 'constructor' }],
  ['Firebase without its signer key', 'scrypt-modified', { ...firebase, passwordSignerKey: '' }],
  ['Firebase with a salt that is no base64', 'scrypt-modified', { ...firebase, passwordSalt: '%' }],
  ['no hash', 'bcrypt', {}],
  ['a number', 'bcrypt', { password: 1 }],
];
for (const [name, route, body] of hostile) {
  test(`${name} stays outside`, async () => {
    const { value, recorded } = await recordedBy(target, () => take({ route, body }));
    value.answer.refused(400, 'general_argument_invalid');
    assert.deepEqual(recorded, nothing);
  });
}

test('a taken id or address is refused', async () => {
  const { id, email } = await aManagedUser(place);
  const { email: other } = await aUser(target);
  const body = { password: 'f96b697d7cb7938d525a2f31aaf161d0' };
  for (const taken of [{ userId: id }, { email }, { email: other }]) {
    const given = { userId: 'unique()', email: 'fresh@mail.example', ...body, ...taken };
    (await key.post('/users/md5', given)).refused(409, 'user_already_exists');
  }
});

test('importing takes a key with users.write', async () => {
  const { client } = await aServerKey(target, { scopes: ['users.read'] });
  (await client.post('/users/md5', {})).refused(401, 'general_unauthorized_scope');
  (await createClient(target).post('/users/md5', {})).refused(401, 'general_unauthorized_scope');
});

test('a server key sets the time of creation, under either name', async () => {
  const created = '2020-02-03T04:05:06.007+02:00';
  for (const [path, body] of [
    ['/users', { userId: 'earlier-1', registration: created }],
    ['/users', { userId: 'earlier-2', $createdAt: created }],
    [
      '/users/md5',
      {
        userId: 'earlier-3',
        email: 'e3@mail.example',
        password: 'f96b697d7cb7938d525a2f31aaf161d0',
        registration: created,
      },
    ],
  ] as const) {
    const { registration, $createdAt } = (await key.post(path, body)).expect(201).body;
    assert.deepEqual([registration, $createdAt], ['2020-02-03T02:05:06.007+00:00', '2020-02-03T02:05:06.007+00:00']);
  }
  (await key.post('/users', { userId: 'earlier-4', registration: 'yesterday' })).refused(
    400,
    'general_argument_invalid',
  );
});
