// Creating an account.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorType } from '#src/contract/errors.js';
import { aLoggedInUser, aPerson, aServerKey, aUser, signUpBody } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy, rowsOf } from '../harness/database.js';
import { messagesTo } from '../harness/messages.js';
import { changeSettings } from '../harness/project.js';

const target = await startAppliance();
const guest = createClient(target);
const created = { audit: ['accountCreated'], events: [], messages: [] };

type Scenario = { name: string; body: Record<string, unknown>; status: number; type?: ErrorType; message?: RegExp };

const taken = await aUser(target);
const body = (given: Record<string, unknown> = {}) => ({ ...signUpBody(aPerson()), ...given });
const scenarios: Scenario[] = [
  { name: 'a new account', body: body(), status: 201 },
  { name: 'an id of the service', body: body({ userId: 'unique()' }), status: 201 },
  { name: 'an id of 36 characters', body: body({ userId: 'aZ09._-'.padEnd(36, 'x') }), status: 201 },
  { name: 'a name of 128 characters', body: body({ name: 'n'.repeat(128) }), status: 201 },
  { name: 'no name', body: body({ name: undefined }), status: 201 },
  { name: 'markup and SQL in the name', body: body({ name: `<b>'; drop table users; --` }), status: 201 },
  { name: 'a taken address', body: body({ email: taken.email }), status: 409, type: 'user_already_exists' },
  {
    name: 'a taken address in capitals',
    body: body({ email: taken.email.toUpperCase() }),
    status: 409,
    type: 'user_already_exists',
  },
  { name: 'a taken id', body: body({ userId: taken.id }), status: 409, type: 'user_already_exists' },
  ...[
    ['an id of 37 characters', { userId: 'x'.repeat(37) }, /userId/],
    ['an id that starts with a dash', { userId: '-abc' }, /userId/],
    ['an id with a space', { userId: 'a b' }, /userId.*must be 1 to 36/],
    ['an id that is a number', { userId: 5 }, /userId/],
    ['no id', { userId: undefined }, /"userId" is not optional/],
    ['no address', { email: undefined }, /"email" is not optional/],
    ['no password', { password: undefined }, /"password" is not optional/],
    ['an address without a domain', { email: 'ada' }, /email/],
    ['an address with a line break', { email: 'ada@mail.example\r\nBcc: all@mail.example' }, /email/],
    ['an address that is too long', { email: `${'a'.repeat(310)}@mail.example` }, /email/],
    ['an address in a list', { email: ['ada@mail.example'] }, /email/],
    ['a name of 129 characters', { name: 'n'.repeat(129) }, /`name` param: must have at most 128 characters/],
    [
      'everything wrong at once',
      { userId: '', email: 'x', name: 1 },
      /userId.*; .*email.*; .*name. param: must be a text$/,
    ],
  ].map(
    ([name, given, message]) =>
      ({
        name,
        body: body(given as Record<string, unknown>),
        status: 400,
        type: 'general_argument_invalid',
        message,
      }) as Scenario,
  ),
];

for (const scenario of scenarios) {
  test(`sign-up with ${scenario.name}: ${scenario.status}`, async () => {
    const { value: answer, recorded } = await recordedBy(target, () => guest.post('/account', scenario.body));
    if (scenario.type === undefined) {
      answer.expect(201);
      assert.deepEqual(recorded, created);
      assert.equal(answer.body.name, scenario.body.name ?? '');
      assert.equal(answer.body.email, String(scenario.body.email).toLowerCase());
      assert.equal(answer.headers.get('Set-Cookie'), null);
      return;
    }
    answer.refused(scenario.status, scenario.type);
    assert.match(answer.string('message'), scenario.message ?? /./);
    assert.deepEqual(recorded, nothing);
  });
}

test('an id of the service is 20 hex characters; a new account looks as described', async () => {
  const { $id, $createdAt, targets, ...rest } = (await guest.post('/account', body({ userId: 'unique()' }))).body;
  assert.match(String($id), /^[0-9a-f]{20}$/);
  assert.match(String($createdAt), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/);
  assert.deepEqual(
    [rest.status, rest.labels, rest.emailVerification, rest.phoneVerification, rest.mfa, rest.prefs, rest.phone],
    [true, [], false, false, false, {}, ''],
  );
  assert.ok(Array.isArray(targets) && targets[0].identifier === rest.email);
});

test('undeclared body fields are ignored, never assigned', async () => {
  const greedy = { status: false, labels: ['admin'], emailVerification: true, passwordHash: 'x', projectId: 'other' };
  const answer = (await guest.post('/account', body(greedy))).expect(201);
  assert.deepEqual([answer.body.status, answer.body.labels, answer.body.emailVerification], [true, [], false]);
});

test('the same address may sign up in another project, and the id too', async () => {
  const next = guest.with({ project: target.neighbour.id });
  (await next.post('/account', signUpBody({ ...aPerson(), id: taken.id, email: taken.email }))).expect(201);
});

test('of parallel sign-ups with one address exactly one succeeds', async () => {
  const { email } = aPerson();
  const { value: answers, recorded } = await recordedBy(target, () =>
    Promise.all(Array.from({ length: 8 }, () => guest.post('/account', body({ email })))),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(7).fill(409)]);
  assert.deepEqual(recorded, created);
});

test('a server key signs users up when it has the scope', async () => {
  const able = await aServerKey(target, { scopes: ['sessions.write'] });
  (await able.client.post('/account', body())).expect(201);
  const unable = await aServerKey(target, { scopes: ['platforms.read'] });
  const refused = (await unable.client.post('/account', body())).refused(401, 'general_unauthorized_scope');
  assert.match(refused.string('message'), /sessions\.write/);
});

test('a logged-in user may sign another user up', async () => {
  const { client } = await aLoggedInUser(target);
  (await client.post('/account', body())).expect(201);
});

test('a project may hide that an address is taken', async () => {
  const own = await startAppliance();
  const person = await aUser(own);
  await changeSettings(own, { 'signup.hideExisting': true });
  const client = createClient(own);
  const fresh = aPerson();
  const honest = (await client.post('/account', signUpBody(fresh))).expect(201);
  const attempt = {
    ...signUpBody({ ...aPerson(), email: person.email }),
    userId: 'unique()',
    password: 'the intruder 1',
  };
  const { value: hidden, recorded } = await recordedBy(own, () => client.post('/account', attempt));
  hidden.expect(201);
  assert.deepEqual(recorded, { ...nothing, messages: ['account-exists'] });
  assert.deepEqual(Object.keys(hidden.body), Object.keys(honest.body));
  const names = (answer: typeof hidden) => [...answer.headers.keys()].sort();
  assert.deepEqual(names(hidden), names(honest));
  const shape = ({ $id, $createdAt, email, name, ...rest }: Record<string, unknown>) => Object.keys(rest);
  assert.deepEqual(shape(hidden.list('targets')[0] ?? {}), shape(honest.list('targets')[0] ?? {}));
  (await client.post('/account/sessions/email', { email: person.email, password: 'the intruder 1' })).refused(
    401,
    'user_invalid_credentials',
  );
  assert.equal((await rowsOf(own, 'users')).length, 2);
});

test('if taken addresses are hidden, a taken id is not: no caller learns of an account that was never made', async () => {
  const own = await startAppliance();
  const [person, other] = [await aUser(own), await aUser(own)];
  await changeSettings(own, { 'signup.hideExisting': true });
  const client = createClient(own);
  const signUp = (id: string, email: string) =>
    client.post('/account', { ...signUpBody(aPerson()), userId: id, email });
  const table: [string, string, string, number, string[]][] = [
    ['both free', 'fresh-1', 'fresh1@mail.example', 201, []],
    ['the address taken', 'fresh-2', person.email, 201, ['account-exists']],
    ['the address taken, in other letters', 'fresh-3', person.email.toUpperCase(), 201, ['account-exists']],
    ['the address taken, no id chosen', 'unique()', person.email, 201, ['account-exists']],
    ['the id taken', other.id, 'fresh2@mail.example', 409, []],
    ['both taken, by two users', other.id, person.email, 409, []],
    ['both taken, by one user', person.id, person.email, 409, []],
  ];
  for (const [name, id, email, status, messages] of table) {
    const { value, recorded } = await recordedBy(own, () => signUp(id, email));
    if (status === 409) value.refused(409, 'user_already_exists');
    else value.expect(201);
    assert.deepEqual(recorded.messages, messages, name);
    if (status === 201) assert.equal(value.body.email, email.toLowerCase(), name);
  }
  // Whether the address is taken cannot be told from the refusal of the id.
  const refusals = [await signUp(other.id, 'fresh3@mail.example'), await signUp(other.id, person.email)];
  assert.equal(refusals[0]?.text, refusals[1]?.text);
  assert.equal((await rowsOf(own, 'users')).length, 3);
  const mail = (await messagesTo(own, person.email)).findLast(({ template }) => template === 'account-exists');
  assert.equal(mail?.locals.name, person.name);
});

test('mails about sign-ups with a taken address are few, and do not use up those that their holder asks for', async () => {
  const own = await startAppliance({ settings: { SVC_RATE_LIMITS: 'signup=1000/60' } });
  const person = await aUser(own);
  await changeSettings(own, { 'signup.hideExisting': true });
  const client = createClient(own);
  const attempt = () => client.post('/account', { ...signUpBody(aPerson()), email: person.email });
  const { recorded } = await recordedBy(own, async () => {
    for (let count = 0; count < 8; count++) (await attempt()).expect(201);
  });
  assert.deepEqual(recorded, { ...nothing, messages: ['account-exists', 'account-exists', 'account-exists'] });
  const url = 'http://localhost:3000/reset';
  for (let count = 0; count < 3; count++)
    (await client.post('/account/recovery', { email: person.email, url })).expect(201);
});

test('of sign-ups with one address at the same moment one makes the account, and all look alike', async () => {
  const own = await startAppliance();
  const sibling = await own.startSibling();
  await changeSettings(own, { 'signup.hideExisting': true });
  const email = 'at-once@mail.example';
  const answers = await Promise.all(
    [own, sibling, own, sibling, own, sibling].map((of) =>
      createClient(of).post('/account', { ...signUpBody(aPerson()), email }),
    ),
  );
  for (const answer of answers) answer.expect(201);
  assert.equal((await rowsOf(own, 'users')).length, 1);
  await sibling.close();
});
