// Who a request is from, when several answers are possible, and for which project.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import type { ErrorType } from '#src/contract/errors.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { day, minute } from '../harness/clock.js';
import { nothing, recordedBy, rowsOf, runSql } from '../harness/database.js';
import { eventually } from '../webhooks/setup.js';

const target = await startAppliance();
const bare = createClient(target, { project: null });
const project = { 'X-Service-Project': target.project.id };
const ada = await aLoggedInUser(target);
const bob = await aLoggedInUser(target);
const stranger = await aLoggedInUser(target, {}, { project: target.neighbour.id });
const gone = await aLoggedInUser(target);
(await gone.client.delete('/account/sessions/current')).expect(204);
const key = await aServerKey(target);
const foreignKey = await aServerKey(target, { projectId: target.neighbour.id });
const expired = await aServerKey(target, { expire: instantOf(target.clock.now() + 60_000) });
target.clock.advance(60_000);
const revoked = await aServerKey(target);
await runSql(target, 'delete from api_keys where id = ?', [revoked.id]);
const unknownKey = () => {
  const [id, secret] = ['0'.repeat(20), 'A'.repeat(43)];
  return `sk_${id}.${secret}${crc32(id + secret)
    .toString(36)
    .padStart(7, '0')}`;
};

type Scenario = [name: string, headers: Record<string, string>, status: number, type: ErrorType];
const cookie = `other=1; svc_main=${ada.secret}; last=2`;
const both = 'user_api_key_and_session_set';
const unauthorised = 'general_unauthorized_scope';
const jwt = { 'X-Service-JWT': 'eyJhbGciOiJub25lIn0.e30.' };
const scenarios: Scenario[] = [
  ['nothing', {}, 401, unauthorised],
  ['a key and a session', { 'X-Service-Key': key.secret, 'X-Service-Session': ada.secret }, 403, both],
  ['a key and a cookie', { 'X-Service-Key': key.secret, Cookie: cookie }, 403, both],
  ['a key and a session under different brands', { 'X-Service-Key': key.secret, 'X-Appwrite-Session': 'x' }, 403, both],
  ['a key and a JWT', { 'X-Service-Key': key.secret, ...jwt }, 403, both],
  ['a key, a session and a JWT', { 'X-Service-Key': 'x', 'X-Service-Session': 'x', ...jwt }, 403, both],
  ['a JWT and a session', { ...jwt, 'X-Service-Session': ada.secret }, 403, 'user_jwt_and_cookie_set'],
  ['a JWT and a cookie', { ...jwt, Cookie: cookie }, 403, 'user_jwt_and_cookie_set'],
  ['a JWT without a signature', jwt, 401, 'user_jwt_invalid'],
  ['a JWT that is none', { 'X-Service-JWT': 'none' }, 401, 'user_jwt_invalid'],
  ['a JWT by the alias', { 'X-Appwrite-JWT': 'none' }, 401, 'user_jwt_invalid'],
  ['an expired key', { 'X-Service-Key': expired.secret }, 401, 'project_key_expired'],
  ['a key of another project', { 'X-Service-Key': foreignKey.secret }, 401, unauthorised],
  ['a revoked key', { 'X-Service-Key': revoked.secret }, 401, unauthorised],
  ['an unknown key', { 'X-Service-Key': unknownKey() }, 401, unauthorised],
  ['a key with a typing error', { 'X-Service-Key': `${key.secret.slice(0, -1)}!` }, 401, unauthorised],
  ['a session in place of the key', { 'X-Service-Key': ada.secret }, 401, unauthorised],
  ['a key in place of the session', { 'X-Service-Session': key.secret }, 401, unauthorised],
  ['a session in the Authorization header', { Authorization: `Bearer ${ada.secret}` }, 401, unauthorised],
];
for (const [name, headers, status, type] of scenarios) {
  test(`a request with ${name}: ${status} ${type}`, async () => {
    for (const path of ['/account', '/project/platforms']) {
      const { value, recorded } = await recordedBy(target, () => bare.get(path, { ...project, ...headers }));
      value.refused(status, type);
      assert.deepEqual(recorded, nothing);
    }
  });
}

const logIn = 'Log in first: this operation is for users.';
const ended = 'The session is not valid or has ended. Log in again.';
const refusals: [caller: string, headers: Record<string, string>, path: string, message: string][] = [
  ['nobody', {}, '/account', logIn],
  ['nobody, who sends an empty session', { 'X-Service-Session': '' }, '/account', logIn],
  ['nobody', {}, '/teams', 'Log in first: this operation is for users and server keys.'],
  ['nobody', {}, '/project/platforms', 'This operation is for server keys.'],
  ['a session that is none', { 'X-Service-Session': 'x' }, '/account', ended],
  ['a session of another project, in a cookie', { Cookie: `svc_main=${stranger.secret}` }, '/teams', ended],
  ['a session that has ended', { 'X-Service-Session': gone.secret }, '/account', ended],
  ['a user', { 'X-Service-Session': ada.secret }, '/project/platforms', 'This operation is for server keys.'],
  [
    'a server key',
    { 'X-Service-Key': key.secret },
    '/account',
    'This operation is for users. Send the session or JWT of a user, and no server key.',
  ],
];
for (const [caller, headers, path, message] of refusals) {
  test(`${caller} gets at ${path}: ${message}`, async () => {
    const answer = await bare.get(path, { ...project, ...headers });
    assert.equal(answer.refused(401, unauthorised).string('message'), message);
  });
}

const accepted: [string, Record<string, string>][] = [
  ['by the header', { 'X-Service-Session': ada.secret }],
  ['by the header of the alias', { 'X-Appwrite-Session': ada.secret }],
  ['by lower-case names', { 'x-service-session': ada.secret }],
  ['by the cookie', { Cookie: cookie }],
  [
    'by the header, although the cookie is of another user',
    { 'X-Service-Session': ada.secret, Cookie: `svc_main=${bob.secret}` },
  ],
  ['by the header, although the cookie is worthless', { 'X-Service-Session': ada.secret, Cookie: 'svc_main=x' }],
  [
    'by the header, beside empty ones',
    { 'X-Service-Session': '', 'X-Appwrite-Session': ada.secret, 'X-Service-Key': '', 'X-Appwrite-JWT': '' },
  ],
  [
    'by our header where the alias says otherwise',
    { 'X-Service-Session': ada.secret, 'X-Appwrite-Session': bob.secret },
  ],
  ['by the fallback of browsers', { 'X-Fallback-Cookies': JSON.stringify({ svc_main: ada.secret }) }],
  ['by the cookie beside a worthless fallback', { Cookie: cookie, 'X-Fallback-Cookies': '{' }],
  ['by the cookie beside an empty fallback', { Cookie: cookie, 'X-Fallback-Cookies': '[]' }],
  ['by the cookie beside a fallback that is null', { Cookie: cookie, 'X-Fallback-Cookies': 'null' }],
];
for (const [name, headers] of accepted) {
  test(`a user is known ${name}`, async () => {
    const answer = (await bare.get('/account', { ...project, ...headers })).expect(200);
    assert.equal(answer.body.$id, ada.id);
  });
}

test('a session that a server key opens is in the body only, so that an HTTP client with cookies goes on with the key', async () => {
  const { email, password } = ada;
  const headers = { ...project, 'X-Service-Key': key.secret };
  const opened = (await bare.post('/account/sessions/email', { email, password }, headers)).expect(201);
  assert.notEqual(opened.body.secret, '');
  assert.deepEqual([opened.headers.get('set-cookie'), opened.headers.get('x-fallback-cookies')], [null, null]);
});

const projects: [string, string, Record<string, string>, number][] = [
  ['in the header', '', { 'X-Service-Project': 'main' }, 401],
  ['in the header of the alias', '', { 'X-Appwrite-Project': 'main' }, 401],
  ['in the address', '?project=main', {}, 401],
  ['twice in the address', '?project=main&project=none', {}, 401],
  ['in an empty header and in the address', '?project=main', { 'X-Service-Project': '' }, 401],
  ['nowhere', '', {}, 404],
  ['as an empty text', '?project=', { 'X-Service-Project': '' }, 404],
  ['unknown', '', { 'X-Service-Project': 'none' }, 404],
  ['in capitals', '', { 'X-Service-Project': 'MAIN' }, 404],
  ['with a NUL character', '?project=main%00', {}, 404],
  ['as SQL', '?project=%27%20or%20%271%27=%271', {}, 404],
  ['as an array', '?project[]=main', {}, 404],
  ['with bytes that are not UTF-8', '?project=%FF%FE', {}, 404],
  ['with half a surrogate pair', '?project=%ED%A0%80', {}, 404],
  ['of a thousand characters', `?project=${'x'.repeat(1000)}`, {}, 404],
];
for (const [name, query, headers, status] of projects) {
  test(`a project named ${name}: ${status}`, async () => {
    const answer = await bare.get(`/account${query}`, headers);
    answer.refused(status, status === 404 ? 'project_not_found' : unauthorised);
  });
}

test('a request without a project gets the name of the header', async () => {
  const answer = await bare.get('/account');
  answer.refused(404, 'project_not_found');
  assert.match(
    answer.text,
    /The request names no project\. Send the header X-Service-Project \(setProject in an SDK\), or add \?project=ID to a link\./,
  );
});

test('the aliases are a setting, and may be none', async () => {
  const own = await target.startSibling({ settings: { SVC_HEADER_ALIASES: 'Acme,Other' } });
  const client = createClient(own, { project: null });
  for (const brand of ['Service', 'Acme', 'OTHER'])
    (await client.get('/account', { [`X-${brand}-Project`]: 'main', [`X-${brand}-Session`]: ada.secret })).expect(200);
  (await client.get('/account', { 'X-Appwrite-Project': 'main' })).refused(404, 'project_not_found');
  await assert.rejects(target.startSibling({ settings: { SVC_HEADER_ALIASES: 'a b' } }), /SVC_HEADER_ALIASES/);
});

test('a key works until the moment it expires, and its last use is kept to the day', async () => {
  const expire = instantOf(target.clock.now() + 5 * minute);
  const { client, id } = await aServerKey(target, { expire });
  const accessed = async () => (await rowsOf(target, 'api_keys')).find((row) => row.id === id)?.accessed_at;
  assert.equal(await accessed(), null);
  // A busy database skips this write, and the next use makes it.
  const first = await eventually(async () => {
    (await client.get('/project/platforms')).expect(200);
    const at = await accessed();
    assert.equal(typeof at, 'string');
    return at;
  });
  target.clock.advance(4 * minute);
  (await client.get('/project/platforms')).expect(200);
  assert.equal(await accessed(), first);
  target.clock.advance(minute);
  (await client.get('/project/platforms')).refused(401, 'project_key_expired');
  const lasting = await aServerKey(target);
  (await lasting.client.get('/project/platforms')).expect(200);
  target.clock.advance(day + minute);
  (await lasting.client.get('/project/platforms')).expect(200);
});
