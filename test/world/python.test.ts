// Appwrite's SDK for Python, unmodified.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';
import { lacks, run, serveWorld } from './world.js';

const python = process.env.SVC_TEST_PYTHON ?? 'python3';
const skip = lacks(python, ['-c', 'import appwrite'], 'package appwrite of Python');

test('accounts, users, teams, documents and files by the SDK for Python', { skip }, async () => {
  const { endpoint, project, key } = await serveWorld();
  const script = join(root, 'test/world/appwrite_sdk.py');
  const { code, printed } = await run(python, ['-W', 'ignore', script, endpoint, project], { WORLD_KEY: key });
  assert.equal(code, 0, printed);
});
