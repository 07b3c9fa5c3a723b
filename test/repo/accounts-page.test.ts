// The commands of docs/accounts.md, in order, against a server that runs.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { install } from '../harness/cli.js';
import { createCompiler } from '../harness/compiler.js';
import { provideCurl } from '../harness/curl.js';
import { readBlocks } from '../harness/readme.js';
import { after } from '../harness/runner.js';

test('the commands work in the order of the page', async () => {
  const place = await install();
  after(() => place.dispose());
  provideCurl(join(place.dir, 'bin'));
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const args = ['apikey', 'create', '--project', 'shop', '--name', 'backend', '--scopes', 'all'];
  const { secret } = await place.json<{ secret: string }>(args);
  const { url } = await place.serve();
  const text = readBlocks('docs/accounts.md')
    .filter(({ language }) => language === 'sh')
    .map((block) => block.text.replaceAll('http://localhost:8080/v1', url))
    .join('\n');
  const { code, out, err } = await place.shell(`set -e\nkey=${secret}\n${text}`);
  assert.deepEqual([code, err], [0, ''], out);
  assert.doesNotMatch(out, /"type":/, 'a call was refused');
  assert.equal(out.split('"email":"dora@example.com"').length, 3);
  assert.ok(out.includes('"providerUid":"emil@example.com"'), out);
});

test('the calls of the SDK compile', () => {
  const { problemsOf, dispose } = createCompiler();
  after(dispose);
  const given = `import { Client, Query, Users } from 'node-appwrite';\nconst [client, lastId] = [new Client(), 'id'];\n`;
  const programs = readBlocks('docs/accounts.md').filter(({ language }) => language === 'js');
  assert.ok(programs.length > 0);
  for (const { text } of programs) assert.deepEqual(problemsOf({ lists: given + text }), []);
});
