// How often a password may be guessed, and how often accounts may be made, with the product's own numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aPerson, aServerKey, aUser, logIn, signUpBody } from '../harness/actors.js';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { type Answer, type Client, createClient } from '../harness/client.js';
import { minute } from '../harness/clock.js';

const shipped = { SVC_RATE_LIMITS: '', SVC_TRUSTED_PROXIES: '127.0.0.0/8' };
const target = await startAppliance({ settings: shipped });
const path = '/account/sessions/email';
const limited = 'general_rate_limit_exceeded';

let addresses = 0;
/** A client with an address that nobody used yet. */
function stranger(of: TestAppliance = target): Client {
  addresses += 1;
  return from(`198.51.${addresses >> 8}.${addresses & 255}`, of);
}
function from(address: string, of: TestAppliance = target): Client {
  return createClient(of, { headers: { 'X-Forwarded-For': address } });
}
/** A user who signed up from an address of its own. */
function user(of: TestAppliance = target, given: { readonly password?: string } = {}) {
  addresses += 1;
  return aUser(of, given, { headers: { 'X-Forwarded-For': `203.0.113.${addresses}` } });
}
const password = 'one password for all';
/** A logged-in user who signed up from one address and goes on from another. */
async function member() {
  const person = await user(target, { password });
  addresses += 1;
  return logIn(target, person, { headers: { 'X-Forwarded-For': `203.0.113.${addresses}` } });
}
async function anAnonymous(client: Client): Promise<Client> {
  const { secret } = (await client.post('/account/sessions/anonymous')).expect(201).body;
  return client.with({ session: String(secret) });
}
const guess = (client: Client, email: string): Promise<Answer> => client.post(path, { email, password: 'wrong guess' });
async function guesses(count: number, make: (index: number) => Promise<Answer>): Promise<number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < count; index++) statuses.push((await make(index)).status);
  return statuses;
}
const times = (count: number, status: number): number[] => Array(count).fill(status);

test('limits ten wrong passwords for one account in a quarter of an hour, from any address', async () => {
  const { email, password } = await user();
  assert.deepEqual(await guesses(10, () => guess(stranger(), email)), times(10, 401));
  const refused = (await stranger().post(path, { email, password })).refused(429, limited);
  assert.equal(refused.string('message'), 'Too many requests. Please retry shortly.');
  const seconds = Number(refused.headers.get('Retry-After'));
  assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 90, String(seconds));
  target.clock.advance(seconds * 1000);
  (await stranger().post(path, { email, password })).expect(201);
  // The right password has wiped the slate clean.
  assert.deepEqual(await guesses(10, () => guess(stranger(), email)), times(10, 401));
  (await guess(stranger(), email)).refused(429, limited);
  target.clock.advance(15 * minute);
  assert.deepEqual(await guesses(10, () => guess(stranger(), email)), times(10, 401));
});

test('an unknown account is counted like a known one', async () => {
  const email = `${crypto.randomUUID()}@mail.example`;
  assert.deepEqual(await guesses(11, () => guess(stranger(), email)), [...times(10, 401), 429]);
  assert.equal((await guess(stranger(), email.toUpperCase())).status, 429);
});

test('of parallel guesses no more than ten are judged', async () => {
  const { email } = await user();
  const answers = await Promise.all(Array.from({ length: 25 }, () => guess(stranger(), email)));
  assert.equal(answers.filter(({ status }) => status === 401).length, 10);
  assert.equal(answers.filter(({ status }) => status === 429).length, 15);
});

test('another account, another project and another method are not affected', async () => {
  const [first, second] = [await user(), await user()];
  await guesses(11, () => guess(stranger(), first.email));
  (await stranger().post(path, { email: second.email, password: second.password })).expect(201);
  const abroad = { email: first.email, password: 'wrong guess' };
  (await stranger().with({ project: target.neighbour.id }).post(path, abroad)).refused(401, 'user_invalid_credentials');
});

test('limits thirty failures from one address, for any account', async () => {
  const client = stranger();
  const person = await user();
  assert.deepEqual(await guesses(30, (index) => guess(client, `nobody${index}@mail.example`)), times(30, 401));
  const refused = (await client.post(path, person)).refused(429, limited);
  assert.equal(refused.headers.get('X-RateLimit-Limit'), '30');
  assert.equal(refused.headers.get('X-RateLimit-Remaining'), '0');
  (await stranger().post(path, { email: person.email, password: person.password })).expect(201);
  target.clock.advance(Number(refused.headers.get('Retry-After')) * 1000);
  (await client.post(path, { email: person.email, password: person.password })).expect(201);
});

test('successes cost an address nothing', async () => {
  const client = stranger();
  const { email, password } = await user();
  assert.deepEqual(await guesses(40, () => client.post(path, { email, password })), times(40, 201));
});

test('addresses of one IPv6 network are one address, and one written in two ways too', async () => {
  const network = (index: number) => from(`2001:db8:7:8:${index.toString(16)}::1`);
  const count = (index: number) => guess(network(index), `v6-${index}@mail.example`);
  assert.deepEqual(await guesses(31, count), [...times(30, 401), 429]);
  (await guess(from('2001:db8:7:9::1'), 'v6@mail.example')).refused(401, 'user_invalid_credentials');
  const written = (index: number) => from(index % 2 === 0 ? '192.0.2.77' : '::ffff:192.0.2.77');
  const mapped = await guesses(31, (index) => guess(written(index), `v4-${index}@mail.example`));
  assert.deepEqual(mapped, [...times(30, 401), 429]);
});

test('a server key is not limited by address, but by account', async () => {
  const { client } = await aServerKey(target);
  assert.deepEqual(await guesses(40, (index) => guess(client, `key${index}@mail.example`)), times(40, 401));
  const { email } = await user();
  assert.deepEqual(await guesses(11, () => guess(client, email)), [...times(10, 401), 429]);
  assert.deepEqual(await guesses(12, () => client.post('/account', signUpBody(aPerson()))), times(12, 201));
});

test('guesses of the current password are counted too', async () => {
  const other = { headers: { 'X-Forwarded-For': '203.0.113.250' } };
  const person = await aLoggedInUser(target, {}, other);
  const change = (oldPassword: string) =>
    person.client.patch('/account/password', { password: 'the next password', oldPassword });
  assert.deepEqual(await guesses(11, () => change('wrong guess')), [...times(10, 401), 429]);
  (await change(person.password)).refused(429, limited);
  target.clock.advance(2 * minute);
  (await change(person.password)).expect(200);
});

test('ten accounts an hour from one address', async () => {
  const client = stranger();
  const signUp = () => client.post('/account', signUpBody(aPerson()));
  assert.deepEqual(await guesses(11, signUp), [...times(10, 201), 429]);
  target.clock.advance(6 * minute);
  assert.deepEqual(await guesses(2, signUp), [201, 429]);
});

test('probing for an address by taking it is as slow as signing up', async () => {
  const { email } = await user();
  for (const [who, open] of [
    ['a guest', () => anAnonymous(stranger())],
    ['a user', async () => (await member()).client],
  ] as const) {
    const client = await open();
    const ask = (value: string) => client.patch('/account/email', { email: value, password });
    assert.deepEqual(await guesses(10, () => ask(email)), times(10, 409), who);
    const refused = (await ask(email)).refused(429, limited);
    assert.ok(Number(refused.headers.get('Retry-After')) > 300, who);
    // Not even that an address is free is told then, and no more sign-ups are left.
    (await ask(aPerson().email)).refused(429, limited);
    (await client.post('/account', signUpBody(aPerson()))).refused(429, limited);
    target.clock.advance(6 * minute);
    (await ask(email)).refused(409, 'user_email_already_exists');
    (await ask(email)).refused(429, limited);
  }
});

test('probing for a number is as slow, too', async () => {
  const holder = await member();
  const phone = '+14155550142';
  (await holder.client.patch('/account/phone', { phone, password })).expect(200);
  const { client } = await member();
  const ask = (value: string) => client.patch('/account/phone', { phone: value, password });
  assert.deepEqual(await guesses(11, () => ask(phone)), [...times(10, 409), 429]);
  (await ask('+14155550143')).refused(429, limited);
});

test('taking free addresses one after the other counts too, but not for users who have proved one', async () => {
  const visitor = stranger();
  const guest = await anAnonymous(visitor);
  const take = (client: Client, email = aPerson().email) => client.patch('/account/email', { email, password });
  const upgraded = aPerson();
  (await take(guest, upgraded.email)).expect(200);
  const { secret } = (await visitor.post(path, { email: upgraded.email, password })).expect(201).body;
  const owner = visitor.with({ session: String(secret) });
  assert.deepEqual(await guesses(10, () => take(owner)), [...times(9, 200), 429]);
  const { id, client, email } = await member();
  // The own one is no question.
  assert.deepEqual(await guesses(12, () => take(client, email)), times(12, 200));
  const key = await aServerKey(target);
  const verify = () => key.client.patch(`/users/${id}/verification`, { emailVerification: true });
  const taken = async () => {
    (await verify()).expect(200);
    return take(client);
  };
  assert.deepEqual(await guesses(12, taken), times(12, 200));
  assert.deepEqual(await guesses(11, () => take(client)), [...times(10, 200), 429]);
});

test('the numbers are settings, and the request limits can be switched off', async () => {
  const strict = await target.startSibling({ settings: { ...shipped, SVC_RATE_LIMITS: 'login=3/60,signup=2/60' } });
  const email = `${crypto.randomUUID()}@mail.example`;
  assert.deepEqual(await guesses(4, () => guess(stranger(strict), email)), [401, 401, 401, 429]);
  const off = await target.startSibling({ settings: { ...shipped, SVC_RATE_LIMIT: 'off' } });
  const client = stranger(off);
  assert.deepEqual(await guesses(40, () => guess(client, email)), times(40, 401));
  assert.equal((await guess(client, email)).headers.get('RateLimit'), null);
  for (const wrong of ['login=0/60', 'login=3', 'logins=3/60', 'login=3/0'])
    await assert.rejects(target.startSibling({ settings: { SVC_RATE_LIMITS: wrong } }), /SVC_RATE_LIMITS/);
});
