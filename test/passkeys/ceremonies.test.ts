// Passkeys through the front door: registering, logging in with and without an address, listing, renaming, removing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { minute } from '../harness/clock.js';
import { recordedBy, rowsOf } from '../harness/database.js';
import { changeSettings } from '../harness/project.js';
import { Authenticator } from './authenticator.js';
import { aKeyholder, creationOptions, logInBy, paths, register, requestOptions } from './setup.js';

const target = await startAppliance();
const guest = createClient(target);

test('a registration answers id, time and name, and is recorded as a factor', async () => {
  const user = await aLoggedInUser(target);
  const started = (await user.client.post(paths.registerStart)).expect(200);
  assert.deepEqual(Object.keys(started.body), ['options']);
  const options = await creationOptions(user.client);
  assert.deepEqual(options.rp, { id: 'localhost', name: target.project.name });
  assert.deepEqual([options.user.name, options.user.displayName], [user.email, user.name]);
  assert.ok(Buffer.from(options.challenge, 'base64url').length >= 16);
  const device = new Authenticator();
  const { value, recorded } = await recordedBy(target, () => register(user.client, device, {}, 'My phone'));
  assert.deepEqual(Object.keys(value.expect(201).body).sort(), ['$createdAt', '$id', 'name']);
  assert.equal(value.string('name'), 'My phone');
  assert.deepEqual(recorded, { audit: ['factorAdded'], events: [], messages: ['factor-added'] });
});

for (const [name, alg] of [
  ['ES256', -7],
  ['EdDSA', -8],
  ['RS256', -257],
] as const) {
  test(`a passkey of ${name} logs in, with the address and without`, async () => {
    const { id, email, device, passkeyId } = await aKeyholder(target, new Authenticator({ alg }));
    for (const named of [email, undefined, email.toUpperCase()]) {
      const { value, recorded } = await recordedBy(target, () => logInBy(guest, device, named));
      const { userId, provider, providerUid, factors } = value.expect(201).body;
      assert.deepEqual([userId, provider, providerUid, factors], [id, 'passkey', passkeyId, ['passkey']]);
      assert.deepEqual(recorded, { audit: ['sessionCreated'], events: ['sessionCreated'], messages: [] });
      const session = createClient(target, { session: value.string('secret') });
      assert.equal((await session.get('/account')).expect(200).string('$id'), id);
    }
  });
}

test('a login sets the cookie, also if a page of the project makes it', async () => {
  const { id, device } = await aKeyholder(target);
  const browser = createClient(target, { browser: 'http://localhost:3000' });
  (await logInBy(browser, device)).expect(201);
  assert.equal((await browser.get('/account')).expect(200).string('$id'), id);
  const foreign = createClient(target, { headers: { Origin: 'https://evil.example' } });
  (await logInBy(foreign, device)).refused(403, 'general_unknown_origin');
});

test('the transports of a passkey are kept and given back, also those that are not known yet', async () => {
  const keyholder = await aKeyholder(target);
  const named = [['hybrid', 'internal'], ['nfc', 'teleport', 'usb'], []];
  const devices = named.map((transports) => ({ device: new Authenticator(), transports }));
  for (const { device, transports } of devices) (await register(keyholder.client, device, { transports })).expect(201);
  const expected = [{ type: 'public-key', id: keyholder.device.id, transports: ['internal'] }];
  for (const { device, transports } of devices)
    expected.push({ type: 'public-key', id: device.id, ...(transports.length === 0 ? {} : { transports }) } as never);
  const byId = (list: readonly { readonly id: string }[]) => [...list].sort((a, b) => (a.id < b.id ? -1 : 1));
  assert.deepEqual(byId((await creationOptions(keyholder.client)).excludeCredentials), byId(expected));
  assert.deepEqual(byId((await requestOptions(guest, keyholder.email)).allowCredentials), byId(expected));
  for (const transports of [['<script>'], Array(9).fill('usb')])
    (await register(keyholder.client, new Authenticator(), { transports })).refused(400, 'general_argument_invalid');
});

test('options name the passkeys of the user; without an address they name none', async () => {
  const keyholder = await aKeyholder(target);
  const second = new Authenticator();
  (await register(keyholder.client, second)).expect(201);
  const ids = (list: readonly { id: string }[]) => list.map(({ id }) => id);
  const { excludeCredentials } = await creationOptions(keyholder.client);
  assert.deepEqual(ids(excludeCredentials), [keyholder.device.id, second.id]);
  const options = await requestOptions(guest, keyholder.email);
  assert.deepEqual(ids(options.allowCredentials), [keyholder.device.id, second.id]);
  assert.deepEqual([options.rpId, options.timeout, options.userVerification], ['localhost', 300_000, 'required']);
  assert.deepEqual((await requestOptions(guest)).allowCredentials, []);
  for (const device of [keyholder.device, second]) (await logInBy(guest, device, keyholder.email)).expect(201);
});

test('passkeys are listed, renamed and removed, each by its own user only', async () => {
  const { client, device, passkeyId, email } = await aKeyholder(target);
  (await logInBy(guest, device)).expect(201);
  const [listed, ...others] = (await client.get('/account/passkeys')).expect(200).list('passkeys');
  assert.deepEqual([others, listed?.$id, listed?.name], [[], passkeyId, 'Passkey']);
  assert.match(String(listed?.accessedAt), /^\d{4}-/);
  const stranger = await aKeyholder(target);
  (await stranger.client.patch(`/account/passkeys/${passkeyId}`, { name: 'Mine' })).refused(
    404,
    'user_passkey_not_found',
  );
  (await stranger.client.delete(`/account/passkeys/${passkeyId}`)).refused(404, 'user_passkey_not_found');
  const renamed = await client.patch(`/account/passkeys/${passkeyId}`, { name: 'Key ring' });
  assert.equal(renamed.expect(200).string('name'), 'Key ring');
  (await client.patch(`/account/passkeys/${passkeyId}`, { name: ' ' })).refused(400, 'general_argument_invalid');
  const { value, recorded } = await recordedBy(target, () => client.delete(`/account/passkeys/${passkeyId}`));
  value.expect(204);
  assert.deepEqual(recorded, { audit: ['factorRemoved'], events: [], messages: ['factor-removed'] });
  (await logInBy(guest, device, email)).refused(401, 'user_invalid_credentials');
  assert.equal((await client.get('/account/passkeys')).expect(200).body.total, 0);
});

test('a server key lists and removes the passkeys of a user', async () => {
  const { id, device, passkeyId } = await aKeyholder(target);
  const { client } = await aServerKey(target, { scopes: ['users.read', 'users.write'] });
  const path = `/users/${id}/passkeys`;
  assert.equal((await client.get(path)).expect(200).list('passkeys')[0]?.$id, passkeyId);
  (await client.get('/users/nobody/passkeys')).refused(404, 'user_not_found');
  (await client.delete(`${path}/another`)).refused(404, 'user_passkey_not_found');
  (await client.delete(`${path}/${passkeyId}`)).expect(204);
  (await logInBy(guest, device)).refused(401, 'user_invalid_credentials');
});

test('a user has at most twenty, also if the last two come at once', async () => {
  const { client } = await aKeyholder(target);
  for (let count = 1; count < 19; count++) (await register(client, new Authenticator())).expect(201);
  const [first, second] = await Promise.all(
    [new Authenticator(), new Authenticator()].map((one) => register(client, one)),
  );
  assert.deepEqual([first?.status, second?.status].sort(), [201, 400]);
  (await client.post(paths.registerStart)).refused(400, 'user_passkey_limit_exceeded');
  assert.equal((await client.get('/account/passkeys')).body.total, 20);
});

test('adding and removing need a login of the last twenty minutes; an anonymous account needs none for its first', async () => {
  const { client, passkeyId, device } = await aKeyholder(target);
  const late = device.create(await creationOptions(client));
  const anonymous = (await guest.post('/account/sessions/anonymous')).expect(201);
  const nobody = createClient(target, { session: anonymous.string('secret') });
  target.clock.advance(21 * minute);
  (await client.post(paths.registerStart)).refused(401, 'user_challenge_required');
  (await client.post(paths.registerFinish, { response: late })).expect(401);
  (await client.delete(`/account/passkeys/${passkeyId}`)).refused(401, 'user_challenge_required');
  const first = new Authenticator();
  (await register(nobody, first)).expect(201);
  (await nobody.post(paths.registerStart)).refused(401, 'user_challenge_required');
  // The passkey leads to the account now, so that another way in is not the session's to add.
  const upgrade = { email: 'late.upgrade@mail.example', password: 'a fine password' };
  (await nobody.patch('/account/email', upgrade)).refused(401, 'user_challenge_required');
  const again = (await logInBy(guest, first)).expect(201);
  assert.equal(again.string('userId'), anonymous.string('userId'));
  const fresh = createClient(target, { session: again.string('secret') });
  (await fresh.patch('/account/email', upgrade)).expect(200);
});

test('a JWT changes no passkeys, and a pending login sees none', async () => {
  const { client } = await aKeyholder(target);
  const jwt = createClient(target, { jwt: (await client.post('/account/jwts')).expect(201).string('jwt') });
  (await jwt.post(paths.registerStart)).refused(401, 'general_unauthorized_scope');
  (await jwt.get('/account/passkeys')).refused(401, 'general_unauthorized_scope');
  (await guest.post(paths.registerStart)).refused(401, 'general_unauthorized_scope');
});

test('passkeys are deleted with their user, and a blocked user learns of the block', async () => {
  const { client, id, device } = await aKeyholder(target);
  const blocked = await aKeyholder(target);
  const { client: server } = await aServerKey(target);
  (await server.patch(`/users/${blocked.id}/status`, { status: false })).expect(200);
  (await logInBy(guest, blocked.device)).refused(403, 'user_blocked');
  (await client.delete('/account')).expect(204);
  assert.equal((await rowsOf(target, 'passkeys')).filter(({ user_id }) => user_id === id).length, 0);
  (await logInBy(guest, device)).refused(401, 'user_invalid_credentials');
});

test('the domain of passkeys is a setting of the project', async () => {
  const { client } = await aLoggedInUser(target);
  await changeSettings(target, { 'passkeys.rpId': 'shop.example' });
  assert.equal((await creationOptions(client)).rp.id, 'shop.example');
  assert.equal((await requestOptions(guest)).rpId, 'shop.example');
  for (const wrong of ['https://shop.example', '127.0.0.1', 'Shop.example', 'shop.example:443', ''])
    await assert.rejects(changeSettings(target, { 'passkeys.rpId': wrong }), wrong);
  await changeSettings(target, { 'passkeys.rpId': null });
});
