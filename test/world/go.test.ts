// Appwrite's SDK for Go, unmodified.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';
import { lacks, run, serveWorld } from './world.js';

const folder = process.env.SVC_TEST_GO_SDK ?? '';
const inFolder = ['-C', folder, 'list', 'github.com/appwrite/sdk-for-go/v7/client'];
const skip = folder === '' ? 'no SVC_TEST_GO_SDK' : lacks('go', inFolder, 'SDK for Go');

test('users, teams, documents, files and pictures by the SDK for Go', { skip }, async () => {
  const { endpoint, project, key } = await serveWorld();
  const script = join(root, 'test/world/appwrite_sdk.go');
  const { code, printed } = await run('go', ['-C', folder, 'run', script, endpoint, project], { WORLD_KEY: key });
  assert.equal(code, 0, printed);
});
