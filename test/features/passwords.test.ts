// Which passwords are accepted, and that nothing of them is lost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dictionary } from '@zxcvbn-ts/language-common';
import type { ErrorType } from '#src/contract/errors.js';
import { aLoggedInUser, aPerson, aUser, signUpBody } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';

const target = await startAppliance();
const guest = createClient(target);

const policy = 'password_policy_violation';
const invalid = 'general_argument_invalid';
const owner = { email: 'ada.lovelace@mail.example', name: 'Countess Ada' };

const refused: [string, string, ErrorType][] = [
  ['7 characters', 'abc defg'.slice(0, 7), policy],
  ['7 characters outside the basic plane, which are 14 code units', '🦄'.repeat(7), policy],
  ['nothing at all', '', policy],
  ['one of the most common ones', 'password', policy],
  ['one of the most common ones in capitals', 'PASSWORD1', policy],
  ['the local part of the own address', 'ada.lovelace', policy],
  ['the own address', 'ADA.lovelace@mail.example', policy],
  ['the own name', 'countess ada', policy],
  ['the name of the project', 'project main', policy],
  ['257 characters', 'x'.repeat(257), invalid],
  ['257 characters outside the basic plane', '🦄'.repeat(257), invalid],
  ['60 000 characters', 'x'.repeat(60_000), invalid],
  ['a NUL character', 'before\0after it', invalid],
  ['half a surrogate pair', 'half \ud83e and more', invalid],
];

for (const [name, password, type] of refused) {
  test(`a password of ${name} is refused at sign-up and at a change`, async () => {
    const body = { ...signUpBody(aPerson()), ...owner, password };
    (await guest.post('/account', body)).refused(400, type);
    const email = `${crypto.randomUUID()}@mail.example`;
    const own = type === policy && password.toLowerCase().startsWith('ada');
    const user = await aLoggedInUser(target, { email, name: owner.name });
    if (own) return;
    const change = { password, oldPassword: user.password };
    (await user.client.patch('/account/password', change)).refused(400, type);
    (await user.client.get('/account')).expect(200);
  });
}

const accepted: [string, string][] = [
  ['8 characters', 'k9 vzq w'],
  ['8 characters outside the basic plane', '🦄🐙🦊🐢🦉🐝🦋🐬'],
  ['64 characters', `${'long and winding road '.repeat(3)}`.slice(0, 64)],
  ['256 characters', 'y'.repeat(256)],
  ['1024 bytes', '🦄'.repeat(256)],
  ['control characters', 'tab\there\u0007bell'],
  ['SQL', `' or 1=1; drop table users; --`],
  ['spaces at both ends', '  padded text  '],
  ['only digits', '8264019375'],
];

for (const [name, password] of accepted) {
  test(`a password of ${name} is accepted and logs in`, async () => {
    const { email } = await aUser(target, { password });
    (await guest.post('/account/sessions/email', { email, password })).expect(201);
  });
}

const different: [string, string, string][] = [
  ['in the last of 200 characters', `${'z'.repeat(199)}a`, `${'z'.repeat(199)}b`],
  ['after 72 bytes', `${'q'.repeat(72)}one`, `${'q'.repeat(72)}two`],
  ['in the last of 1024 bytes', `${'🦄'.repeat(255)}🐙`, `${'🦄'.repeat(255)}🦊`],
  ['in case', 'Correct Horse Battery', 'correct horse battery'],
  ['in a space at the end', 'correct horse ', 'correct horse'],
  ['in compatibility form', 'the ﬁne password', 'the fine password'],
];

for (const [name, password, other] of different) {
  test(`passwords that differ ${name} are different`, async () => {
    const { email } = await aUser(target, { password });
    const answer = await guest.post('/account/sessions/email', { email, password: other });
    answer.refused(401, 'user_invalid_credentials');
    (await guest.post('/account/sessions/email', { email, password })).expect(201);
  });
}

test('both ways to write an accent are one password', async () => {
  const composed = 'd\u00e9j\u00e0 vu, encore';
  const decomposed = composed.normalize('NFD');
  assert.notEqual(composed, decomposed);
  for (const [first, second] of [
    [composed, decomposed],
    [decomposed, composed],
  ] as const) {
    const { email } = await aUser(target, { password: first });
    (await guest.post('/account/sessions/email', { email, password: second })).expect(201);
  }
  const user = await aLoggedInUser(target, { password: composed });
  const change = { password: 'something else', oldPassword: decomposed };
  (await user.client.patch('/account/password', change)).expect(200);
});

test('the minimum is a setting, never below 8', async () => {
  const strict = await startAppliance({ settings: { SVC_PASSWORD_MIN_LENGTH: '12' } });
  const client = createClient(strict);
  const short = await client.post('/account', { ...signUpBody(aPerson()), password: 'elevenchars' });
  assert.match(short.refused(400, policy).string('message'), /12 characters/);
  (await client.post('/account', { ...signUpBody(aPerson()), password: 'twelve chars' })).expect(201);
  for (const length of ['7', '0', '65', '8.5', '-9'])
    await assert.rejects(startAppliance({ settings: { SVC_PASSWORD_MIN_LENGTH: length } }), /SVC_PASSWORD_MIN_LENGTH/);
});

test('the list of common passwords holds at least 3000 that are long enough', async () => {
  const long = dictionary['passwords-common'].filter((word) => String(word).length >= 8);
  assert.ok(long.length >= 3000, String(long.length));
  for (const word of [long[0], long[500], long[2999]]) {
    const answer = await guest.post('/account', { ...signUpBody(aPerson()), password: String(word) });
    answer.refused(400, policy);
  }
});
