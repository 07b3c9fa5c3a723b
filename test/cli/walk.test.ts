// The contract of the command line, for every command there is: help, examples, mistakes, JSON.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { commands } from '#src/cli/commands/index.js';
import { root } from '../harness/checkout.js';
import { type Installation, install, type Run } from '../harness/cli.js';

const ansi = new RegExp(`${String.fromCharCode(27)}\\[`);

let place: Installation;
before(async () => {
  place = await install({ init: false });
});
after(() => place.dispose());

/** Examples of servers run until they are told to end. */
async function runExample(example: string): Promise<Run> {
  if (!example.startsWith('svc serve')) return place.shell(example);
  const pidfile = join(place.dir, 'example.pid');
  const running = place.shell(`${example} --pidfile ${pidfile}`);
  for (let tries = 0; tries < 400; tries++) {
    await sleep(50);
    try {
      process.kill(Number(readFileSync(pidfile, 'utf8')), 'SIGTERM');
      break;
    } catch {
      // Not ready yet.
    }
  }
  return running;
}

test('every command explains itself and refuses what it does not know', async () => {
  const look = async ({ path, summary }: (typeof commands)[number]) => {
    const help = await place.svc([...path.split(' '), '--help']);
    assert.equal(help.code, 0, path);
    assert.equal(help.err, '', path);
    assert.ok(help.out.replace(/\s+/g, ' ').includes(summary), path);
    const [, examples = ''] = help.out.split('Examples:\n');
    assert.ok((examples.match(/^ {2}\$ svc |\| svc /gm) ?? []).length >= 2, `${path}: two examples`);
    assert.match(help.out, /Global Options:[\s\S]*--json/);
    assert.doesNotMatch(help.out, ansi);

    const mistake = await place.svc([...path.split(' '), '--no-such-flag=secret', '--json']);
    assert.equal(mistake.code, 2, path);
    assert.equal(mistake.out, '', path);
    const { error } = JSON.parse(mistake.err);
    assert.deepEqual(Object.keys(error), ['type', 'message', 'fix'], path);
    assert.doesNotMatch(mistake.err, /secret/);
  };
  // A few at a time: two cores are shared with other test files.
  for (let i = 0; i < commands.length; i += 4) await Promise.all(commands.slice(i, i + 4).map(look));
});

test('the examples of every command run in the order of the help', async () => {
  for (const { path, examples } of commands) {
    for (const example of examples) {
      const { code, out, err } = await runExample(example);
      assert.equal(code, 0, `${example}: ${err}`);
      assert.doesNotMatch(out, ansi, example);
      assert.ok(example.includes('>') || out !== '', `${path} says something`);
      if (example.includes('--json') && !example.includes('serve')) JSON.parse(out);
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
  assert.equal((await place.svc([])).code, 2);
  assert.equal((await place.svc(['project'])).code, 2);
});

test('version, in three ways', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  assert.equal((await place.svc(['--version'])).out, `${version}\n`);
  assert.equal((await place.svc(['-V'])).out, `${version}\n`);
  assert.deepEqual(await place.json(['version']), { version, node: process.versions.node });
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

test('a reader that stops reading is no failure', async () => {
  const { code, err } = await place.shell(
    'svc commands --json | head -n 1; svc openapi --project shop | head -c 1 > /dev/null',
  );
  assert.equal(code, 0);
  assert.equal(err, '');
});

test('docs/cli.md has every command and flag, and no other', () => {
  const page = readFileSync(join(root, 'docs/cli.md'), 'utf8');
  const documented = [...page.matchAll(/^\| `svc ([a-z ]+?)(?: [A-Z<[-][^`]*)?` \|(.*)\|$/gm)];
  assert.deepEqual(documented.map(([, path]) => path).sort(), commands.map(({ path }) => path).sort());
  for (const { path, options = [] } of commands) {
    const row = documented.find(([, name]) => name === path)?.[0] ?? '';
    const flags = [...row.matchAll(/--[a-z-]+/g)].map(([flag]) => flag);
    for (const { flag } of options) assert.ok(flags.includes(flag), `${path} ${flag}`);
  }
});
