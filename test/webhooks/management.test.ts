// The webhooks of a project, by server key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client as SdkClient, Webhooks } from 'node-appwrite';
import { Webhook } from 'standardwebhooks';
import type { ErrorType } from '#src/contract/errors.js';
import { events, everyEvent, subscribableEvents } from '#src/contract/events.js';
import { webhookLimits } from '#src/contract/limits.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy, rowsOf } from '../harness/database.js';

const target = await startAppliance();
const { client, secret: keySecret } = await aServerKey(target, { scopes: ['webhooks.read', 'webhooks.write'] });
const path = '/webhooks';
const only = (audit: string) => ({ audit: [audit], events: [], messages: [] });
let count = 0;
const body = (given: Record<string, unknown> = {}) => {
  count += 1;
  return { webhookId: `w${count}`, name: 'Hook', url: 'https://hooks.example.com/in', events: ['*'], ...given };
};
const first = body();
(await client.post(path, first)).expect(201);
const whsec = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;

test('a webhook is made, read, listed, changed and removed; its secret is shown once', async () => {
  const given = body({
    events: ['documentCreated', 'sessionDeleted', 'documentCreated'],
    authUsername: 'ada',
    authPassword: 'hush',
  });
  const made = await recordedBy(target, () => client.post(path, given));
  const { $createdAt, $updatedAt, secret, signingSecret, ...rest } = made.value.expect(201).body;
  const shown = {
    ...{ $id: given.webhookId, name: 'Hook', url: given.url, events: ['documentCreated', 'sessionDeleted'], tls: true },
    ...{ authUsername: 'ada', authPassword: '', previousSecretUntil: '', enabled: true, logs: '', attempts: 0 },
  };
  assert.deepEqual(rest, shown);
  assert.equal($createdAt, $updatedAt);
  assert.match(String(signingSecret), /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(secret, signingSecret);
  assert.deepEqual(made.recorded, only('webhookCreated'));

  const read = (await client.get(`${path}/${given.webhookId}`)).expect(200).body;
  assert.deepEqual(read, { ...shown, $createdAt, $updatedAt, secret: '' });
  const list = (await client.get(path)).expect(200);
  assert.equal(list.body.total, list.list('webhooks').length);
  assert.deepEqual(
    list.list('webhooks').find(({ $id }) => $id === given.webhookId),
    read,
  );

  const changed = await recordedBy(target, () =>
    client.put(`${path}/${given.webhookId}`, { name: 'Other', enabled: false }),
  );
  const { $updatedAt: _, ...after } = changed.value.expect(200).body;
  assert.deepEqual(after, { ...shown, $createdAt, secret: '', name: 'Other', enabled: false });
  assert.deepEqual(changed.recorded, only('webhookUpdated'));

  const removed = await recordedBy(target, () => client.delete(`${path}/${given.webhookId}`));
  assert.equal(removed.value.expect(204).text, '');
  assert.deepEqual(removed.recorded, only('webhookDeleted'));
  (await client.get(`${path}/${given.webhookId}`)).refused(404, 'webhook_not_found');

  const kept = JSON.stringify([await rowsOf(target, 'webhooks'), await rowsOf(target, 'audit_entries'), target.log()]);
  for (const hidden of [String(secret), String(secret).slice(6), 'hush']) assert.ok(!kept.includes(hidden), hidden);
});

test('a secret is rotated by POST and PATCH, to a new one or one of the caller', async () => {
  const given = body({ secret: whsec(24) });
  assert.equal((await client.post(path, given)).expect(201).body.secret, whsec(24));
  const at = `${path}/${given.webhookId}/secret`;
  const seen = new Set([whsec(24)]);
  for (const [method, change] of [
    ['POST', undefined],
    ['PATCH', {}],
    ['PATCH', { secret: whsec(64) }],
    ['POST', { overlap: 0 }],
  ] as const) {
    const { value, recorded } = await recordedBy(target, () => client.request(method, at, change));
    const { secret, signingSecret } = value.expect(200).body;
    assert.equal(secret, signingSecret);
    assert.ok(!seen.has(String(secret)), String(secret));
    seen.add(String(secret));
    new Webhook(String(secret));
    assert.deepEqual(recorded, only('webhookSecretRotated'));
  }
  assert.ok(seen.has(whsec(64)));
  assert.equal((await client.get(`${path}/${given.webhookId}`)).body.secret, '');
});

test('an unmodified SDK manages webhooks', async () => {
  const sdk = new Webhooks(
    new SdkClient().setEndpoint(`${target.origin}/v1`).setProject(target.project.id).setKey(keySecret),
  );
  const made = await sdk.create({
    webhookId: 'unique()',
    url: 'https://sdk.example.com',
    name: 'Sdk',
    events: ['fileCreated'],
  });
  assert.match(made.secret, /^whsec_/);
  const { $id: webhookId } = made;
  const updated = await sdk.update({ webhookId, name: 'New', url: 'https://sdk.example.com/2', events: ['*'] });
  assert.deepEqual([updated.name, updated.events, updated.secret], ['New', ['*'], '']);
  assert.equal((await sdk.get({ webhookId })).url, 'https://sdk.example.com/2');
  assert.ok((await sdk.list()).webhooks.some(({ $id }) => $id === webhookId));
  assert.notEqual((await sdk.updateSecret({ webhookId })).secret, made.secret);
  await sdk.delete({ webhookId });
});

test('a webhook may subscribe to every announced event', async () => {
  const announced = Object.entries(events).flatMap(([name, { announced: is }]) => (is ? [name] : []));
  const named: readonly string[] = subscribableEvents;
  assert.deepEqual([...named].sort(), announced.sort());
  for (const event of [...named, everyEvent]) (await client.post(path, body({ events: [event] }))).expect(201);
});

test('lists take limit and offset', async () => {
  const all = (await client.get(path)).expect(200).list('webhooks');
  const query = (method: string, value: unknown) =>
    `queries[]=${encodeURIComponent(JSON.stringify({ method, values: [value] }))}`;
  const page = (await client.get(`${path}?${query('limit', 2)}&${query('offset', 1)}`)).expect(200);
  assert.deepEqual([page.list('webhooks'), page.body.total], [all.slice(1, 3), all.length]);
  assert.equal((await client.get(`${path}?total=false`)).body.total, 0);
  for (const wrong of [query('limit', 0), query('limit', 'x'), query('equal', 1), 'queries[]=x', 'queries[]=null'])
    (await client.get(`${path}?${wrong}`)).refused(400, 'general_argument_invalid');
});

const at = `${path}/${first.webhookId}`;
const invalid = (
  name: string,
  given: Record<string, unknown>,
  message: RegExp,
): [string, string, string, unknown, RegExp] => [...([name, 'POST', path] as const), body(given), message];
const wrong: [string, string, string, unknown, RegExp][] = [
  invalid(
    'unknown events',
    { events: ['documentCreated', 'users.*', 'keyCreated'] },
    /unknown events: users\.\*, keyCreated/,
  ),
  invalid(
    'events of the feed',
    { events: ['teamCreated'] },
    /unknown events: teamCreated;.*; only the feed has teamCreated/,
  ),
  invalid('no events', { events: [] }, /events/),
  invalid('no name', { name: undefined }, /name/),
  invalid('a long name', { name: 'n'.repeat(129) }, /name/),
  invalid('no address', { url: undefined }, /url/),
  invalid('an id that begins with a dash', { webhookId: '-a' }, /webhookId/),
  invalid('a secret without prefix', { secret: 'a'.repeat(40) }, /secret/),
  invalid('a secret of 23 bytes', { secret: whsec(23) }, /24 to 64 bytes/),
  invalid('a secret of 65 bytes', { secret: whsec(65) }, /24 to 64 bytes/),
  invalid('a secret in the URL alphabet', { secret: `whsec_${Buffer.alloc(32, 255).toString('base64url')}` }, /base64/),
  invalid('certificates that are not verified', { tls: false }, /tls/),
  invalid('a colon in the name', { authUsername: 'a:b' }, /colon/),
  invalid('a long password', { authPassword: 'p'.repeat(257) }, /authPassword/),
  ['a change to unknown events', 'PUT', at, { events: ['nothing'] }, /unknown events: nothing/],
  ['a change that unverifies', 'PUT', at, { tls: false }, /tls/],
  ['a change to a private address', 'PUT', at, { url: 'https://10.0.0.1/' }, /not public/],
  ['too long an overlap', 'POST', `${at}/secret`, { overlap: webhookLimits.maxOverlapSeconds + 1 }, /overlap/],
  ['a wrong secret', 'PATCH', `${at}/secret`, { secret: 'whsec_x' }, /secret/],
  ['a test of no event', 'POST', `${at}/test`, { event: 'x' }, /event/],
  ...(
    [
      ['http://hooks.example.com/', /only https/],
      ['https://127.0.0.1/', /not public/],
      ['https://[::ffff:127.0.0.1]/', /not public/],
      ['https://2130706433/', /not public/],
      ['https://0177.0.0.1/', /not public/],
      ['https://0x7f.1/', /not public/],
      ['https://169.254.169.254/latest', /not public/],
      ['https://localhost/', /host name is not public/],
      ['https://localhost.localdomain/', /host name is not public/],
      ['https://api.default.svc/', /host name is not public/],
      ['https://metadata.google.internal./', /host name is not public/],
      ['https://168.63.129.16/metadata', /not public/],
      ['https://hooks.example.com\\@127.0.0.1/', /not public|backslash|user name/],
      ['https://hooks.example.com\\.internal/', /backslash/],
      ['https://hooks%2eexample.com/', /encoded/],
      ['https://user:pass@hooks.example.com/', /user name/],
      ['https://hooks.example.com:22/', /port/],
      ['https://hooks.example.com/#a', /fragment/],
      ['nothing', /not a URL/],
    ] as const
  ).map(([url, rule]) => invalid(`the address ${url}`, { url }, rule)),
];
for (const [name, method, where, given, message] of wrong) {
  test(`${name}: 400`, async () => {
    const { value, recorded } = await recordedBy(target, () => client.request(method, where, given));
    assert.match(value.refused(400, 'general_argument_invalid').string('message'), message);
    assert.deepEqual(recorded, nothing);
  });
}

const refusals: [string, string, string, unknown, number, ErrorType][] = [
  ['a taken id', 'POST', path, body({ webhookId: first.webhookId }), 409, 'webhook_already_exists'],
  ['a look at none', 'GET', `${path}/none`, undefined, 404, 'webhook_not_found'],
  ['a change of none', 'PUT', `${path}/none`, { name: 'N' }, 404, 'webhook_not_found'],
  ['a removal of none', 'DELETE', `${path}/none`, undefined, 404, 'webhook_not_found'],
  ['another secret for none', 'POST', `${path}/none/secret`, {}, 404, 'webhook_not_found'],
  ['deliveries of none', 'GET', `${path}/none/deliveries`, undefined, 404, 'webhook_not_found'],
  ['a test of none', 'POST', `${path}/none/test`, {}, 404, 'webhook_not_found'],
  ['a replay of none', 'POST', `${at}/deliveries/none/replay`, {}, 404, 'webhook_delivery_not_found'],
];
for (const [name, method, where, given, status, type] of refusals) {
  test(`${name}: ${status} ${type}`, async () => {
    const { value, recorded } = await recordedBy(target, () => client.request(method, where, given));
    value.refused(status, type);
    assert.deepEqual(recorded, nothing);
  });
}

test('each operation asks for its scope, and takes server keys only', async () => {
  const reader = (await aServerKey(target, { scopes: ['webhooks.read'] })).client;
  const writer = (await aServerKey(target, { scopes: ['webhooks.write'] })).client;
  const user = (await aLoggedInUser(target)).client;
  const one = body({ webhookId: 'scoped' });
  const calls: [string, string, unknown, boolean][] = [
    ['POST', path, one, true],
    ['GET', path, undefined, false],
    ['GET', `${path}/scoped`, undefined, false],
    ['GET', `${path}/scoped/deliveries`, undefined, false],
    ['PUT', `${path}/scoped`, { name: 'N' }, true],
    ['POST', `${path}/scoped/secret`, {}, true],
    ['PATCH', `${path}/scoped/secret`, {}, true],
    ['DELETE', `${path}/scoped`, undefined, true],
  ];
  for (const [method, where, given, writes] of calls) {
    const [able, unable] = writes ? [writer, reader] : [reader, writer];
    (await unable.request(method, where, given)).refused(401, 'general_unauthorized_scope');
    for (const other of [createClient(target), user])
      (await other.request(method, where, given)).refused(401, 'general_unauthorized_scope');
    assert.ok((await able.request(method, where, given)).status < 300, `${method} ${where}`);
  }
});

test('webhooks of another project are not there, and may have the same ids', async () => {
  const abroad = (await aServerKey(target, { projectId: target.neighbour.id })).client;
  (await abroad.get(at)).refused(404, 'webhook_not_found');
  (await abroad.delete(at)).refused(404, 'webhook_not_found');
  (await abroad.post(path, first)).expect(201);
  assert.equal((await abroad.get(path)).body.total, 1);
  (await client.get(at)).expect(200);
});

test('the number of webhooks of a project is limited, also for concurrent requests', async () => {
  const abroad = (await aServerKey(target, { projectId: target.neighbour.id })).client;
  const before = Number((await abroad.get(path)).body.total);
  const tries = webhookLimits.perProject + 5 - before;
  const answers = await Promise.all(Array.from({ length: tries }, () => abroad.post(path, body())));
  assert.equal(answers.filter(({ status }) => status === 201).length, webhookLimits.perProject - before);
  for (const refused of answers.filter(({ status }) => status !== 201)) refused.refused(400, 'webhook_limit_exceeded');
  assert.equal((await abroad.get(path)).body.total, webhookLimits.perProject);
});
