// docs/secrets.md: a leaked key, and a wrong master key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';
import { linesBelow } from '../harness/markdown.js';
import { after } from '../harness/runner.js';

const succeed = async (place: Installation, line: string) => {
  const { code, out, err } = await place.shell(line);
  assert.equal(code, 0, `${line}: ${err}`);
  return out;
};
const json = { 'X-Service-Project': 'shop', 'Content-Type': 'application/json' };
async function shop(): Promise<Installation> {
  const place = await install();
  after(() => place.dispose());
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  return place;
}

test('a leaked server key: its actions are listed, another key is made, and it is refused', async () => {
  const place = await shop();
  const key = ['apikey', 'create', '--project', 'shop', '--name', 'backend', '--scopes', 'all'];
  const { $id, secret } = await place.json<{ $id: string; secret: string }>(key);
  assert.ok(secret.startsWith(`sk_${$id}.`), 'the id is in the secret');
  const server = await place.serve();
  const headers = { ...json, 'X-Service-Key': secret };
  const create = (userId: string) =>
    fetch(`${server.url}/users`, { method: 'POST', headers, body: JSON.stringify({ userId }) });
  assert.equal((await create('ada')).status, 201);
  const [list = '', make = '', revoke = '', ...others] = linesBelow('docs/secrets.md', '## When a secret has leaked');
  assert.deepEqual(others, []);
  assert.match(await succeed(place, list.replace('KEYID', $id)), /accountCreated +users\/ada/);
  assert.match(await succeed(place, make), /sk_/);
  await succeed(place, revoke);
  assert.equal((await create('eve')).status, 401);
  assert.ok(server.log().includes(`key:${$id}`), 'the log of the server names the key');
  assert.doesNotMatch(await succeed(place, 'svc apikey list --project shop'), /backend(?!-2)/);
});

test('with another master key the server and the commands end with exit code 7', async () => {
  const place = await shop();
  const env = { SVC_MASTER_KEY: Buffer.alloc(32, 7).toString('base64url') };
  for (const line of ['serve', 'project list', 'audit export', 'config check']) {
    const { code, err } = await place.svc([...line.split(' '), '--json'], { env });
    assert.deepEqual([code, JSON.parse(err).error.type], [7, 'master_key_wrong'], line);
  }
});
