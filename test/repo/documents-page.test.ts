// The commands and programs of docs/documents.md, in order, against a server that runs.
import assert from 'node:assert/strict';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';
import { install } from '../harness/cli.js';
import { createCompiler } from '../harness/compiler.js';
import { provideCurl } from '../harness/curl.js';
import { blockNoted, readBlocks } from '../harness/readme.js';
import { after } from '../harness/runner.js';

const page = 'docs/documents.md';
const programs = ['posts.mjs', 'transaction.mjs'];
const notes = [...programs.map((name) => `saved as ${name}`), 'not run: a part of a program'];

test('the commands work in the order of the page', async () => {
  const place = await install();
  after(() => place.dispose());
  provideCurl(join(place.dir, 'bin'));
  symlinkSync(join(root, 'node_modules'), join(place.dir, 'node_modules'));
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const { secret } = await place.json<{ secret: string }>([
    'apikey',
    'create',
    '--project',
    'shop',
    '--name',
    'backend',
    '--scopes',
    'all',
  ]);
  const { url } = await place.serve();
  const here = (text: string) => text.replaceAll('http://localhost:8080/v1', url);
  for (const name of programs) writeFileSync(join(place.dir, name), here(blockNoted(page, `saved as ${name}`).text));
  const allowed: Readonly<Record<string, readonly string[]>> = {
    js: notes,
    ts: ['saved as typed.ts', 'saved as app.ts'],
  };
  for (const { note, language } of readBlocks(page)) assert.ok((allowed[language] ?? ['']).includes(note), note);
  const blocks = readBlocks(page).filter(({ language }) => language === 'sh');
  const { code, out, err } = await place.shell(
    `set -e\nkey=${secret}\n${blocks.map(({ text }) => here(text)).join('\n')}`,
  );
  assert.deepEqual([code, err.replace(/^next: .*\n/gm, '')], [0, ''], out);
  for (const expected of [
    ...[
      'by-state',
      '"title":"Hello","state":"done","views":0,"tags":["first"]',
      '"views":1',
      '"total":1,"documents":[{"$id":"hello"',
    ],
    ...[`2 [ "Frida's post: 1152921504606846976", 'Hello: 1' ]`, '{"data":{"documentList":{"total":2,"documents":['],
    'staged 0, stored 1\ncommitted\n',
  ])
    assert.ok(out.includes(expected), `${expected} is not in:\n${out}`);
  // Nothing is left to take: what was staged is given up.
  const refused = await place.shell(`KEY=${secret} node transaction.mjs`);
  assert.equal(refused.out, 'nothing was changed: attribute_limit_exceeded\n', refused.err);
  const again = await place.shell(`KEY=${secret} node posts.mjs`);
  assert.match(again.out, /^3 \[/, again.err);
  assert.ok(!out.includes('"errors"') && !out.includes('"code":'), out);

  const compiler = createCompiler();
  after(compiler.dispose);
  compiler.write('shop.d.ts', readFileSync(join(place.dir, 'shop.d.ts'), 'utf8'));
  compiler.write('client.ts', readFileSync(join(place.dir, 'client.ts'), 'utf8'));
  const typed = blockNoted(page, 'saved as typed.ts').text;
  const app = blockNoted(page, 'saved as app.ts').text;
  const problems = compiler.problemsOf({
    typed,
    wrongData: typed.replace("title: 'Typed'", "title: 'Typed', titel: 'Typed'"),
    wrongChange: typed.replace("state: 'done'", "state: 'over'"),
    wrongRead: typed.replace('post.title', 'post.titel'),
    app,
    wrongQuery: app.replace("'state', 'done'", "'state', 'over'"),
  });
  assert.equal(problems.length, 4, problems.join('\n'));
});
