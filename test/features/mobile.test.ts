// What an app on a phone does, with the origin that the SDKs for apps send: sign-up, login by cookie, documents, files, realtime.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aBackend } from '../documents/setup.js';
import { upload } from '../files/setup.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { openSocket, subscribed } from '../realtime/client.js';

const target = await startAppliance({ settings: { SVC_BASE_URL: 'https://api.example.com/v1' } });
const { key, collection } = await aBackend(target);
(await key.post('/project/platforms/android', { platformId: 'a', name: 'A', applicationId: 'com.example.app' })).expect(
  201,
);
(
  await key.post('/project/platforms/apple', { platformId: 'i', name: 'I', bundleIdentifier: 'com.example.app' })
).expect(201);
const sdk = {
  'X-SDK-Name': 'React Native',
  'X-SDK-Platform': 'client',
  'X-SDK-Language': 'reactnative',
  'X-Appwrite-Response-Format': '1.9.5',
};

for (const system of ['android', 'ios', 'macos']) {
  test(`an app on ${system} signs up, logs in, and uses documents, files and realtime`, async () => {
    const headers = { Origin: `appwrite-${system}://com.example.app`, ...sdk };
    const app = createClient(target, { brand: 'Appwrite', headers });
    const [email, password] = [`${system}@mail.example`, 'a long password'];
    (await app.post('/account', { userId: 'unique()', email, password })).expect(201);
    const login = (await app.post('/account/sessions/email', { email, password })).expect(201);
    assert.equal(login.headers.get('Access-Control-Allow-Origin'), headers.Origin);
    assert.match(login.headers.get('X-Fallback-Cookies') ?? '', /"a_session_main"/);
    const cookie = String(login.headers.getSetCookie()[0]?.split(';')[0]);
    const user = createClient(target, { brand: 'Appwrite', headers: { ...headers, Cookie: cookie } });
    const id = (await user.get('/account')).expect(200).string('$id');

    const permissions = ['create("users")', 'read("users")'];
    const some = await collection({ attributes: { n: { type: 'integer' } }, permissions });
    const socket = await subscribed(target, ['documents'], { Origin: headers.Origin, Cookie: cookie });
    (await user.post(some.documents, { documentId: 'one', data: { n: 1 } })).expect(201);
    const [event] = await socket.told(1);
    assert.equal(event?.payload.$id, 'one');

    const bucketId = `bucket-${system}`;
    (await key.post('/storage/buckets', { bucketId, name: 'B', permissions })).expect(201);
    const file = (await upload(user, `/storage/buckets/${bucketId}/files`, 'bytes')).expect(201);
    const at = `/storage/buckets/${bucketId}/files/${file.string('$id')}/view`;
    assert.equal((await user.get(at)).expect(200).text, 'bytes');
    (await user.patch('/account/name', { name: id })).expect(200);
    (await user.delete('/account/sessions/current')).expect(204);
    (await user.get('/account')).refused(401, 'general_unauthorized_scope');
  });
}

test('an app that is no platform can neither log in nor open a socket', async () => {
  const headers = { Origin: 'appwrite-android://com.example.other' };
  const [email, password] = ['other@mail.example', 'a long password'];
  (await createClient(target).post('/account', { userId: 'unique()', email, password })).expect(201);
  const app = createClient(target, { headers });
  (await app.post('/account/sessions/email', { email, password })).refused(403, 'general_unknown_origin');
  assert.equal(await (await openSocket(target, { headers })).closed, 1008);
});
