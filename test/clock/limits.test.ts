// Limits that are counted in the database while the clock is set: they neither stay shut for the length of the step nor open.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aUser } from '../harness/actors.js';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { createTestClock, day, hour, minute } from '../harness/clock.js';
import { rowsOf } from '../harness/database.js';

const shipped = { settings: { SVC_RATE_LIMITS: 'data=100000/60,signup=100000/60' } };
const logIn = (client: Client, email: string, password: string) =>
  client.post('/account/sessions/email', { email, password });
const wrong = (client: Client, email: string) => logIn(client, email, 'a wrong one');
/** Wrong passwords until the account is refused; how many there were. */
async function exhaust(client: Client, email: string): Promise<number> {
  for (let tries = 0; tries < 30; tries++) {
    const answer = await wrong(client, email);
    if (answer.status === 429) return tries;
    answer.refused(401, 'user_invalid_credentials');
  }
  return 30;
}
const settle = ({ appliance }: TestAppliance) => appliance.features.jobs.tick('clock.settle');

for (const [name, step] of [
  ['six hours', 6 * hour],
  ['120 days', 120 * day],
  ['25 years', 25 * 365 * day],
] as const) {
  test(`the clock is set back by ${name}: the right password logs in at once, and who had used up the tries waits as long as before`, async () => {
    const target = await startAppliance(shipped);
    const client = createClient(target);
    const [honest, attacked] = [await aUser(target), await aUser(target)];
    for (let tries = 0; tries < 4; tries++)
      (await wrong(client, honest.email)).refused(401, 'user_invalid_credentials');
    assert.equal(await exhaust(client, attacked.email), 10);

    target.clock.step(-step);
    (await logIn(client, honest.email, honest.password)).expect(201);
    const refused = await logIn(client, attacked.email, attacked.password);
    refused.refused(429, 'general_rate_limit_exceeded');
    const seconds = Number(refused.headers.get('Retry-After'));
    assert.ok(seconds > 60 && seconds <= 90, String(seconds));
    target.clock.advance(seconds * 1000);
    (await wrong(client, attacked.email)).refused(401, 'user_invalid_credentials');
    (await wrong(client, attacked.email)).refused(429, 'general_rate_limit_exceeded');
    target.clock.advance(90_000);
    (await logIn(client, attacked.email, attacked.password)).expect(201);

    // And when it is right again, nobody is refused either.
    target.clock.step(step);
    (await logIn(client, honest.email, honest.password)).expect(201);
  });
}

test('the job corrects unused counters, which count as full as before, and prunes them in time', async () => {
  const target = await startAppliance(shipped);
  const { limits } = target.appliance.features;
  const client = createClient(target);
  const user = await aUser(target);
  for (let tries = 0; tries < 3; tries++) await wrong(client, user.email);
  target.clock.step(-30 * day);
  const counters = async () => {
    const listed = await limits.list(target.appliance.runtime.db, { projectId: target.project.id });
    return listed.filter(({ kind }) => kind === 'account').map(({ count, limit }) => [count, limit]);
  };
  assert.deepEqual(await counters(), [[3, 10]]);
  await settle(target);
  const rows = await rowsOf(target, 'limit_counters');
  assert.ok(rows.length > 0 && rows.every(({ arrival }) => Number(arrival) <= target.clock.now() + hour));
  assert.deepEqual(await counters(), [[3, 10]]);
  target.clock.advance(3 * hour);
  await target.appliance.features.jobs.tick('limits.prune');
  assert.deepEqual(await rowsOf(target, 'limit_counters'), []);
});

test('a clock that is ahead frees used-up limits, as time does', async () => {
  const target = await startAppliance(shipped);
  const user = await aUser(target);
  await exhaust(createClient(target), user.email);
  target.clock.step(2 * day);
  (await logIn(createClient(target), user.email, user.password)).expect(201);
});

test('going to and fro between two processes whose clocks are ten minutes apart gains what ten minutes give back, once', async () => {
  const target = await startAppliance(shipped);
  const clock = createTestClock();
  clock.advance(10 * minute);
  const ahead = await target.startSibling({ clock });
  const clients = [createClient(target), createClient(ahead)];
  const user = await aUser(target);
  const tried: number[] = [];
  for (let round = 0; round < 20; round++) {
    for (const client of clients) if ((await wrong(client, user.email)).status === 401) tried.push(round);
  }
  const givenBack = Math.ceil((10 * minute) / 90_000);
  assert.ok(tried.length <= 10 + givenBack, String(tried.length));
  assert.ok(
    tried.every((round) => round < 10 + givenBack),
    String(tried),
  );
});
