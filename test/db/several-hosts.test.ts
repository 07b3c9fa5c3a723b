// A URL with several hosts, in the form of libpq: the service uses the one that accepts writes, and moves to another when that one fails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aPerson, signUpBody } from '../harness/actors.js';
import { databaseUnderTest, freshDatabase, startAppliance, testConfig } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { freePort } from '../harness/free-port.js';
import { createDatabase, startPostgres } from '../harness/postgres.js';
import { startNetwork } from '../harness/proxy.js';
import { after } from '../harness/runner.js';
import { asOwner, failOver, holds, promote } from './moods.js';

const skip = databaseUnderTest === 'sqlite' && 'there is no server';

/** The URL of a database on several servers, whose names and passwords are those of the first. */
function onAll(urls: readonly string[], query = ''): string {
  const [first] = urls;
  const hosts = urls.map((url) => new URL(url).host).join(',');
  return (first ?? '').replace(new URL(first ?? '').host, hosts) + query;
}

test('the host that is used is one that answers and accepts writes, wherever it stands in the list', {
  skip,
}, async () => {
  const databaseUrl = await freshDatabase('');
  const nobody = new URL(databaseUrl);
  nobody.port = String(await freePort());
  const standby = await startPostgres();
  after(() => standby.stop());
  const name = decodeURIComponent(new URL(databaseUrl).pathname.slice(1));
  const onStandby = await createDatabase(standby.url, name);
  await failOver(onStandby);
  for (const urls of [
    [nobody.href, databaseUrl],
    [onStandby, databaseUrl],
    [databaseUrl, onStandby, nobody.href],
  ]) {
    const target = await startAppliance({ databaseUrl: onAll(urls, '?target_session_attrs=read-write') });
    await aLoggedInUser(target);
    const [row] = await target.appliance.runtime.driver.read({ sql: 'show port', values: [] });
    assert.equal(row?.port, new URL(databaseUrl).port);
  }
});

test('a server that hangs or goes away is left for another, without a balancer and a restart', { skip }, async () => {
  const databaseUrl = await freshDatabase('');
  const [first, second] = [await startNetwork(databaseUrl), await startNetwork(databaseUrl)];
  const target = await startAppliance({ databaseUrl: onAll([first.databaseUrl, second.databaseUrl]) });
  const { client } = await aLoggedInUser(target);
  const works = async () => (await client.get('/account')).status === 200;
  const write = async () => (await createClient(target).post('/account', signUpBody(aPerson()))).status === 201;
  for (const network of [first, second, first]) {
    network.hold();
    await holds(async () => (await works()) && (await write()), 30_000);
    network.resume();
  }
  assert.doesNotMatch(target.log(), /"event":"request\.failed"/);
});

test('while no host accepts writes reads are answered, and writes as soon as one does', { skip }, async () => {
  const databaseUrl = await freshDatabase('');
  const [first, second] = [await startNetwork(databaseUrl), await startNetwork(databaseUrl)];
  const target = await startAppliance({ databaseUrl: onAll([first.databaseUrl, second.databaseUrl]) });
  const { client } = await aLoggedInUser(target);
  const write = async () => (await createClient(target).post('/account', signUpBody(aPerson()))).status;
  await failOver(databaseUrl);
  await holds(async () => (await write()) === 503 && (await client.get('/account')).status === 200, 30_000);
  await promote(databaseUrl);
  await holds(async () => (await write()) === 201, 30_000);
  await asOwner(databaseUrl, 'select 1');
});

test('a URL that the service cannot use is refused with the reason', () => {
  const refusal = (url: string) => {
    try {
      testConfig('/tmp', url);
      return undefined;
    } catch (error) {
      return JSON.stringify(error) + String(error);
    }
  };
  for (const valid of [
    'postgres://u:p@one:5432,two:5433/name',
    'postgresql://u@one,[::1]:5432/name?target_session_attrs=any',
    'postgres://u@one/name?target_session_attrs=primary&sslmode=require',
  ])
    assert.equal(refusal(valid), undefined, valid);
  assert.match(refusal('postgres://u@one:5432,/name') ?? '', /hosts and ports/);
  assert.match(refusal('postgres://u@one:port,two/name') ?? '', /hosts and ports/);
  assert.match(refusal('postgres://u@one,two/name?target_session_attrs=standby') ?? '', /read-write, primary or any/);
  assert.match(refusal('postgres:///name?host=one,two') ?? '', /before the database/);
});
