// Two servers on one Postgres behind HAProxy are restarted in turn under load, and no request fails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { databaseUnderTest } from '../harness/appliance.js';
import { startBalanced } from './balanced.js';
import { lacks, serveWorld } from './world.js';

const skip = databaseUnderTest === 'postgres' ? lacks('haproxy', ['-v'], 'haproxy') : 'several servers need Postgres';
const restarts = 20;

test('no request fails while the servers are restarted in turn', { skip }, async () => {
  const { place, project, key } = await serveWorld();
  const headers = { 'X-Appwrite-Project': project, 'X-Appwrite-Key': key };
  const balanced = await startBalanced(place, headers, {});
  for (let at = 0; at < restarts; at++) await balanced.restart(at % 2 === 0 ? 0 : 1);
  await balanced.end();
  assert.deepEqual(balanced.failed, []);
  assert.ok(balanced.answered() > restarts * 8, `${balanced.answered()} requests`);
});
