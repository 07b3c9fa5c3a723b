// Newer versions of Node.js run the built service and a part of the suite.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';
import { run } from './world.js';

const files = ['test/features/account.test', 'test/features/sdk.test', 'test/files/uploads', 'test/files/previews'];
const others = ['test/documents/graphql.test', 'test/realtime/sdk', 'test/features/headers', 'test/cli/serve.test'];

for (const version of ['22', '24']) {
  const program = process.env[`SVC_TEST_NODE_${version}`];
  const skip = program === undefined && `no SVC_TEST_NODE_${version}`;
  test(`a part of the suite on Node.js ${version}`, { skip }, async () => {
    const given = await run(program ?? '', ['--version']);
    assert.match(given.printed, new RegExp(`^v${version}\\.`));
    const suite = ['--import', 'tsx', join(root, 'test/run.ts'), 'sqlite', ...files, ...others];
    // Within a test, the runner of Node.js would run no further ones.
    const { code, printed } = await run('env', ['-u', 'NODE_TEST_CONTEXT', program ?? '', ...suite]);
    assert.equal(code, 0, printed.slice(-10_000));
  });
}
