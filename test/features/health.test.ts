// The state of the installation in the form of Appwrite's Health service.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';

const target = await startAppliance();
const { client: key } = await aServerKey(target, { scopes: ['health.read'] });

test('the version needs neither project nor key', async () => {
  const response = await fetch(`${target.origin}/v1/health/version`);
  assert.equal(response.status, 200);
  assert.match(((await response.json()) as { version: string }).version, /^\d+\.\d+\.\d+$/);
});

test('a server key reads the state of server, database and clocks', async () => {
  assert.equal((await key.get('/health')).expect(200).body.status, 'pass');
  const { total, statuses } = (await key.get('/health/db')).expect(200).body as { total: number; statuses: object[] };
  assert.equal(total, statuses.length);
  const { remoteTime, localTime, diff } = (await key.get('/health/time')).expect(200).body as Record<string, number>;
  assert.equal(diff, Number(remoteTime) - Number(localTime));
});

test('without the scope nothing is read, and the rest of Health is named as missing', async () => {
  const { client: other } = await aServerKey(target, { scopes: ['users.read'] });
  (await other.get('/health/db')).refused(401, 'general_unauthorized_scope');
  (await key.get('/health/queue/mails')).refused(400, 'general_feature_unsupported');
});
