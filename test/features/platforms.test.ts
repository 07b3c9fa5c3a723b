// The platforms of a project, by server key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorType } from '#src/contract/errors.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy } from '../harness/database.js';

const target = await startAppliance();
const { client } = await aServerKey(target, { scopes: ['platforms.read', 'platforms.write'] });
const path = '/project/platforms';
const web = `${path}/web`;
const only = (audit: string) => ({ audit: [audit], events: [], messages: [] });
let count = 0;
const body = (given: Record<string, unknown> = {}) => {
  count += 1;
  return { platformId: `p${count}`, name: 'Web', hostname: `host${count}.example.com`, ...given };
};

const first = body();
const second = body();
for (const given of [first, second]) (await client.post(web, given)).expect(201);

test('a platform is made, read, listed, changed and removed', async () => {
  const given = body({ hostname: '*.Shop.Example.COM' });
  const made = await recordedBy(target, () => client.post(web, given));
  const { $createdAt, $updatedAt, ...rest } = made.value.expect(201).body;
  const hostname = '*.shop.example.com';
  assert.deepEqual(rest, { $id: given.platformId, name: 'Web', type: 'web', hostname, key: '' });
  assert.equal($createdAt, $updatedAt);
  assert.deepEqual(made.recorded, only('platformAdded'));
  assert.deepEqual((await client.get(`${path}/${given.platformId}`)).expect(200).body, made.value.body);
  const list = (await client.get(path)).expect(200);
  assert.equal(list.body.total, list.list('platforms').length);
  assert.deepEqual(
    list.list('platforms').find(({ $id }) => $id === given.platformId),
    made.value.body,
  );

  const change = { name: 'Shop', hostname: 'shop.example.com' };
  const changed = await recordedBy(target, () => client.put(`${web}/${given.platformId}`, change));
  const { name, hostname: renamed, $createdAt: still } = changed.value.expect(200).body;
  assert.deepEqual([name, renamed, still], ['Shop', 'shop.example.com', $createdAt]);
  assert.deepEqual(changed.recorded, only('platformChanged'));

  const removed = await recordedBy(target, () => client.delete(`${path}/${given.platformId}`));
  assert.equal(removed.value.expect(204).text, '');
  assert.deepEqual(removed.recorded, only('platformRemoved'));
  (await client.get(`${path}/${given.platformId}`)).refused(404, 'platform_not_found');
});

test('id and name may be left to the service', async () => {
  const answer = (await client.post(web, { hostname: 'plain.example.com' })).expect(201);
  assert.match(answer.string('$id'), /^[0-9a-f]{20}$/);
  assert.equal(answer.body.name, 'plain.example.com');
});

/** [the path, the member with the id of the app] */
const appMembers: [string, string][] = [
  ['android', 'applicationId'],
  ['apple', 'bundleIdentifier'],
  ['linux', 'packageName'],
  ['windows', 'packageIdentifierName'],
];
for (const [type, member] of appMembers) {
  test(`an app of the type ${type} is registered, read, changed and removed`, async () => {
    const at = `${path}/${type}`;
    const given = { platformId: `app-${type}`, name: 'App', [member]: 'com.Example.App' };
    const made = await recordedBy(target, () => client.post(at, given));
    const { $createdAt, $updatedAt, ...rest } = made.value.expect(201).body;
    const shown = { $id: given.platformId, name: 'App', type, hostname: '', key: 'com.Example.App' };
    assert.deepEqual(rest, { ...shown, [member]: 'com.Example.App' });
    assert.equal($createdAt, $updatedAt);
    assert.deepEqual(made.recorded, only('platformAdded'));
    assert.deepEqual((await client.get(`${path}/${given.platformId}`)).expect(200).body, made.value.body);
    const changed = (await client.put(`${at}/${given.platformId}`, { name: 'New', [member]: 'my_app' })).expect(200);
    assert.deepEqual([changed.body.name, changed.body[member]], ['New', 'my_app']);
    (await client.post(at, { ...given, platformId: 'other', [member]: 'my_app' })).refused(
      409,
      'platform_already_exists',
    );
    const web = { name: 'New', hostname: 'app.example.com' };
    (await client.put(`${path}/web/${given.platformId}`, web)).refused(404, 'platform_not_found');
    for (const wrong of ['', 'com example', 'https://app', 'a;b', 'ä.b', `a${'b'.repeat(256)}`])
      (await client.post(at, { ...given, platformId: 'wrong', [member]: wrong })).refused(
        400,
        'general_argument_invalid',
      );
    (await client.delete(`${path}/${given.platformId}`)).expect(204);
  });
}

const hostnames: [string, boolean][] = [
  ['localhost', true],
  ['10.0.0.1', true],
  ['xn--bcher-kva.example', true],
  ['a.b.c.d.e.f.example', true],
  [' padded.example ', true],
  ['https://app.example.com', false],
  ['app2.example.com:8080', false],
  ['app2.example.com/path', false],
  ['*', false],
  ['*.*.example.com', false],
  ['app*.example.com', false],
  ['*.10.0.0.1', false],
  ['-dash.example.com', false],
  ['under_score.example.com', false],
  ['bücher.example', false],
  ['two..dots.example', false],
  [`${'a'.repeat(64)}.example`, false],
  [`${'a.'.repeat(127)}ab`, false],
  ['', false],
];
for (const [hostname, accepted] of hostnames) {
  test(`the host name "${hostname.slice(0, 40)}" is ${accepted ? 'accepted' : 'refused'}`, async () => {
    const { value, recorded } = await recordedBy(target, () => client.post(web, body({ hostname })));
    if (accepted) return void value.expect(201);
    value.refused(400, 'general_argument_invalid');
    assert.deepEqual(recorded, nothing);
  });
}

const refusals: [string, string, string, unknown, number, ErrorType][] = [
  ['a taken id', 'POST', web, body({ platformId: first.platformId }), 409, 'platform_already_exists'],
  ['a taken host name', 'POST', web, body({ hostname: first.hostname }), 409, 'platform_already_exists'],
  [
    'a taken host name in capitals',
    'POST',
    web,
    body({ hostname: first.hostname.toUpperCase() }),
    409,
    'platform_already_exists',
  ],
  ['a change to a taken host name', 'PUT', `${web}/${second.platformId}`, first, 409, 'platform_already_exists'],
  ['a change of none', 'PUT', `${web}/none`, body(), 404, 'platform_not_found'],
  ['a removal of none', 'DELETE', `${path}/none`, undefined, 404, 'platform_not_found'],
  ['no host name', 'POST', web, body({ hostname: undefined }), 400, 'general_argument_invalid'],
  ['a name of 129 characters', 'POST', web, body({ name: 'n'.repeat(129) }), 400, 'general_argument_invalid'],
];
for (const [name, method, at, given, status, type] of refusals) {
  test(`${name}: ${status} ${type}`, async () => {
    const { value, recorded } = await recordedBy(target, () => client.request(method, at, given));
    value.refused(status, type);
    assert.deepEqual(recorded, nothing);
  });
}

test('of parallel changes to one host name one succeeds', async () => {
  const made = Array.from({ length: 6 }, () => body());
  for (const given of made) (await client.post(web, given)).expect(201);
  const change = { name: 'Same', hostname: 'same.example.com' };
  const answers = await Promise.all(made.map(({ platformId }) => client.put(`${web}/${platformId}`, change)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(5).fill(409)]);
});

test('each operation asks for its scope, and takes server keys only', async () => {
  const reader = (await aServerKey(target, { scopes: ['platforms.read'] })).client;
  const writer = (await aServerKey(target, { scopes: ['platforms.write'] })).client;
  const everything = (await aServerKey(target, { scopes: ['all'] })).client;
  const user = (await aLoggedInUser(target)).client;
  const one = body();
  const calls: [string, string, unknown, boolean][] = [
    ['POST', web, one, true],
    ['GET', path, undefined, false],
    ['GET', `${path}/${one.platformId}`, undefined, false],
    ['PUT', `${web}/${one.platformId}`, { name: 'N', hostname: 'n.example.com' }, true],
    ['DELETE', `${path}/${one.platformId}`, undefined, true],
  ];
  for (const [method, at, given, writes] of calls) {
    const [able, unable] = writes ? [writer, reader] : [reader, writer];
    const refused = (await unable.request(method, at, given)).refused(401, 'general_unauthorized_scope');
    assert.match(refused.string('message'), writes ? /platforms\.write/ : /platforms\.read/);
    for (const other of [createClient(target), user])
      (await other.request(method, at, given)).refused(401, 'general_unauthorized_scope');
    assert.ok((await able.request(method, at, given)).status < 300);
  }
  (await everything.get(path)).expect(200);
});

test('platforms of another project are not there', async () => {
  const abroad = await aServerKey(target, { projectId: target.neighbour.id });
  const given = body();
  (await client.post(web, given)).expect(201);
  (await abroad.client.get(`${path}/${given.platformId}`)).refused(404, 'platform_not_found');
  (await abroad.client.delete(`${path}/${given.platformId}`)).refused(404, 'platform_not_found');
  assert.equal((await abroad.client.get(path)).body.total, 0);
  (await abroad.client.post(web, given)).expect(201);
  (await client.get(`${path}/${given.platformId}`)).expect(200);
});
