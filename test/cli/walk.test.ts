// The contract of the command line, for every command there is: help, examples, mistakes, JSON.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { commands } from '#src/cli/commands/index.js';
import { parse } from '#src/cli/line/program.js';
import { explain } from '#src/cli/terminal/exit.js';
import { root } from '../harness/checkout.js';
import { type Installation, install, type Run } from '../harness/cli.js';
import { pidIn } from '../harness/pid-file.js';
import { after } from '../harness/runner.js';
import { recordedData } from './pocketbase/recorded.js';

const ansi = new RegExp(`${String.fromCharCode(27)}\\[`);

let place: Installation;
/** An empty project of Appwrite for the examples of `import appwrite`. */
const lists = ['users', 'identities', 'teams', 'databases', 'buckets', 'webhooks', 'functions', 'topics', 'sites'];
const empty = createServer((_, answer) =>
  answer
    .setHeader('content-type', 'application/json')
    .end(JSON.stringify({ total: 0, ...Object.fromEntries(lists.map((list) => [list, []])) })),
);
before(async () => {
  place = await install({ init: false });
  await once(empty.listen(0, '127.0.0.1'), 'listening');
  place.env.APPWRITE_ENDPOINT = `http://127.0.0.1:${(empty.address() as AddressInfo).port}/v1`;
  writeFileSync(join(place.dir, 'appwrite.key'), 'standard_0');
  // The examples of `serve` write the log that those of `logs` print.
  place.env.SVC_LOG_FILE = join(place.dir, 'svc.log');
  // What `svc project update --logo` takes.
  writeFileSync(join(place.dir, 'whsec.txt'), `whsec_${Buffer.alloc(32, 7).toString('base64')}`);
  writeFileSync(join(place.dir, 'body.json'), '{}');
  await recordedData(join(place.dir, 'pb_data'));
  copyFileSync(join(root, 'test/cli/supabase/dump.sql'), join(place.dir, 'dump.sql'));
  writeFileSync(join(place.dir, 'logo.png'), Buffer.from('89504e470d0a1a0a', 'hex'));
});
after(async () => {
  empty.close();
  await place.dispose();
});

/** Examples of servers run until they are told to end. */
async function runExample(example: string): Promise<Run> {
  if (!example.startsWith('svc serve')) return place.shell(example);
  const pidfile = join(place.dir, 'example.pid');
  const running = place.shell(`${example} --pidfile ${pidfile}`);
  for (let tries = 0; tries < 400; tries++) {
    await sleep(50);
    try {
      process.kill(pidIn(pidfile), 'SIGTERM');
      break;
    } catch {
      // Not ready yet.
    }
  }
  return running;
}

test('every command has help and refuses unknown arguments', async () => {
  for (const { path, summary } of commands) {
    const words = path.split(' ');
    const help = await parse([...words, '--help'], commands);
    assert.ok(help.kind === 'text' && help.text.replace(/\s+/g, ' ').includes(summary), path);
    const [, examples = ''] = help.text.split('Examples:\n');
    assert.ok((examples.match(/^ {2}\$ svc |\| svc /gm) ?? []).length >= 2, `${path}: two examples`);
    assert.match(help.text, /Global Options:[\s\S]*--json/);
    assert.doesNotMatch(help.text, ansi);
    await assert.rejects(parse([...words, '--no-such-flag=secret'], commands), (error: unknown) => {
      const { exitCode, message, fix } = explain(error);
      assert.equal(exitCode, 2, path);
      assert.ok(/^did you mean --/.test(fix) || fix === `svc ${path} --help`, fix);
      return !message.includes('secret');
    });
  }
});

test('help goes to stdout with exit 0, a mistake to stderr with exit 2', async () => {
  for (const words of [
    ['--help'],
    ['project', '-h'],
    ['migrate', '--help'],
    ['user', 'create', '--help'],
    ['help', 'user'],
  ]) {
    const { code, out, err } = await place.svc(words);
    assert.deepEqual([code, err], [0, ''], words.join(' '));
    assert.match(out, /^Usage: svc /);
    assert.ok((out.match(/^ {2}\$ /gm) ?? []).length >= 2, words.join(' '));
  }
  for (const words of [['serve'], ['user', 'list']]) {
    const { code, out, err } = await place.svc([...words, '--no-such-flag=secret', '--json']);
    assert.deepEqual([code, out], [2, '']);
    assert.deepEqual(Object.keys(JSON.parse(err).error), ['type', 'message', 'fix']);
    assert.doesNotMatch(err, /secret/);
  }
});

test('the examples of every command run in the order of the help', async () => {
  for (const { path, examples } of commands) {
    for (const example of examples) {
      const { code, out, err } = await runExample(example);
      // A dry run says with 5 that there is something to do.
      // Without a server, `status` says so with 6.
      const isAnswer = (code === 5 && example.includes('--dry-run')) || (code === 6 && path === 'status');
      assert.ok(code === 0 || isAnswer, `${example}: ${code} ${err}`);
      assert.doesNotMatch(out, ansi, example);
      // `ids` says nothing where the database takes too long for a completion.
      assert.ok(example.includes('>') || out !== '' || path === 'ids', `${path} says something`);
      if (example.includes('--json') && !example.includes('serve') && out !== '') JSON.parse(out);
    }
  }
});

test('commands --json is the table of commands', async () => {
  const { commands: listed } = await place.json<{ commands: { path: string; summary: string; options: unknown[] }[] }>([
    'commands',
  ]);
  assert.deepEqual(
    listed.map(({ path }) => path),
    commands.map(({ path }) => path),
  );
  for (const command of listed) {
    assert.deepEqual(Object.keys(command), ['path', 'summary', 'options', 'arguments']);
  }
});

test('the nearest word is offered for a mistyped one', async () => {
  const offers = [
    [['porject', 'list'], 'project'],
    [['project', 'lst'], 'list'],
    [['migrate', 'stauts'], 'status'],
    [['project', 'list', '--jsn'], '--json'],
    [['user', 'create', '--password=secret'], '--password-stdin'],
  ] as const;
  for (const [args, nearest] of offers) {
    const { code, err } = await place.svc(args);
    assert.equal(code, 2);
    assert.match(err, new RegExp(`did you mean (svc migrate )?${nearest}\\?`), args.join(' '));
    assert.doesNotMatch(err, /secret/);
  }
  for (const args of [
    ['qqqqqq'],
    ['frob'],
    ['project', 'qqqqqq'],
    ['project', 'list', '--qqqqqq'],
    ['project', 'list', '--foo'],
  ]) {
    const { code, err } = await place.svc(args);
    assert.deepEqual([code, /did you mean/.test(err), /^next: svc .*--help/m.test(err)], [2, false, true], err);
  }
});

test('a noun without a verb, and svc alone, print their help', async () => {
  for (const args of [[], ['project'], ['webhook'], ['--no-input']]) {
    const { code, out, err } = await place.svc(args);
    assert.deepEqual([code, err], [0, ''], args.join(' '));
    assert.match(out, /^Usage: svc /);
  }
});

test('version, in three ways', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  assert.equal((await place.svc(['--version'])).out, `${version}\n`);
  assert.equal((await place.svc(['-V'])).out, `${version}\n`);
  const { commit } = JSON.parse(readFileSync(join(root, 'dist/build.json'), 'utf8'));
  assert.deepEqual(await place.json(['version']), { version, node: process.versions.node, commit });
});

test('completion knows every command, and bash can read it', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { out } = await place.svc(['completion', shell]);
    for (const { path } of commands) assert.ok(out.includes(path), `${shell}: ${path}`);
  }
  const complete = (words: string, index: number) =>
    place.shell(
      `bash -c 'eval "$(svc completion bash)"; COMP_WORDS=(svc ${words}); COMP_CWORD=${index}; _svc; echo "\${COMPREPLY[@]}"'`,
    );
  assert.equal((await complete('mig', 1)).out, 'migrate\n');
  assert.equal((await complete('--config x project cr', 4)).out, 'create\n');
  assert.equal((await complete('serve --migrate ""', 3)).out, 'auto check off\n');
  assert.equal((await complete('project create Shop --i', 4)).out, '--id\n');
});

test('output meant for a file is exactly the content of the file', async () => {
  const { out } = await place.svc(['openapi', '--project', 'shop']);
  assert.equal(JSON.parse(out).openapi, '3.1.0');
  assert.ok(out.split('\n').length > 100, 'it has lines');
  const schema = await place.svc(['graphql', 'schema', '--project', 'shop']);
  assert.match(schema.out, /^type Query \{$/m);
});

test('a reader that stops reading is no failure', async () => {
  const { code, err } = await place.shell(
    'svc commands --json | head -n 1; svc openapi --project shop | head -c 1 > /dev/null',
  );
  assert.equal(code, 0);
  assert.equal(err, '');
});

test('docs/cli.md has every command and flag, and no other', () => {
  const page = readFileSync(join(root, 'docs/cli.md'), 'utf8');
  const documented = [...page.matchAll(/^\| `svc ([a-z][a-z -]*?)(?: [A-Z<[-][^`]*)?` \|(.*)\|$/gm)];
  assert.deepEqual(documented.map(([, path]) => path).sort(), commands.map(({ path }) => path).sort());
  for (const { path, options = [] } of commands) {
    const row = documented.find(([, name]) => name === path)?.[0] ?? '';
    const flags = [...row.matchAll(/--[a-z-]+/g)].map(([flag]) => flag);
    for (const { flag } of options) assert.ok(flags.includes(flag), `${path} ${flag}`);
  }
});
