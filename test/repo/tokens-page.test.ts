// The commands of docs/tokens.md, in order, and its program that verifies offline, against a server that runs.
import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';
import { install } from '../harness/cli.js';
import { provideCurl } from '../harness/curl.js';
import { freePort } from '../harness/free-port.js';
import { blockNoted, readBlocks } from '../harness/readme.js';
import { after } from '../harness/runner.js';

const page = 'docs/tokens.md';
const saved = 'saved as verify.mjs';

test('the commands work in the order of the page, and the program verifies the result', async () => {
  const place = await install();
  after(() => place.dispose());
  provideCurl(join(place.dir, 'bin'));
  symlinkSync(join(root, 'node_modules'), join(place.dir, 'node_modules'));
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const port = String(await freePort());
  const api = `http://localhost:${port}/v1`;
  const { url } = await place.serve([], { SVC_PORT: port, SVC_BASE_URL: api });
  assert.equal(url, api);

  const here = (text: string) => text.replaceAll('http://localhost:8080/v1', api);
  for (const { note, language } of readBlocks(page)) assert.ok(note === (language === 'js' ? saved : ''), note);
  writeFileSync(join(place.dir, 'verify.mjs'), here(blockNoted(page, saved).text));
  const commands = readBlocks(page).filter(({ language }) => language === 'sh');
  const script = `set -e\n${commands.map(({ text }) => here(text)).join('\n')}\necho "secret=$session"`;
  const { code, out, err } = await place.shell(script);
  assert.deepEqual([code, err], [0, ''], out);
  const [account, jwtAccount] = out.split('"email":"ada@example.com"');
  assert.ok(account !== undefined && jwtAccount !== undefined, out);
  assert.match(out, /ada@example\.com until 20\d\d-/);
  assert.match(out, /RS256 +current/);
  assert.match(out, /RS256 +next/);

  const secret = /^secret=(.+)$/m.exec(out)?.[1];
  const other = await place.shell(`JWT=${secret} node verify.mjs`);
  assert.notEqual(other.code, 0);
});
