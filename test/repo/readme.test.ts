// Every command of the README, in order, in a copy of the checkout: whoever types them gets what the page says.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { copyCheckout, root } from '../harness/checkout.js';
import { provideCurl } from '../harness/curl.js';
import { freePort } from '../harness/free-port.js';
import { createDatabase, startPostgres } from '../harness/postgres.js';
import { blockNoted, readBlocks } from '../harness/readme.js';
import { after } from '../harness/runner.js';
import { serve, typeInto } from '../harness/terminal.js';

const page = 'README.md';
const serves = 'runs until stopped';
const servesPostgres = 'runs until stopped, on Postgres';
const notes = [
  ...['', serves, servesPostgres, 'saved as first.mjs', 'run by test/browser'],
  ...['not run: changes the machine', 'not run: it runs this', 'not run: needs a mail server'],
  'not run: test/repo/release unpacks an archive of its own',
];

const copy = copyCheckout([
  ...['install.sh', 'package.json', 'package-lock.json', 'tsconfig.json', 'esbuild.config.js', 'external-packages.js'],
  ...['src', 'bin', 'migrations', 'templates'],
]);
const scratch = mkdtempSync(join(tmpdir(), 'svc-readme-'));
after(() => {
  copy.dispose();
  rmSync(scratch, { recursive: true, force: true });
});

const tools = join(scratch, 'tools');
mkdirSync(tools);
// Not root for install.sh, so that the link goes to the home directory of this test.
writeFileSync(join(tools, 'id'), '#!/bin/sh\necho 1000\n', { mode: 0o755 });
provideCurl(tools);

/** The environment of somebody who just logged in. */
function environment(port: number): NodeJS.ProcessEnv {
  const { PATH = '', LANG, npm_config_nodedir } = process.env;
  const path = [tools, join(scratch, '.local/bin'), PATH].join(delimiter);
  return { HOME: scratch, PATH: path, LANG, npm_config_nodedir, SVC_PORT: String(port) };
}

test('every block is run, or says why not', () => {
  for (const { note, language } of readBlocks(page)) {
    assert.ok(notes.includes(note), note);
    assert.ok(['sh', 'js', 'html'].includes(language), language);
  }
  assert.equal(blockNoted(page, serves).text, './install.sh --serve\n');
  assert.equal(blockNoted(page, 'not run: it runs this').text, 'npm cit\n');
  const line = /apt-get install -y (.*)\n/.exec(blockNoted(page, 'not run: changes the machine').text)?.[1]?.split(' ');
  const script = readFileSync(join(root, 'install.sh'), 'utf8');
  for (const name of line ?? []) assert.ok(script.includes(name), `install.sh does not know ${name}`);
  assert.ok(line?.length);
});

test('the commands work in the order of the page', async () => {
  const port = await freePort();
  const env = environment(port);
  const here = (text: string) => text.replaceAll('localhost:8080', `localhost:${port}`);
  const install = blockNoted(page, serves).text;
  const first = await serve(install, { cwd: copy.dir, env });
  assert.match(first.said(), new RegExp(`^svc is ready: http://localhost:${port}/v1$`, 'm'));
  assert.doesNotMatch(first.said(), /next: svc serve/, 'it serves already');
  // The first sign-up that install.sh prints, as it is, in a project of its own.
  const printed = /^ {2}svc project create .*\n(?: {2}.*\n){2}/m.exec(first.said())?.[0] ?? assert.fail(first.said());
  const pasted = await typeInto(printed.replaceAll('shop', 'pasted'), { cwd: copy.dir, env });
  assert.match(pasted.stdout, /"email":"anna@example\.com"/, pasted.stderr);

  writeFileSync(join(copy.dir, 'first.mjs'), here(blockNoted(page, 'saved as first.mjs').text));
  const blocks = readBlocks(page).filter(({ language, note }) => language === 'sh' && note === '');
  const text = blocks.map((block) => here(block.text)).join('\n');
  const { status, stdout, stderr } = await typeInto(text, { cwd: copy.dir, env });
  assert.equal(status, 0, `${stdout}${stderr}`);
  assert.doesNotMatch(stdout, /"type":/, 'a call was refused');
  for (const expected of [
    '"email":"anna@example.com"',
    'logged in: ben@example.com',
    '"status":"ok"',
    'app.example.com',
  ])
    assert.ok(stdout.includes(expected), `${expected} is not in:\n${stdout}`);
  assert.equal(await first.stop(), 0);

  const second = await serve(install, { cwd: copy.dir, env });
  assert.match(second.said(), /nothing was changed/);
  assert.doesNotMatch(second.said(), /Installing|Building|Linked/);
  const projects = spawnSync('svc', ['project', 'list'], { cwd: copy.dir, env, encoding: 'utf8' });
  assert.match(projects.stdout, /^shop /m);
  assert.equal(await second.stop(), 0);
});

test('the two lines for Postgres end with a ready server', async () => {
  const postgres = await startPostgres();
  after(() => postgres.stop());
  const url = await createDatabase(postgres.url, 'readme');
  const port = await freePort();
  const block = blockNoted(page, servesPostgres).text.replace(/postgres:[^']+/, url);
  assert.ok(block.includes(url));
  const cwd = mkdtempSync(join(scratch, 'postgres-'));
  const server = await serve(block, { cwd, env: environment(port) });
  assert.equal((await fetch(`http://localhost:${port}/readyz`)).status, 200);
  assert.ok(!existsSync(join(cwd, 'svc-data/svc.db')));
  await server.stop();
});
