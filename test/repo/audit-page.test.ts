// The commands of docs/audit.md, as they stand there.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';
import { type Installation, install } from '../harness/cli.js';
import { blockNoted, readBlocks } from '../harness/readme.js';
import { after } from '../harness/runner.js';

const page = 'docs/audit.md';

test('every command of the page works as described', async () => {
  const place = await install();
  after(() => place.dispose());
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const server = await place.serve();
  const post = async (path: string, body: object, headers: Record<string, string>) => {
    const given = { 'X-Service-Project': 'shop', 'Content-Type': 'application/json', ...headers };
    const answer = await fetch(server.url + path, { method: 'POST', headers: given, body: JSON.stringify(body) });
    assert.equal(answer.status, 201, path);
    return (await answer.json()) as { $id: string; secret: string };
  };
  const { secret } = await place.json<{ secret: string }>([
    ...['apikey', 'create', '--project', 'shop', '--name', 'a', '--scopes', 'all'],
  ]);
  const byKey = { 'X-Service-Key': secret };
  await post('/databases', { databaseId: 'main', name: 'Main' }, byKey);
  const collection = { collectionId: 'notes', name: 'Notes', permissions: ['create("users")'] };
  await post('/databases/main/collections', collection, byKey);
  const user = ['user', 'create', '--project', 'shop', '--email', 'ada@example.com', '--password-stdin'];
  const { $id } = await place.json<{ $id: string }>(user, 'correct horse battery');
  const password = { email: 'ada@example.com', password: 'correct horse battery' };
  const session = await post('/account/sessions/email', password, {});
  const note = { documentId: 'mine', data: {} };
  const byUser = { 'X-Service-Session': session.secret };
  await post('/databases/main/collections/notes/documents', note, byUser);
  const blocks = readBlocks(page).filter(({ language }) => language === 'sh');
  assert.equal(blocks.length, 5);
  writeFileSync(join(place.dir, 'chain.mjs'), blockNoted(page, 'saved as chain.mjs').text);
  const { publicKey } = await place.json<{ publicKey: string }>(['audit', 'verify']);
  for (const { text } of blocks) {
    const { code, out, err } = await place.shell(text.replace('USER', $id).replace('KEY', publicKey));
    assert.equal(code, 0, `${text}: ${err}`);
    assert.match(
      out,
      /the audit log is intact|erased|documentCreated +databases\/main\/collections\/notes\/documents\/mine/,
    );
  }
  await aChainOfOnesOwn(place, publicKey);
  const { head } = await place.json<{ head: string }>(['audit', 'verify']);
  const inline = [...readFileSync(join(root, page), 'utf8').matchAll(/`(svc audit [^`]+)`/g)].map(
    ([, line = '']) => line,
  );
  assert.ok(inline.length >= 4, String(inline.length));
  for (const line of inline) {
    const { code, err } = await place.shell(line.replace('HASH', head).replace(/tail$/, 'tail --no-follow'));
    assert.equal(code, 0, `${line}: ${err}`);
  }
});

/** The program of the page says of an export what svc says: of all projects, of one, and of a log that was changed. */
async function aChainOfOnesOwn(place: Installation, publicKey: string): Promise<void> {
  await place.json(['project', 'create', 'Café "Ö"', '--id', 'other']);
  const check = (file: string) => place.shell(`node chain.mjs ${file} ${publicKey}`);
  await place.shell('svc audit export > all.ndjson; svc audit export --project other > other.ndjson');
  assert.match((await check('all.ndjson')).out, /intact up to entry \d+, of all projects/);
  assert.match((await check('other.ndjson')).out, /intact up to entry \d+, of other/);
  const lines = readFileSync(join(place.dir, 'all.ndjson'), 'utf8').trim().split('\n');
  const wrong: [string[], RegExp][] = [
    [lines.map((line) => line.replace('projectCreated', 'projectDeleted')), /entry \d+ was changed/],
    [lines.filter((_, at) => at !== 2), /one before it is missing/],
    [lines.slice(0, -1), /the end of the log is missing/],
    [[...lines.slice(0, -1), (lines.at(-1) ?? '').replace(/"at":"2/, '"at":"1')], /not signed by this key/],
  ];
  for (const [changed, message] of wrong) {
    writeFileSync(join(place.dir, 'changed.ndjson'), `${changed.join('\n')}\n`);
    const { code, err } = await check('changed.ndjson');
    assert.equal(code, 1, String(message));
    assert.match(err, message);
    assert.equal((await place.svc(['audit', 'verify', '--file', 'changed.ndjson'])).code, 1);
  }
}
