// Commands that the documentation names: each exists and has the flags it is written with.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commands } from '#src/cli/commands/index.js';
import { tasks } from '#src/cli/line/program.js';
import { root } from '../harness/checkout.js';

const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)].filter((path) =>
  path.endsWith('.md'),
);
const global = [
  '--config',
  '--json',
  '--quiet',
  '--verbose',
  '--no-color',
  '--no-input',
  '--yes',
  '--version',
  '--help',
];
/** Every piece of text on a page that begins like a command: inline code, and lines of blocks. */
function mentioned(text: string): string[] {
  const inline = [...text.matchAll(/`(svc [a-z][^`\n]*)`/g)].map(([, command = '']) => command);
  const blocks = [...text.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].flatMap(([, inner = '']) => inner.split('\n'));
  const typed = /(?:^|\$\(|\| |&& |-- )(svc [a-z-][^)|]*)/g;
  return [...inline, ...blocks.flatMap((line) => [...line.matchAll(typed)].map(([, command = '']) => command))];
}

for (const page of pages) {
  test(`${page} names commands that exist`, () => {
    for (const line of mentioned(readFileSync(join(root, page), 'utf8'))) {
      const words = line.split(/\s+/).slice(1);
      const flags = words.filter((word) => /^--\w/.test(word)).map((word) => word.split('=')[0]);
      const plain = words.join(' ').replace(/^--config \S+ /, '');
      const begins = (path: string) => plain === path || plain.startsWith(`${path} `);
      const command =
        commands.find(({ path }) => begins(path)) ??
        commands.find(({ path, isDefault }) => isDefault && begins(path.replace(/ \S+$/, '')));
      const group = plain === 'help' || commands.some(({ path }) => path.startsWith(`${plain} `));
      assert.ok(command !== undefined || group, `${line}: there is no such command`);
      const known: string[] = [...global, ...(command?.options ?? []).map(({ flag }) => flag)];
      for (const flag of flags) assert.ok(known.includes(String(flag)), `${line}: it has no ${flag}`);
    }
  });
}

test('the pages name commands at all', () => {
  const all = pages.flatMap((page) => mentioned(readFileSync(join(root, page), 'utf8')));
  assert.ok(all.length > 20, String(all.length));
});

test('svc --help has a heading for every command, and none for others', () => {
  const words = [...new Set(commands.map(({ path }) => path.split(' ')[0] ?? '')), 'help'];
  assert.deepEqual(Object.values(tasks).flat().sort(), words.sort());
});
