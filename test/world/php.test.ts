// The requests that Appwrite's SDK for PHP sends, made by PHP itself.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';
import { lacks, run, serveWorld } from './world.js';

const skip = lacks('php', ['--version'], 'php');

test('accounts, tables and rows with what PHP makes of empty arrays and booleans', { skip }, async () => {
  const { endpoint, project, key } = await serveWorld();
  const script = join(root, 'test/world/wire.php');
  const { code, printed } = await run('php', [script, endpoint, project], { WORLD_KEY: key });
  assert.equal(code, 0, printed);
});
