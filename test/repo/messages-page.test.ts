// docs/messages.md: its table is the catalog, and its commands do what it says.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { messageDelays } from '#src/contract/limits.js';
import { messageLife, messageNames, messages } from '#src/features/installation/courier/model/messages.js';
import { root } from '../harness/checkout.js';
import { install } from '../harness/cli.js';
import { code, codes, readTable } from '../harness/markdown.js';
import { readBlocks } from '../harness/readme.js';
import { after } from '../harness/runner.js';

const page = 'docs/messages.md';
const text = readFileSync(join(root, page), 'utf8');

test('the table of messages is the catalog', () => {
  assert.deepEqual(
    readTable(page, 'message').map(([name, by, lives, variables]) => [code(name), by, lives, codes(variables)]),
    messageNames.map((name) => {
      const { channel, variables } = messages[name];
      return [name, channel, String(messageLife[name] ?? ''), [...variables]];
    }),
  );
});

test('the delays are those of the code', () => {
  const seconds: Readonly<Record<string, number>> = { s: 1, min: 60, h: 3600 };
  const [, list = ''] = /tried again after (.*?), a fifth/.exec(text) ?? [];
  const named = [...list.matchAll(/(\d+) (s|min|h)/g)].map(
    ([, count, unit = '']) => Number(count) * (seconds[unit] ?? 0),
  );
  assert.deepEqual(named, [...messageDelays]);
});

test('every command of the page runs', async () => {
  const place = await install();
  after(() => place.dispose());
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const blocks = readBlocks(page).filter(({ language }) => language === 'sh');
  assert.deepEqual(
    blocks.map(({ note }) => note),
    ['not run: needs a mail server', '', ''],
  );
  for (const { text: lines } of blocks.filter(({ note }) => note === '')) {
    const { code: exit, err } = await place.shell(`set -e\n${lines}`);
    assert.equal(exit, 0, err);
  }
  assert.match(readFileSync(join(place.dir, 'preview.html'), 'utf8'), /^<!doctype html>/);
});
