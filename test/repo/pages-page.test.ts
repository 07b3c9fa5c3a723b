// docs/pages.md: its commands give the pages what it says, and its tables name every page and every picture there is.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { accountPagesApi } from '#src/features/identity/hosted-pages/account-api.js';
import { hostedPagesApi } from '#src/features/identity/hosted-pages/api.js';
import { root } from '../harness/checkout.js';
import { install } from '../harness/cli.js';
import { freePort } from '../harness/free-port.js';
import { code, readTable } from '../harness/markdown.js';
import { readBlocks } from '../harness/readme.js';
import { after } from '../harness/runner.js';

const page = 'docs/pages.md';
const png = Buffer.from('89504e470d0a1a0a', 'hex');

test('the table names every page', () => {
  const shown = [...Object.values(hostedPagesApi), accountPagesApi.accountPage].filter(
    ({ reply }) => reply.shape.kind === 'page',
  );
  const names = shown.map(({ path }) => path.replace('/auth/', '')).sort();
  assert.deepEqual(
    readTable(page, 'page')
      .map(([name]) => code(name))
      .sort(),
    names,
  );
});

test('every picture is shown, and the picture of every page is there', () => {
  const text = [page, 'docs/messages.md', 'docs/reference.md']
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('');
  const shown = [...text.matchAll(/\(pictures\/(.+?)\)/g)].map(([, name]) => name).sort();
  assert.deepEqual(shown, readdirSync(join(root, 'docs/pictures')).sort());
});

test('the commands of the page give the pages a name, a colour, texts, links and a logo', async () => {
  const place = await install();
  after(() => place.dispose());
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  writeFileSync(join(place.dir, 'logo.png'), png);
  const port = String(await freePort());
  const { url } = await place.serve([], { SVC_PORT: port, SVC_BASE_URL: `http://localhost:${port}/v1` });
  const blocks = readBlocks(page);
  assert.deepEqual(
    blocks.map(({ note, language }) => [note, language]),
    [
      ['', 'html'],
      ['saved as app.mjs, run by test/browser', 'js'],
      ['', 'html'],
      ['', 'sh'],
    ],
  );
  const { code: exit, err } = await place.shell(`set -e\n${blocks.at(-1)?.text}`);
  assert.deepEqual([exit, err], [0, '']);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const html = async (language: string) => {
    const headers = { 'Accept-Language': language };
    return (await fetch(`${url}/auth/sign-in?project=shop`, { headers })).text();
  };
  const english = await html('en');
  for (const part of ['The Fruit Shop', '--fill: #0a7f5a', 'Fresh every day.', 'example.com/en/terms', '/privacy"'])
    assert.ok(english.includes(part), part);
  assert.ok((await html('de')).includes('Jeden Tag frisch.'));
  const [, logo = ''] = /<img class="logo" src="([^"]*)"/.exec(english) ?? [];
  const image = await fetch(`${url}/auth/${logo.replace('&amp;', '&')}`);
  assert.deepEqual(Buffer.from(await image.arrayBuffer()), png);

  const removed = await place.shell("svc project update shop --logo '' --set pages.name=1984");
  assert.equal(removed.code, 0, removed.err);
  writeFileSync(join(place.dir, 'large.png'), Buffer.concat([png, Buffer.alloc(40_000)]));
  writeFileSync(join(place.dir, 'logo.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  for (const [file, exitCode] of [
    ['large.png', 2],
    ['logo.svg', 2],
    ['.', 2],
    ['nowhere.png', 3],
  ] as const)
    assert.equal((await place.shell(`svc project update shop --logo ${file}`)).code, exitCode, file);
});
