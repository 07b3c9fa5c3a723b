// What no authenticator of ours has signed, or has signed for something else: refused, without a session and without a passkey.
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { minute } from '../harness/clock.js';
import { recordedBy, rowsOf, runSql } from '../harness/database.js';
import { after } from '../harness/runner.js';
import { Authenticator, type Lie } from './authenticator.js';
import { aKeyholder, creationOptions, logInBy, paths, register, requestOptions } from './setup.js';

const target = await startAppliance();
const guest = createClient(target);
const refusedLogin = { audit: ['loginFailed'], events: [], messages: [] };
const refusedNothing = { audit: [], events: [], messages: [] };
const wrong = 'user_invalid_credentials';

const foreign = 'https://evil.example';
const lies: Record<string, Lie> = {
  'another origin': { origin: foreign },
  'an origin that ends like ours': { origin: 'https://evil-localhost' },
  'an origin with a path': { origin: 'http://localhost:3000/' },
  'no origin': { origin: 'null' },
  'an app on Android': { origin: 'android:apk-key-hash:-jd8Tqk_R_mSBj6Xwkm_9r08EpyPE8LD22xwEbYIGoA' },
  'another relying party': { rpId: 'evil.example' },
  'a frame of another site': { crossOrigin: true },
  'a frame that names its page': { topOrigin: 'http://localhost:3000' },
  'nobody present': { userPresent: false },
  'nobody verified': { userVerified: false },
  'a challenge of its own': { challenge: randomBytes(32).toString('base64url') },
  'no challenge': { challenge: '' },
  'backed up, but not to be backed up': { backedUp: true },
};

for (const [name, lie] of Object.entries(lies)) {
  test(`login: ${name}`, async () => {
    const { device, email } = await aKeyholder(target);
    for (const named of [email, undefined]) {
      const { value, recorded } = await recordedBy(target, () => logInBy(guest, device, named, lie));
      value.refused(401, wrong);
      assert.deepEqual(recorded, refusedLogin);
    }
    (await logInBy(guest, device, email)).expect(201);
  });

  test(`registration: ${name}`, async () => {
    const { client } = await aLoggedInUser(target);
    const { value, recorded } = await recordedBy(target, () => register(client, new Authenticator(), lie));
    value.refused(401, wrong);
    assert.deepEqual(recorded, refusedNothing);
    assert.equal((await client.get('/account/passkeys')).body.total, 0);
  });
}

const rsa = (alg: number, n: Uint8Array, e: Uint8Array) =>
  new Map<number, number | Uint8Array>([
    [1, 3],
    [3, alg],
    [-1, n],
    [-2, e],
  ]);
const pair = (type: number, alg: number, curve: number, ...coordinates: Uint8Array[]) =>
  new Map<number, number | Uint8Array>([
    [1, type],
    [3, alg],
    [-1, curve],
    ...coordinates.map((value, index): [number, Uint8Array] => [-2 - index, value]),
  ]);
/** A number of so many bits, odd. */
const modulus = (bits: number) => {
  const bytes = randomBytes(bits / 8);
  bytes[0] = (bytes[0] ?? 0) | 0x80;
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 1;
  return bytes;
};
const exponent = Buffer.from([1, 0, 1]);
const unusable: Record<string, ReadonlyMap<number, number | Uint8Array>> = {
  'ES256 without coordinates': pair(2, -7, 1),
  'ES256 with one coordinate': pair(2, -7, 1, randomBytes(32)),
  'ES256 with a point that is not on the curve': pair(2, -7, 1, Buffer.alloc(32, 1), Buffer.alloc(32, 2)),
  'ES256 with short coordinates': pair(2, -7, 1, randomBytes(16), randomBytes(16)),
  'ES256 on another curve': pair(2, -7, 2, randomBytes(48), randomBytes(48)),
  'ES256 with an RSA key': rsa(-7, modulus(2048), exponent),
  'EdDSA without a coordinate': pair(1, -8, 6),
  'EdDSA on another curve': pair(1, -8, 4, randomBytes(32)),
  'EdDSA with the type of another': pair(2, -8, 6, randomBytes(32), randomBytes(32)),
  'RS256 with an elliptic curve': pair(2, -257, 1, randomBytes(32), randomBytes(32)),
  'RS256 with 512 bits': rsa(-257, modulus(512), exponent),
  'RS256 with 2040 bits': rsa(-257, modulus(2040), exponent),
  'RS256 with the exponent 1': rsa(-257, modulus(2048), Buffer.from([1])),
  'RS256 with an even exponent': rsa(-257, modulus(2048), Buffer.from([1, 0, 0])),
  'RS256 without an exponent': rsa(-257, modulus(2048), Buffer.alloc(0)),
  'RS256 without a modulus': rsa(-257, Buffer.alloc(0), exponent),
};
for (const [name, publicKey] of Object.entries(unusable)) {
  test(`registration: ${name}`, async () => {
    const { client } = await aLoggedInUser(target);
    const { value, recorded } = await recordedBy(target, () => register(client, new Authenticator(), { publicKey }));
    value.refused(401, wrong);
    assert.deepEqual(recorded, refusedNothing);
    assert.equal((await client.get('/account/passkeys')).body.total, 0);
  });
}

test('registration: a public key that another made is one, of each algorithm', async () => {
  const { client } = await aLoggedInUser(target);
  const { x, y } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
  const bytes = (text = '') => Buffer.from(text, 'base64url');
  for (const publicKey of [pair(2, -7, 1, bytes(x), bytes(y)), rsa(-257, modulus(2048), exponent)])
    (await register(client, new Authenticator(), { publicKey })).expect(201);
});

const signedLies: Record<string, Lie> = {
  'a forged signature': { forged: true },
  'a registration in the place of a login': { type: 'webauthn.create' },
  'the handle of another user': { userHandle: randomBytes(32).toString('base64url') },
  'a flag that never changes has changed': { backupEligible: true },
  'the id of another credential': { id: randomBytes(20).toString('base64url') },
};
for (const [name, lie] of Object.entries(signedLies)) {
  test(`login: ${name}`, async () => {
    const { device, email } = await aKeyholder(target);
    for (const named of [email, undefined]) (await logInBy(guest, device, named, lie)).refused(401, wrong);
  });
}

test('login: without an address the handle is needed', async () => {
  const { device, email } = await aKeyholder(target);
  (await logInBy(guest, device, undefined, { userHandle: null })).refused(401, wrong);
  (await logInBy(guest, device, undefined, { userHandle: '' })).refused(401, wrong);
  (await logInBy(guest, device, email, { userHandle: null })).expect(201);
});

test('login: the passkey of another user, under its own name and under a stolen one', async () => {
  const [anna, bert] = [await aKeyholder(target), await aKeyholder(target)];
  (await logInBy(guest, bert.device, anna.email)).refused(401, wrong);
  (await logInBy(guest, bert.device, anna.email, { id: anna.device.id })).refused(401, wrong);
  (await logInBy(guest, bert.device, undefined, { id: anna.device.id })).refused(401, wrong);
});

test('login: a signature counter that stays or goes back is refused, and both are in the audit log', async () => {
  const { device, email, id } = await aKeyholder(target, new Authenticator({ counts: true }), { counter: 7 });
  for (const counter of [7, 6, 0]) {
    const { value, recorded } = await recordedBy(target, () => logInBy(guest, device, email, { counter }));
    value.refused(401, wrong);
    assert.deepEqual(recorded, refusedLogin);
  }
  (await logInBy(guest, device, email, { counter: 8 })).expect(201);
  (await logInBy(guest, device, email, { counter: 8 })).refused(401, wrong);
  const [row] = (await rowsOf(target, 'passkeys')).filter(({ user_id }) => user_id === id);
  assert.equal(Number(row?.counter), 8);
});

test('login: of two answers with one counter at once one counts', async () => {
  const { device } = await aKeyholder(target, new Authenticator({ counts: true }));
  const answers = await Promise.all([1, 2].map(() => logInBy(guest, device, undefined, { counter: 5 })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 401]);
});

test('a challenge is good for one call, right or wrong, also at once', async () => {
  const { device, email, client } = await aKeyholder(target);
  const options = await requestOptions(guest, email);
  const body = { email, response: device.get(options) };
  const answers = await Promise.all([1, 2, 3].map(() => guest.post(paths.loginFinish, body)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 401, 401]);
  (await guest.post(paths.loginFinish, body)).refused(401, wrong);

  const failed = await requestOptions(guest, email);
  (await guest.post(paths.loginFinish, { email, response: device.get(failed, { forged: true }) })).refused(401, wrong);
  (await guest.post(paths.loginFinish, { email, response: device.get(failed) })).refused(401, wrong);

  const creation = await creationOptions(client);
  (await client.post(paths.registerFinish, { response: new Authenticator().create(creation) })).expect(201);
  (await client.post(paths.registerFinish, { response: new Authenticator().create(creation) })).refused(401, wrong);
});

test('a challenge is good for five minutes', async () => {
  const { device, email, client } = await aKeyholder(target);
  const [inTime, late] = [await requestOptions(guest, email), await requestOptions(guest, email)];
  const creation = await creationOptions(client);
  target.clock.advance(5 * minute - 5000);
  (await guest.post(paths.loginFinish, { email, response: device.get(inTime) })).expect(201);
  target.clock.advance(6000);
  (await guest.post(paths.loginFinish, { email, response: device.get(late) })).refused(401, wrong);
  (await client.post(paths.registerFinish, { response: new Authenticator().create(creation) })).refused(401, wrong);
});

test('a challenge that was made before the clock was set back is refused', async () => {
  const { device, email } = await aKeyholder(target);
  const ahead = await requestOptions(guest, email);
  target.clock.step(-30 * minute);
  after(() => target.clock.step(30 * minute));
  (await guest.post(paths.loginFinish, { email, response: device.get(ahead) })).refused(401, wrong);
  (await logInBy(guest, device, email)).expect(201);
});

test('a challenge serves its purpose, its user, its address and its project only', async () => {
  const [anna, bert] = [await aKeyholder(target), await aKeyholder(target)];
  const abroad = createClient(target, { project: target.neighbour.id });
  const forLogin = await requestOptions(guest, anna.email);
  const forRegistration = await creationOptions(anna.client);
  const made = { ...forRegistration, challenge: forLogin.challenge };
  (await anna.client.post(paths.registerFinish, { response: new Authenticator().create(made) })).refused(401, wrong);
  const asked = { ...forLogin, challenge: forRegistration.challenge };
  (await guest.post(paths.loginFinish, { email: anna.email, response: anna.device.get(asked) })).refused(401, wrong);

  const ofAnna = await creationOptions(anna.client);
  (await bert.client.post(paths.registerFinish, { response: new Authenticator().create(ofAnna) })).refused(401, wrong);
  const named = await requestOptions(guest, anna.email);
  (await guest.post(paths.loginFinish, { response: anna.device.get(named) })).refused(401, wrong);
  const unnamed = await requestOptions(guest);
  (await guest.post(paths.loginFinish, { email: anna.email, response: anna.device.get(unnamed) })).refused(401, wrong);
  const here = await requestOptions(guest);
  (await abroad.post(paths.loginFinish, { response: anna.device.get(here) })).refused(401, wrong);
  (await logInBy(abroad, anna.device)).refused(401, wrong);
  (await guest.post(paths.loginFinish, { response: anna.device.get(here) })).expect(201);
});

test('a credential belongs to one user of a project', async () => {
  const anna = await aKeyholder(target);
  const bert = await aLoggedInUser(target);
  (await register(bert.client, anna.device)).refused(409, 'user_passkey_already_exists');
  (await register(anna.client, anna.device)).refused(409, 'user_passkey_already_exists');
  (await register(bert.client, new Authenticator(), { id: anna.device.id })).refused(
    409,
    'user_passkey_already_exists',
  );
  const neighbour = await aLoggedInUser(target, {}, { project: target.neighbour.id });
  (await register(neighbour.client, new Authenticator(), { id: anna.device.id })).expect(201);
});

test('an attestation is neither asked for nor followed', async () => {
  const { client } = await aLoggedInUser(target);
  const planted = { format: 'apple', certificates: [randomBytes(300)] };
  for (const format of ['packed', 'fido-u2f', 'android-key', 'android-safetynet', 'apple', 'tpm', 'nonsense'])
    (await register(client, new Authenticator(), { ...planted, format })).expect(201);
});

test('an algorithm that was not offered, and an id that is too long, are refused', async () => {
  const { client } = await aLoggedInUser(target);
  (await register(client, new Authenticator({ alg: -65535 }))).refused(401, wrong);
  const id = randomBytes(1024).toString('base64url');
  (await register(client, new Authenticator(), { id })).refused(400, 'general_argument_invalid');
  (await register(client, new Authenticator(), { id: randomBytes(1023).toString('base64url') })).expect(201);
});

test('a malformed response of an authenticator is 400, or 401 if only its bytes are wrong', async () => {
  const { client, device } = await aKeyholder(target);
  const good = device.get(await requestOptions(guest));
  const spoilt = (response: object) => ({ ...good, response: { ...good.response, ...response } });
  for (const response of [undefined, null, 'text', [], {}, { ...good, id: 'a b' }, { ...good, rawId: 'other' }])
    for (const path of [paths.loginFinish, paths.registerFinish])
      (await client.post(path, { response })).refused(400, 'general_argument_invalid');
  for (const response of [
    { signature: '' },
    { signature: 1 },
    { clientDataJSON: 'x'.repeat(30_000) },
    { authenticatorData: '+/=' },
  ])
    (await guest.post(paths.loginFinish, { response: spoilt(response) })).refused(400, 'general_argument_invalid');
  const json = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  for (const clientDataJSON of ['AAAA', json(null), json([]), json({ challenge: 1 }), json({ __proto__: null })])
    (await guest.post(paths.loginFinish, { response: spoilt({ clientDataJSON }) })).refused(401, wrong);
  for (const authenticatorData of [
    'AA',
    randomBytes(37).toString('base64url'),
    randomBytes(900).toString('base64url'),
  ]) {
    const { challenge } = await requestOptions(guest);
    const data = { type: 'webauthn.get', challenge, origin: 'http://localhost:3000' };
    const response = spoilt({ clientDataJSON: json(data), authenticatorData });
    (await guest.post(paths.loginFinish, { response })).refused(401, wrong);
  }
  for (let round = 0; round < 20; round++) {
    const { challenge } = await creationOptions(client);
    const data = { type: 'webauthn.create', challenge, origin: 'http://localhost:3000' };
    const attestationObject = randomBytes(1 + round * 20).toString('base64url');
    const response = { clientDataJSON: json(data), attestationObject };
    (await client.post(paths.registerFinish, { response: { ...good, response } })).refused(401, wrong);
  }
});

test('a session that ended concurrently registers nothing', async () => {
  const { client, email, password } = await aKeyholder(target);
  const options = await creationOptions(client);
  const { client: other } = await logInAgain(email, password);
  (await other.patch('/account/password', { password: 'another fine one', oldPassword: password })).expect(200);
  (await client.post(paths.registerFinish, { response: new Authenticator().create(options) })).refused(
    401,
    'general_unauthorized_scope',
  );

  async function logInAgain(address: string, word: string) {
    const answer = (await guest.post('/account/sessions/email', { email: address, password: word })).expect(201);
    return { client: createClient(target, { session: answer.string('secret') }) };
  }
});

test('challenges are stored as digests, without the address they were made for, and are pruned', async () => {
  const options = await requestOptions(guest, 'nobody.at.all@mail.example');
  const stored = JSON.stringify(await rowsOf(target, 'webauthn_challenges'));
  assert.ok(!stored.includes(options.challenge) && !stored.includes('nobody.at.all'));
  target.clock.advance(61 * minute);
  await target.appliance.features.jobs.tick('passkeys.prune');
  assert.deepEqual(await runSql(target, 'select * from webauthn_challenges'), []);
});
