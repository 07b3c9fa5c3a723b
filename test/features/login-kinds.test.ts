// Hashes of several kinds: the time of a login tells nobody whose address has an account.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hash } from 'bcryptjs';
import { aServerKey, aUser } from '../harness/actors.js';
import { cheapHashes, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { minute } from '../harness/clock.js';

const dearHashes = { ...cheapHashes, scrypt: { logN: 14, r: 8, p: 2 } };
const path = '/account/sessions/email';
let strangers = 0;
const unknown = () => `nobody${++strangers}@mail.example`;
const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;

/** CPU milliseconds of a login by a wrong password, its hash included. Other work of the machine does not add to them. */
async function timeOf(target: TestAppliance, email: string, password = 'a wrong password'): Promise<number> {
  const client = createClient(target);
  const started = process.cpuUsage();
  (await client.post(path, { email, password })).refused(401, 'user_invalid_credentials');
  const { user, system } = process.cpuUsage(started);
  return (user + system) / 1000;
}
/** The shortest of some: other work of the machine only adds to it. */
async function leastOf(target: TestAppliance, email: string): Promise<number> {
  return Math.min(await timeOf(target, email), await timeOf(target, email), await timeOf(target, email));
}
/** Asks for the known addresses and for unknown ones in turn; the medians must be within a factor of two. */
async function requireAlike(target: TestAppliance, emails: readonly string[]): Promise<void> {
  const times = { known: [] as number[], unknown: [] as number[] };
  await timeOf(target, unknown());
  for (let round = 0; round < 9; round++) {
    times.known.push(await timeOf(target, emails[round % emails.length] ?? ''));
    times.unknown.push(await timeOf(target, unknown()));
  }
  const [known, stranger] = [median(times.known), median(times.unknown)];
  assert.ok(known < 2 * stranger && stranger < 2 * known, `known ${known}, unknown ${stranger} ms`);
}

test('hashes that were made with dearer parameters than those of today', async () => {
  const before = await startAppliance({ hashParameters: dearHashes });
  const people = [await aUser(before), await aUser(before)];
  const emails = people.map(({ email }) => email);
  for (const algorithm of ['scrypt', 'argon2id'] as const) {
    const now = await before.startSibling({ hashParameters: { ...cheapHashes, algorithm } });
    await requireAlike(now, emails);
    // The password of the user whose hash stands in opens nothing.
    for (const { password } of people) await timeOf(now, unknown(), password);
  }
});

test('hashes that were made with cheaper parameters than those of today', async () => {
  const before = await startAppliance();
  const { email } = await aUser(before);
  await requireAlike(await before.startSibling({ hashParameters: dearHashes }), [email]);
});

test('imported hashes that are dearer than those of today', async () => {
  const target = await startAppliance();
  const { client } = await aServerKey(target);
  const email = 'imported@mail.example';
  const password = await hash('the old password', 10);
  (await client.post('/users/bcrypt', { userId: 'imported', email, password })).expect(201);
  await requireAlike(target, [email]);
  (await createClient(target).post(path, { email, password: 'the old password' })).expect(201);
});

test('an address without a password takes the time of those that have one', async () => {
  const before = await startAppliance({ hashParameters: dearHashes });
  const { client } = await aServerKey(before);
  await aUser(before);
  const email = 'no-password@mail.example';
  (await client.post('/users', { userId: 'no-password', email })).expect(201);
  await requireAlike(await before.startSibling({ hashParameters: cheapHashes }), [email]);
});

test('kinds are as frequent among unknown addresses as among users, and an address keeps its kind', async () => {
  const before = await startAppliance({ hashParameters: dearHashes });
  const now = await before.startSibling({ hashParameters: cheapHashes });
  const people: { dear: string[]; cheap: string[] } = { dear: [], cheap: [] };
  for (let count = 0; count < 6; count++) {
    people.dear.push((await aUser(before)).email);
    people.cheap.push((await aUser(now)).email);
  }
  const [dear, cheap] = [await leastOf(now, people.dear[0] ?? ''), await leastOf(now, people.cheap[0] ?? '')];
  assert.ok(dear > 3 * cheap, `${dear}, ${cheap} ms`);
  // A dear one is never quick, and a cheap one is at one of several tries.
  const isDear = async (email: string) => {
    for (let tries = 0; tries < 8; tries++) if ((await timeOf(now, email)) < Math.sqrt(dear * cheap)) return false;
    return true;
  };
  const strangers = Array.from({ length: 20 }, unknown);
  const kinds: boolean[] = [];
  for (const email of strangers) kinds.push(await isDear(email));
  const share = kinds.filter(Boolean).length;
  assert.ok(share > 1 && share < 19, `${share} of 20 are dear`);
  now.clock.advance(11 * minute);
  for (const [index, email] of strangers.entries()) assert.equal(await isDear(email), kinds[index], email);
});
