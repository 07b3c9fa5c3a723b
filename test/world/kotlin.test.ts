// Appwrite's SDK for Kotlin, unmodified, called by a program in Java.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';
import { lacks, run, serveWorld } from './world.js';

const folder = process.env.SVC_TEST_KOTLIN_SDK ?? '';
const skip = folder === '' ? 'no SVC_TEST_KOTLIN_SDK' : lacks('java', ['--version'], 'java');

test('users, teams, documents and files by the SDK for Kotlin', { skip }, async () => {
  const { endpoint, project, key } = await serveWorld();
  const args = ['-cp', join(folder, '*'), join(root, 'test/world/AppwriteSdk.java'), endpoint, project];
  const { code, printed } = await run('java', args, { WORLD_KEY: key });
  assert.equal(code, 0, printed);
});
