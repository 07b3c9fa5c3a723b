// A server that answers late once keeps its connections; one that does so twice is given up, and found again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { aLoggedInUser, aPerson, signUpBody } from '../harness/actors.js';
import { databaseUnderTest, freshDatabase, startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { startNetwork } from '../harness/proxy.js';
import { asOwner, holds } from './moods.js';

const skip = databaseUnderTest === 'sqlite' && 'there is no server to ask';

test('one slow probe cuts nothing: requests wait for the network and are answered', { skip }, async () => {
  const network = await startNetwork(await freshDatabase(''));
  const target = await startAppliance({ databaseUrl: network.databaseUrl });
  const { client } = await aLoggedInUser(target);
  for (let round = 0; round < 4; round++) {
    network.hold();
    const waiting = [
      client.get('/account'),
      client.post('/account', signUpBody(aPerson())),
      createClient(target).get('//readyz'),
    ];
    // Longer than a probe and its turn, shorter than two.
    await sleep(1700);
    network.resume();
    const statuses = (await Promise.all(waiting)).map(({ status }) => status);
    assert.deepEqual(statuses, [200, 201, 200]);
    await sleep(300 + 130 * round);
  }
  assert.doesNotMatch(target.log(), /"event":"database\.away"/);
});

test('two slow probes in a row cut: 503 at once, until it answers', { skip }, async () => {
  const network = await startNetwork(await freshDatabase(''));
  const target = await startAppliance({ databaseUrl: network.databaseUrl });
  const { client } = await aLoggedInUser(target);
  network.hold();
  const started = performance.now();
  assert.equal((await client.get('/account')).status, 503);
  const waited = performance.now() - started;
  assert.ok(waited > 1500 && waited < 5000, `503 after ${waited} ms`);
  const again = performance.now();
  assert.equal((await client.get('/account')).status, 503);
  assert.ok(performance.now() - again < waited);
  network.resume();
  await holds(async () => (await client.get('/account')).status === 200, 10_000);
  assert.match(target.log(), /"event":"database\.away"[\s\S]*"event":"database\.back"/);
});

test('neither the end of the probe alone nor a server without free connections cuts clients off', {
  skip,
}, async () => {
  const databaseUrl = await freshDatabase('');
  const target = await startAppliance({ databaseUrl });
  const { client } = await aLoggedInUser(target);
  const name = decodeURIComponent(new URL(databaseUrl).pathname.slice(1));
  const endProbe = `select pg_terminate_backend(pid) from pg_stat_activity where application_name like '%probe' and datname = '${name}'`;
  for (let round = 0; round < 3; round++) {
    await asOwner(databaseUrl, endProbe);
    await sleep(700);
    (await client.get('/account')).expect(200);
  }
  await asOwner(databaseUrl, `alter database "${name}" connection limit 1`, endProbe);
  await sleep(1500);
  (await client.get('/account')).expect(200);
  (await createClient(target).get('//readyz')).expect(200);
  assert.doesNotMatch(target.log(), /"event":"database\.away"/);
});

for (const [refusal, end] of [
  ['connection limit 0', 'connection limit -1'],
  ['allow_connections false', 'allow_connections true'],
] as const) {
  test(`a server that takes no connections (${refusal}) is 503, never 500`, { skip }, async () => {
    const databaseUrl = await freshDatabase('');
    const target = await startAppliance({ databaseUrl });
    const { client } = await aLoggedInUser(target);
    const name = decodeURIComponent(new URL(databaseUrl).pathname.slice(1));
    const server = process.env.SVC_TEST_POSTGRES_URL ?? '';
    await asOwner(
      server,
      `alter database "${name}" ${refusal}`,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
    );
    for (let count = 0; count < 20; count++) {
      (await client.get('/account')).refused(503, 'general_unavailable');
      await sleep(50);
    }
    await asOwner(server, `alter database "${name}" ${end}`);
    await holds(async () => (await client.get('/account')).status === 200, 5000);
  });
}
