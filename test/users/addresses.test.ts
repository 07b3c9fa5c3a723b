// Email addresses: domains that are not ASCII are compared and stored in ASCII, and what is longer than RFC 5321 allows is none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';

const target = await startAppliance();
const guest = createClient(target);
const password = 'a fine long password';
const signUp = (email: string) => guest.post('/account', { userId: 'unique()', email, password });

test('one address in several spellings is one account', async () => {
  const ascii = 'ada@xn--bcher-kva.example';
  const spellings = ['Ada@B\u00dcCHER.example', 'ada@bu\u0308cher\u3002example', 'ADA@XN--BCHER-KVA.EXAMPLE', ascii];
  const user = (await signUp(spellings[0] ?? '')).expect(201);
  assert.equal(user.body.email, ascii);
  const { client: key } = await aServerKey(target);
  for (const email of spellings) {
    (await signUp(email)).refused(409, 'user_already_exists');
    (await key.post('/users', { userId: 'unique()', email })).refused(409, 'user_already_exists');
    (await guest.post('/account/sessions/email', { email, password })).expect(201);
    const found = await target.appliance.features.users.getByIdOrEmail(target.project.id, email);
    assert.equal(found.id, user.body.$id);
  }
});

const long = (count: number) => 'a'.repeat(count);
const refused = {
  'a local part of 65 octets': `${long(65)}@mail.example`,
  'a label of 64 octets': `ada@${long(64)}.example`,
  'a label of 64 octets after the conversion': `ada@${'\u00fc'.repeat(60)}${long(3)}bcd.example`,
  '255 octets': `${long(64)}@${`${long(62)}.`.repeat(2)}${long(56)}.example`,
  'an encoded label that stands for another one': 'ada@xn--example-.com',
  'an escaped domain': 'ada@ex%61mple.com',
  'a port': 'ada@mail.example:25',
  'a path': 'ada@mail.example/x',
  'a local part that is not ASCII': '\u212ada@mail.example',
  'a number as top-level domain': 'ada@10.0.0.1',
};
for (const [name, email] of Object.entries(refused))
  test(`refused: ${name}`, async () => {
    (await signUp(email)).refused(400, 'general_argument_invalid');
    (await guest.post('/account/recovery', { email, url: 'http://localhost:3000' })).refused(
      400,
      'general_argument_invalid',
    );
  });

test('the longest address is taken', async () => {
  const email = `${long(64)}@${`${long(60)}.`.repeat(2)}${long(59)}.example`;
  assert.ok(email.length <= 254);
  (await signUp(email)).expect(201);
});
