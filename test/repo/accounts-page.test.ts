// The commands of docs/accounts.md, in order, against a server that runs.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { install } from '../harness/cli.js';
import { provideCurl } from '../harness/curl.js';
import { readBlocks } from '../harness/readme.js';

test('the commands work in the order of the page', async () => {
  const place = await install();
  after(() => place.dispose());
  provideCurl(join(place.dir, 'bin'));
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const args = ['apikey', 'create', '--project', 'shop', '--name', 'backend', '--scopes', 'all'];
  const { secret } = await place.json<{ secret: string }>(args);
  const { url } = await place.serve();
  const text = readBlocks('docs/accounts.md')
    .map((block) => block.text.replaceAll('http://localhost:8080/v1', url))
    .join('\n');
  const { code, out, err } = await place.shell(`set -e\nkey=${secret}\n${text}`);
  assert.deepEqual([code, err], [0, ''], out);
  assert.doesNotMatch(out, /"type":/, 'a call was refused');
  assert.equal(out.split('"email":"dora@example.com"').length, 3);
  assert.ok(out.includes('"providerUid":"emil@example.com"'), out);
});
