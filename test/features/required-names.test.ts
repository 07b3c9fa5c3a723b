// A name that is required is more than white space; one may be set again; and no server key is born expired.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { minute } from '../harness/clock.js';

const target = await startAppliance();
const key = (await aServerKey(target)).client;
const { client: user } = await aLoggedInUser(target);
const blank = ['', ' ', '\t \n', '\u00a0\u2003'];
const hook = { url: 'https://example.com/hook', events: ['*'] };
const creations: [string, string, object, string, string][] = [
  ['a team', '/teams', { teamId: 'named' }, 'PUT', '/teams/named'],
  ['a webhook', '/webhooks', { webhookId: 'named', ...hook }, 'PUT', '/webhooks/named'],
  ['a database', '/databases', { databaseId: 'named' }, 'PUT', '/databases/named'],
  ['a collection', '/databases/named/collections', { collectionId: 'c' }, 'PUT', '/databases/named/collections/c'],
];
for (const [what, path, body, method, one] of creations) {
  test(`${what} has a name, when it is made and when it is renamed, and may be given the one it has`, async () => {
    for (const name of blank) (await key.post(path, { ...body, name })).refused(400, 'general_argument_invalid');
    (await key.post(path, body)).refused(400, 'general_argument_invalid');
    const name = ' A name ';
    assert.equal((await key.post(path, { ...body, name })).expect(201).body.name, name);
    for (const empty of blank)
      (await key.request(method, one, { name: empty })).refused(400, 'general_argument_invalid');
    assert.equal((await key.request(method, one, { name })).expect(200).body.name, name);
  });
}

test('users give themselves a name that is one; a sign-up may do without, and a server key may take it away', async () => {
  for (const name of blank) (await user.patch('/account/name', { name })).refused(400, 'general_argument_invalid');
  const given = { userId: 'nameless', email: 'nameless@mail.example', password: 'long enough 1' };
  assert.equal((await createClient(target).post('/account', given)).expect(201).body.name, '');
  assert.equal((await key.patch('/users/nameless/name', { name: '' })).expect(200).body.name, '');
});

test('an expired server key cannot be made', async () => {
  const at = (milliseconds: number) => new Date(target.clock.now() + milliseconds).toISOString();
  for (const expire of [at(-1), at(-365 * 86_400_000), '1970-01-01T00:00:00.000Z'])
    await assert.rejects(aServerKey(target, { expire }), { type: 'general_argument_invalid' });
  const short = (await aServerKey(target, { expire: at(minute) })).client;
  (await short.get('/teams')).expect(200);
  target.clock.advance(minute);
  (await short.get('/teams')).refused(401, 'project_key_expired');
});
