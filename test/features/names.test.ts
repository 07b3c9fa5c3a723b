// Names are read in terminals and on pages: what would steer either is refused wherever a name is set.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { aLoggedInUser, aPerson, aServerKey, signUpBody } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { nothing, recordedBy } from '../harness/database.js';

const target = await startAppliance();
const guest = createClient(target);
const key = (await aServerKey(target)).client;
const user = await aLoggedInUser(target);
const { client } = user;

const steering = [
  ...[
    '\u0001',
    '\u0007',
    '\b',
    '\t',
    '\n',
    '\r',
    '\u001b',
    '\u001b]0;title\u0007',
    '\u007f',
    '\u0085',
    '\u009b',
    '\u009d',
  ],
  ...['\u2028', '\u2029', '\u202a', '\u202e', '\u2066', '\u2069'],
];
const printed = [
  ...[
    'Ada Lovelace',
    'Zoë',
    '王小明',
    'أمينة',
    'می‌خواهم',
    'רות',
    '👩‍👩‍👧',
    "O'Hara",
    '<b>&amp;</b>',
    '../..',
    '\\n',
    '%0a',
    'a\u00a0b',
  ],
];

/** [what, who, method, path, member, the rest of the body] */
const places: [string, Client, string, string, string, () => Record<string, unknown>][] = [
  ['an account at sign-up', guest, 'POST', '/account', 'name', () => signUpBody(aPerson())],
  ['an account', client, 'PATCH', '/account/name', 'name', () => ({})],
  ['a user', key, 'POST', '/users', 'name', () => ({ ...signUpBody(aPerson()) })],
  ['a user that is changed', key, 'PATCH', `/users/${user.id}/name`, 'name', () => ({})],
  ['a team', client, 'POST', '/teams', 'name', () => ({ teamId: 'unique()' })],
  ['a webhook', key, 'POST', '/webhooks', 'name', () => ({ url: 'https://hooks.example.com/', events: ['*'] })],
  [
    'a platform',
    key,
    'POST',
    '/project/platforms/web',
    'name',
    () => ({ hostname: `${aPerson().email.split('@')[0]}.example` }),
  ],
  ['a database', key, 'POST', '/databases', 'name', () => ({ databaseId: 'unique()' })],
];
for (const [what, who, method, path, member, rest] of places) {
  test(`the name of ${what} holds no control characters`, async () => {
    for (const character of steering) {
      for (const name of [`before${character}after`, character, `end${character}`]) {
        const { value, recorded } = await recordedBy(target, () =>
          who.request(method, path, { ...rest(), [member]: name }),
        );
        assert.match(value.refused(400, 'general_argument_invalid').string('message'), /control characters/);
        assert.deepEqual(recorded, nothing);
      }
    }
  });
  test(`the name of ${what} holds what people write`, async () => {
    for (const name of printed) {
      const answer = await who.request(method, path, { ...rest(), [member]: name });
      assert.ok(answer.status < 300, answer.text);
      assert.equal(answer.body.name, name);
    }
  });
}

test('every name and key that an operation takes refuses them', () => {
  const seen: string[] = [];
  for (const { declaration } of target.appliance.features.operations) {
    const { input: { body } = {} } = declaration;
    if (!(body instanceof z.ZodObject)) continue;
    for (const [member, schema] of Object.entries(body.shape)) {
      if (!/^(name|\w+Name|key|newKey|identifier)$/.test(member)) continue;
      seen.push(`${declaration.id} ${member}`);
      for (const character of steering)
        assert.equal((schema as z.ZodType).safeParse(`a${character}b`).success, false, `${declaration.id} ${member}`);
    }
  }
  for (const one of ['account.create name', 'databases.createCollection name', 'databases.createIndex key'])
    assert.ok(seen.includes(one), seen.join());
  assert.ok(seen.length > 25, String(seen.length));
});
