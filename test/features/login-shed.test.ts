// A login that the service could not judge, as it was busy, without its database, or left by its client, is not a failed login.
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '#src/contract/errors.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { aLoggedInUser, aPerson, aUser, signUpBody } from '../harness/actors.js';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { type Answer, createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { openSocket } from '../harness/socket.js';

/** More than can be hashed and wait at once. */
const storm = 33 + availableParallelism() + 10;
/** Slow enough for a queue, and not for a test. */
const hashParameters = {
  algorithm: 'scrypt',
  scrypt: { logN: 14, r: 8, p: 3 },
  argon2id: { memoryCost: 19_456, timeCost: 2, parallelism: 1 },
} as const;
const settings = {
  SVC_RATE_LIMITS: `login=${2 * storm}/900,signup=1000000/60,data=1000000/60`,
  SVC_TRUSTED_PROXIES: '127.0.0.0/8',
};
const target = await startAppliance({ settings, hashParameters });
const path = '/account/sessions/email';
const from = (address: string, of: TestAppliance = target) =>
  createClient(of, { headers: { 'X-Forwarded-For': address } });
const statuses = (answers: readonly Answer[]) => [...new Set(answers.map(({ status }) => status))].sort();

/** What the counters of logins still hold, by their keys; zero is left out. */
async function counted(of: TestAppliance = target): Promise<Record<string, number>> {
  const rows = await rowsOf(of, 'limit_counters');
  const now = of.clock.now();
  const step = (900 * 1000) / (2 * storm);
  return Object.fromEntries(
    rows
      .filter((row) => row.class === 'login')
      .map((row) => [String(row.key), Math.ceil((Number(row.arrival) - now) / step)] as const)
      .filter(([, count]) => count > 0),
  );
}

test('a storm of right passwords from one address, on two servers, leaves no count behind', async () => {
  const sibling = await target.startSibling();
  const people: Awaited<ReturnType<typeof aUser>>[] = [];
  for (let count = 0; count < 4; count++) people.push(await aUser(target));
  const logIn = (of: TestAppliance, index: number) => {
    const { email, password } = people[index % people.length] ?? aPerson();
    return from('198.51.100.1', of).post(path, { email, password });
  };
  const answers = await Promise.all(
    [target, sibling].flatMap((of) => Array.from({ length: storm }, (_, index) => logIn(of, index))),
  );
  assert.deepEqual(statuses(answers), [201, 503]);
  for (const answer of answers.filter(({ status }) => status === 503)) answer.refused(503, 'general_unavailable');
  assert.deepEqual(await counted(), {});
  (await logIn(target, 0)).expect(201);
  await sibling.close();
});

test('a wrong password among the storm is counted where it was checked, and nowhere else', async () => {
  const { email } = await aUser(target);
  const client = from('198.51.100.2');
  const answers = await Promise.all(
    Array.from({ length: storm }, () => client.post(path, { email, password: 'a wrong guess' })),
  );
  assert.deepEqual(statuses(answers), [401, 503]);
  const judged = answers.filter(({ status }) => status === 401).length;
  assert.deepEqual(await counted(), { '198.51.100.2': judged, [email]: judged });
});

test('a burst from one address that fills the queue delays others by a few hashes at most', async () => {
  const people = [await aUser(target), await aUser(target), await aUser(target)];
  let judged = 0;
  const burst = Array.from({ length: 2 * storm }, async (_, index) => {
    const guess = { email: `nobody${index}@mail.example`, password: 'a wrong guess' };
    const { status } = await from('198.51.100.3').post(path, guess);
    if (status === 401) judged += 1;
    return status;
  });
  // The first one that is shed tells that the queue is full.
  await Promise.any(burst.map(async (status) => assert.equal(await status, 503)));
  for (const [index, { email, password }] of people.entries()) {
    const before = judged;
    (await from(`198.51.100.${10 + index}`).post(path, { email, password })).expect(201);
    // One round that runs, one that has its turn, and the one of the login itself; the last of them may end together.
    const meanwhile = (judged - before) / Math.max(1, availableParallelism() - 1);
    assert.ok(meanwhile <= 4, `the login waited for ${meanwhile} hashes of the burst`);
  }
  await Promise.all(burst);
});

test('proofs of the current password and sign-ups that are shed are not counted either', async () => {
  const own = await startAppliance({
    hashParameters,
    settings: { ...settings, SVC_RATE_LIMITS: `login=${2 * storm}/900,signup=${2 * storm}/900,data=1000000/60` },
  });
  const user = await aLoggedInUser(own);
  const change = () => user.client.patch('/account/phone', { phone: '+14155550199', password: user.password });
  const changes = await Promise.all(Array.from({ length: storm }, change));
  assert.deepEqual(statuses(changes), [200, 503]);
  assert.deepEqual(await counted(own), {});

  const address = '198.51.100.3';
  const signUps = await Promise.all(
    Array.from({ length: storm }, () => from(address, own).post('/account', signUpBody(aPerson()))),
  );
  assert.deepEqual(statuses(signUps), [201, 503]);
  const made = signUps.filter(({ status }) => status === 201).length;
  const [row] = (await rowsOf(own, 'limit_counters')).filter(
    ({ class: name, key }) => name === 'signup' && key === address,
  );
  assert.equal(Math.ceil((Number(row?.arrival) - own.clock.now()) / ((900 * 1000) / (2 * storm))), made);
});

test('a right password whose hash is to be renewed logs in while hashing is busy, and is renewed later', async () => {
  const { id, email, password } = await aUser(target);
  const cheaper = await target.startSibling({
    hashParameters: { ...hashParameters, scrypt: { logN: 10, r: 8, p: 1 } },
  });
  const { hashing } = cheaper.appliance.runtime;
  const { hash } = hashing;
  const stored = async () => (await rowsOf(target, 'users')).find((row) => row.id === id)?.password_hash;
  const before = await stored();
  const busy = () => Promise.reject(new Failure('general_unavailable', { retryAfter: 1 }));
  Object.assign(hashing, { hash: busy });
  (await from('198.51.100.4', cheaper).post(path, { email, password })).expect(201);
  assert.equal(await stored(), before);
  Object.assign(hashing, { hash });
  (await from('198.51.100.4', cheaper).post(path, { email, password })).expect(201);
  assert.notEqual(await stored(), before);
  await cheaper.close();
});

/** Lets units of work fail as they do when the database goes away, but for the first few. */
function failAfter(of: TestAppliance, passing: number): () => void {
  const { driver } = of.appliance.runtime;
  const { transact } = driver;
  let left = passing;
  const failing: typeof transact = (body, until) => {
    left -= 1;
    return left < 0 ? Promise.reject(new DatabaseError('unavailable', 'ECONNREFUSED')) : transact(body, until);
  };
  Object.assign(driver, { transact: failing });
  return () => void Object.assign(driver, { transact });
}

test('a user who was logging in when the database went away is not locked out when it is back', async () => {
  const { email, password } = await aUser(target);
  const client = from('198.51.100.5');
  // The address and the account are counted; then nothing can be written any more.
  const back = failAfter(target, 2);
  const answer = await client.post(path, { email, password });
  back();
  answer.refused(503, 'general_unavailable');
  // What is owed goes back with the next call that is counted.
  (await from('198.51.100.6').post(path, { email: 'nobody5@mail.example', password: 'a wrong guess' })).expect(401);
  const until = performance.now() + 30_000;
  let left = await counted();
  while (('198.51.100.5' in left || email in left) && performance.now() < until) {
    await sleep(20);
    left = await counted();
  }
  assert.deepEqual([left['198.51.100.5'], left[email]], [undefined, undefined]);
});

test('clients that leave before the end of their request are not counted', async () => {
  const address = '198.51.100.7';
  for (let count = 0; count < 5; count++) {
    const socket = await openSocket(target);
    socket.write(
      [
        ...[`POST /v1${path} HTTP/1.1`, 'Host: localhost', `X-Service-Project: ${target.project.id}`],
        ...[`X-Forwarded-For: ${address}`, 'Content-Type: application/json', 'Content-Length: 100', '', '{"email":'],
      ].join('\r\n'),
    );
    await sleep(100);
    socket.destroy();
  }
  const until = performance.now() + 30_000;
  while (address in (await counted()) && performance.now() < until) await sleep(20);
  assert.ok(!(address in (await counted())), JSON.stringify(await counted()));
  // What was said, and is wrong, is counted.
  (await from(address).post(path, { email: 'x', password: 'y' })).expect(400);
  assert.equal((await counted())[address], 1);
});
